package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// The bounds of what list_tools may answer.
const (
	maxTools       = 256
	maxDescription = 16 << 10
	maxSchema      = 256 << 10
	listTimeout    = 10 * time.Second
)

// listedTool is one tool as list_tools names it.
type listedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// parseTools reads the answer of list_tools. It returns an *Error of kind
// BadTools. Fields that it does not know are left out: hosts differ in them. fewest is how
// many tools it must name.
func parseTools(data []byte, fewest int) ([]listedTool, error) {
	bad := func(format string, args ...any) error {
		return &Error{Kind: BadTools, Message: "The module's list of tools is wrong: " + fmt.Sprintf(format, args...)}
	}
	var list struct {
		Tools []listedTool `json:"tools"`
	}
	if !utf8.Valid(data) {
		return nil, bad("it is not UTF-8.")
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, bad("it is not the protocol's JSON (%v).", err)
	}
	if len(list.Tools) < fewest || len(list.Tools) > maxTools {
		return nil, bad("it names %d tools; %d to %d are allowed.", len(list.Tools), fewest, maxTools)
	}
	seen := map[string]bool{}
	for i := range list.Tools {
		t := &list.Tools[i]
		switch {
		case t.Name == "" || len(t.Name) > 128:
			return nil, bad("the name of tool %d must have 1 to 128 characters.", i+1)
		case seen[t.Name]:
			return nil, bad("the tool %q is named twice.", t.Name)
		case len(t.Description) > maxDescription || len(t.Title) > maxDescription:
			return nil, bad("the description of %q is longer than %d bytes.", t.Name, maxDescription)
		case len(t.InputSchema) > maxSchema || len(t.OutputSchema) > maxSchema:
			return nil, bad("a schema of %q is longer than %d bytes.", t.Name, maxSchema)
		}
		seen[t.Name] = true
		if len(t.InputSchema) == 0 || bytes.Equal(t.InputSchema, []byte("null")) {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		if t.InputSchema[0] != '{' {
			return nil, bad("the inputSchema of %q is not an object.", t.Name)
		}
	}
	return list.Tools, nil
}
