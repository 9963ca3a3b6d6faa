package toolrun

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

func unknownTool(name string, names []string, more int) tool.Result {
	known := "There are no tools now; answer without one."
	switch {
	case more > 0:
		known = fmt.Sprintf("Among the tools are: %s. %s names those that fit what you need.",
			strings.Join(names, ", "), tool.FindTools)
	case len(names) > 0:
		known = "The tools are: " + strings.Join(names, ", ") + "."
	}
	return tool.Fail(tool.FailureInput,
		fmt.Sprintf("The model asked for a tool that does not exist: %q.", shorten(name, 80)),
		fmt.Sprintf("There is no tool named %q. %s", shorten(name, 80), known))
}

func badArguments(spec tool.Spec, err error) tool.Result {
	text := err.Error()
	if example := exampleArguments(spec.InputSchema); len(example) <= maxExample {
		text += "\nAn example of right: " + example
	}
	return tool.Fail(tool.FailureInput,
		fmt.Sprintf("The model called %s with arguments that do not fit it.", spec.Name), text)
}

// maxExample is how long an example may be to be worth its tokens, in bytes.
const maxExample = 2 << 10

func hostFault(name string) tool.Result {
	return tool.Fail(tool.FailureFailed,
		fmt.Sprintf("%s failed because of a fault in the host.", name),
		fmt.Sprintf("%s failed because of a fault in the host. Other arguments will not help; answer without it.",
			name))
}

// exampleArguments writes arguments that satisfy an object schema as far as its
// types and required fields go.
func exampleArguments(schema json.RawMessage) string {
	var s struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return "{}"
	}
	sort.Strings(s.Required)
	example := map[string]any{}
	for _, name := range s.Required {
		example[name] = s.Properties[name].example()
	}
	data, err := json.Marshal(example)
	if err != nil { // only plain values in it
		return "{}"
	}
	return string(data)
}

type property struct {
	Type  string    `json:"type"`
	Enum  []any     `json:"enum"`
	Items *property `json:"items"`
}

func (p property) example() any {
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	switch p.Type {
	case "array":
		if p.Items == nil {
			return []any{}
		}
		return []any{p.Items.example()}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "object":
		return map[string]any{}
	}
	return "text"
}
