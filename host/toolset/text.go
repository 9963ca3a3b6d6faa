package toolset

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

const (
	// MaxText is how much of one tool's description and schema a model is sent, in
	// bytes. It is far above what well-made tools have.
	MaxText = 8 << 10
	// MaxQuoted is how much of a schema a sentence to a model quotes, in bytes.
	MaxQuoted = 4 << 10
	// descriptionShare is the part of the text of a tool that its description may take
	// where both are too long.
	descriptionShare = 3
	// cut ends a description of which the rest is left out.
	cut = "… (shortened)"
	// outlined follows the description of a tool whose schema is not whole.
	outlined = " (The schema is shortened: a call that does not fit is answered with what is wrong.)"
)

// anything is the schema of any object.
const anything = `{"type":"object"}`

// Short returns a tool as a model is told of it in at most about so many bytes: with
// its description cut and its schema without what a model can do without.
func Short(s tool.Spec, most int) tool.Spec {
	if len(s.Description)+len(s.InputSchema) <= most {
		return s
	}
	room := max(most-len(s.InputSchema), most/descriptionShare)
	s.Description = head(s.Description, room)
	schema := Schema(s.InputSchema, most-len(s.Description))
	if len(schema) < len(s.InputSchema) {
		s.Description = head(s.Description, room-len(outlined)) + outlined
		schema = Schema(s.InputSchema, most-len(s.Description))
	}
	s.InputSchema = schema
	return s
}

// Schema returns a JSON Schema of an object in at most so many bytes: as it is, else
// without space, else without what only explains, else no more of each argument than
// its type, the required ones first. Where nothing fits it is that of any object.
func Schema(schema json.RawMessage, most int) json.RawMessage {
	if len(schema) <= most {
		return schema
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema); err != nil {
		return json.RawMessage(anything)
	}
	if compact.Len() <= most {
		return compact.Bytes()
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var value map[string]any
	if err := dec.Decode(&value); err != nil {
		return json.RawMessage(anything)
	}
	if bare, err := json.Marshal(unexplained(value)); err == nil && len(bare) <= most {
		return bare
	}
	return outline(value, most)
}

// explaining are the keywords of a schema that only explain.
var explaining = []string{"description", "title", "examples", "example", "default", "$comment"}

// naming are the keywords whose values are schemas by name.
var naming = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}

// unexplained is a schema without what only explains.
func unexplained(schema map[string]any) map[string]any {
	out := make(map[string]any, len(schema))
	for key, value := range schema {
		if slices.Contains(explaining, key) {
			continue
		}
		byName, isMap := value.(map[string]any)
		switch {
		case key == "enum" || key == "const":
		case slices.Contains(naming, key) && isMap:
			inner := make(map[string]any, len(byName))
			for name, sub := range byName {
				inner[name] = unexplainedAny(sub)
			}
			value = inner
		default:
			value = unexplainedAny(value)
		}
		out[key] = value
	}
	return out
}

func unexplainedAny(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return unexplained(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = unexplainedAny(v[i])
		}
		return out
	}
	return value
}

// outline is a schema that says no more of an argument than its type.
func outline(schema map[string]any, most int) json.RawMessage {
	properties, _ := schema["properties"].(map[string]any)
	listed, _ := schema["required"].([]any)
	var required []string
	isRequired := map[string]bool{}
	for _, r := range listed {
		if name, ok := r.(string); ok && properties[name] != nil && !isRequired[name] {
			isRequired[name] = true
			required = append(required, name)
		}
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(name string) bool {
		return isRequired[name]
	})
	var args, names []string
	left := most - len(`{"type":"object","properties":{},"required":[]}`)
	for i, name := range slices.Concat(required, others) {
		key, err := json.Marshal(name)
		if err != nil { // a string always encodes
			continue
		}
		arg := string(key) + ":" + bareType(properties[name])
		cost := len(arg) + 1
		if i < len(required) {
			cost += len(key) + 1
		}
		if cost > left {
			continue
		}
		left -= cost
		args = append(args, arg)
		if i < len(required) {
			names = append(names, string(key))
		}
	}
	if len(args) == 0 {
		return json.RawMessage(anything)
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(args, ",") +
		`},"required":[` + strings.Join(names, ",") + `]}`)
}

// bareType is the schema of a property's type.
func bareType(property any) string {
	schema, _ := property.(map[string]any)
	kind, ok := schema["type"]
	if !ok {
		return "{}"
	}
	out, err := json.Marshal(map[string]any{"type": kind})
	if err != nil || len(out) > 100 { // no list of types is as long
		return "{}"
	}
	return string(out)
}

// head is the begin of a text in at most so many bytes.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(cut))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], " \n") + cut
}
