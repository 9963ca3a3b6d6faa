package salvage

import (
	"encoding/json"
	"fmt"
)

// Tool is a tool that the model was told of.
type Tool struct {
	Name string
	// Parameters is the JSON Schema of the arguments, empty for none.
	Parameters json.RawMessage
}

// UnmarshalJSON reads {"name","parameters"}, {"name","input_schema"} and
// {"type":"function","function":{…}}.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type fields struct {
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	var in struct {
		fields
		Function *fields `json:"function"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read a tool: %w", err)
	}
	f := in.fields
	if in.Function != nil {
		f = *in.Function
	}
	t.Name, t.Parameters = f.Name, f.Parameters
	if len(t.Parameters) == 0 {
		t.Parameters = f.InputSchema
	}
	return nil
}

// ParseTools reads a JSON array of tools. Nothing and null are an empty list.
func ParseTools(data []byte) ([]Tool, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var tools []Tool
	if err := json.Unmarshal(data, &tools); err != nil {
		return nil, fmt.Errorf("read the tool list: %w", err)
	}
	return tools, nil
}
