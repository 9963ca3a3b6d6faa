package guest

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	// exampleDepth is how deep values are made, exampleNodes how many.
	exampleDepth = 8
	exampleNodes = 1000
	// exampleItems and exampleLength bound what minItems and minLength may ask for.
	exampleItems  = 16
	exampleLength = 1000
)

// ExampleArguments makes arguments of a tool from its input schema: every property that is
// named, by its const, default, first example or value of enum, and else the smallest value
// of its type. What a schema says beyond that ($ref, pattern, anyOf …) is not looked at, so
// a tool may well refuse them.
func ExampleArguments(schema json.RawMessage) json.RawMessage {
	var s exampleSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		return json.RawMessage(`{}`)
	}
	s.Type = json.RawMessage(`"object"`)
	nodes := 0
	object, ok := s.value(0, &nodes).(map[string]any)
	if !ok { // a const or an example that is none
		object = map[string]any{}
	}
	out, err := json.Marshal(object)
	if err != nil { // what was decoded encodes
		return json.RawMessage(`{}`)
	}
	return out
}

// exampleSchema is what is read of a JSON Schema.
type exampleSchema struct {
	Type             json.RawMessage            `json:"type"`
	Const            json.RawMessage            `json:"const"`
	Default          json.RawMessage            `json:"default"`
	Examples         []json.RawMessage          `json:"examples"`
	Enum             []json.RawMessage          `json:"enum"`
	Properties       map[string]json.RawMessage `json:"properties"`
	Items            json.RawMessage            `json:"items"`
	MinItems         int                        `json:"minItems"`
	MinLength        int                        `json:"minLength"`
	Minimum          *float64                   `json:"minimum"`
	ExclusiveMinimum *float64                   `json:"exclusiveMinimum"`
}

// kind is the type that the schema names, the first of several that is not null.
func (s exampleSchema) kind() string {
	var several []string
	if json.Unmarshal(s.Type, &several) == nil {
		for _, t := range several {
			if t != "null" {
				return t
			}
		}
		return "null"
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return one
	}
	if s.Properties != nil {
		return "object"
	}
	return "string"
}

// value makes an example. nodes counts what was made.
func (s exampleSchema) value(depth int, nodes *int) any {
	if *nodes++; depth > exampleDepth || *nodes > exampleNodes {
		return nil
	}
	for _, given := range slices.Concat([]json.RawMessage{s.Const, s.Default}, s.Examples, s.Enum) {
		if len(given) > 0 {
			return given
		}
	}
	switch s.kind() {
	case "object":
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			object[name] = example(s.Properties[name], depth+1, nodes)
		}
		return object
	case "array":
		list := []any{}
		for range min(max(s.MinItems, 1), exampleItems) {
			list = append(list, example(s.Items, depth+1, nodes))
		}
		return list
	case "number", "integer":
		return s.number()
	case "boolean":
		return false
	case "null":
		return nil
	}
	return strings.Repeat("a", min(max(s.MinLength, 1), exampleLength))
}

func (s exampleSchema) number() float64 {
	switch {
	case s.Minimum != nil:
		return math.Ceil(*s.Minimum)
	case s.ExclusiveMinimum != nil:
		return math.Floor(*s.ExclusiveMinimum) + 1
	}
	return 1
}

func example(schema json.RawMessage, depth int, nodes *int) any {
	var s exampleSchema
	_ = json.Unmarshal(schema, &s) // what is no schema says nothing, as true does
	return s.value(depth, nodes)
}
