package pdk

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema derives the JSON Schema of a struct. It reads the tags json (name,
// omitempty makes it optional, "-" leaves it out), doc (the description) and
// enum (values of a text, separated by commas). It knows structs, slices, maps
// with text keys, pointers, texts, numbers and booleans; anything else accepts
// every value. For more, write the schema yourself and set Tool.InputSchema.
func Schema[A any]() json.RawMessage {
	data, err := json.Marshal(schemaOf(reflect.TypeFor[A]()))
	if err != nil { // maps of texts, lists and maps always marshal
		panic(err)
	}
	return data
}

func schemaOf(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return structSchema(t)
	case reflect.Slice, reflect.Array:
		if t == reflect.TypeFor[json.RawMessage]() {
			return map[string]any{}
		}
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	default:
		return map[string]any{}
	}
}

func structSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s := schemaOf(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			s["description"] = doc
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			s["enum"] = strings.Split(enum, ",")
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
