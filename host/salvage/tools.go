package salvage

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Tool is a tool that the model was told of.
type Tool struct {
	Name string
	// Parameters is the JSON Schema of the arguments, empty for none.
	Parameters json.RawMessage
	// StreamArgs says that the parser tells of its calls while they come.
	StreamArgs bool
	// Exact says that Call.Inexact is to be found out, since nothing may be guessed for
	// the tool.
	Exact bool
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

// toolset is the tools by name.
type toolset struct {
	names   map[string]schema
	ordered []string
	// streaming are the tools whose calls are told of while they come; streams says
	// that there are some.
	streaming map[string]bool
	streams   bool
	// exact are the tools for which nothing may be guessed, nil for none.
	exact map[string]bool
}

func newToolset(tools []Tool) *toolset {
	set := &toolset{}
	for _, t := range tools {
		if t.Name == "" {
			continue
		}
		if set.names == nil {
			set.names = make(map[string]schema, len(tools))
		}
		set.names[t.Name] = parseSchema(t.Parameters)
		set.ordered = append(set.ordered, t.Name)
		if t.Exact {
			if set.exact == nil {
				set.exact = map[string]bool{}
			}
			set.exact[t.Name] = true
		}
		if t.StreamArgs {
			if set.streaming == nil {
				set.streaming = map[string]bool{}
			}
			set.streaming[t.Name], set.streams = true, true
		}
	}
	return set
}

// wantsExact tells whether a call of the tool that is meant by a name must not be mended.
func (t *toolset) wantsExact(name string) bool { return t.exact != nil && t.exact[t.resolve(name)] }

// open says that there is no list, so that every name counts as known.
func (t *toolset) open() bool { return len(t.names) == 0 }

func (t *toolset) listed(name string) bool {
	_, ok := t.names[name]
	return ok
}

// prefixes are what models put before the names of tools.
var prefixes = []string{"functions.", "function.", "functions:", "tools.", "tool.", "default_api:", "default_api.",
	"default."}

// resolve returns the name of the tool that is meant: as it stands if there is such
// a tool, else without the prefixes and suffixes that models add.
func (t *toolset) resolve(name string) string {
	name = strings.Trim(strings.TrimSpace(name), "\"'`")
	if t.listed(name) {
		return name
	}
	plain := withoutIndex(name)
	for _, known := range []string{plain, plain[:len(plain)/2]} {
		if t.listed(known) && (len(known) != len(plain)/2 || plain == known+"."+known) {
			return known
		}
	}
	for _, p := range prefixes {
		if short, ok := strings.CutPrefix(plain, p); ok && short != "" {
			return short
		}
	}
	return plain
}

// known tells whether a name that no marker vouches for is a tool.
func (t *toolset) known(name string) bool {
	if t.open() {
		return plainName(name)
	}
	return t.listed(t.resolve(name))
}

// withoutIndex cuts the number off name:0.
func withoutIndex(name string) string {
	i := strings.LastIndexByte(name, ':')
	if i <= 0 || i == len(name)-1 {
		return strings.TrimSuffix(name, ":")
	}
	for _, c := range []byte(name[i+1:]) {
		if c < '0' || c > '9' {
			return name
		}
	}
	return name[:i]
}

// plainName tells whether s looks like the name of a tool.
func plainName(s string) bool {
	if s == "" || len(s) > maxKey {
		return false
	}
	for i := range len(s) {
		if !nameByte(s[i]) && s[i] < 0x80 {
			return false
		}
	}
	return true
}
