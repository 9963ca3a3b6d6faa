package extractive

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// material is what arguments can be made of.
type material struct {
	// text is what the person said, query the same without filler.
	text, query string
	urls        []string
}

// schema is the part of JSON Schema that fit reads.
type schema struct {
	Type       any               `json:"type"`
	Format     string            `json:"format"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	Default    any               `json:"default"`
	Minimum    float64           `json:"minimum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
}

// maxFitDepth bounds nested objects.
const maxFitDepth = 4

// fit returns arguments for a tool from its schema: the required properties, or
// where none is required the one that takes text.
func fit(parameters json.RawMessage, m material) map[string]any {
	var s schema
	if json.Unmarshal(parameters, &s) != nil {
		return map[string]any{}
	}
	return fitObject(s, m, 0)
}

func fitObject(s schema, m material, depth int) map[string]any {
	out := map[string]any{}
	names := slices.Clone(s.Required)
	if len(names) == 0 && depth == 0 {
		if name := textProperty(s); name != "" {
			names = []string{name}
		}
	}
	for _, name := range names {
		if len(out) < 64 {
			out[name] = fitValue(name, s.Properties[name], m, depth+1)
		}
	}
	return out
}

// textProperty is the property that most likely takes what the person said.
func textProperty(s schema) string {
	for _, name := range []string{"queries", "query", "q", "urls", "url", "text", "content", "memory", "question",
		"input"} {
		if _, ok := s.Properties[name]; ok {
			return name
		}
	}
	var names []string
	for name, p := range s.Properties {
		if kind(p) == "string" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

func fitValue(name string, s schema, m material, depth int) any {
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	}
	for _, alternatives := range [][]schema{s.AnyOf, s.OneOf} {
		if len(alternatives) > 0 && s.Type == nil && depth < maxFitDepth {
			return fitValue(name, alternatives[0], m, depth+1)
		}
	}
	switch kind(s) {
	case "array":
		return fitArray(name, s, m, depth)
	case "object":
		if depth >= maxFitDepth {
			return map[string]any{}
		}
		return fitObject(s, m, depth)
	case "integer", "number":
		return s.Minimum
	case "boolean":
		return false
	case "null":
		return nil
	}
	return fitText(name, s, m)
}

func fitArray(name string, s schema, m material, depth int) any {
	if strings.Contains(strings.ToLower(name), "url") && len(m.urls) > 0 {
		return m.urls
	}
	if s.Items == nil || depth >= maxFitDepth {
		return []string{cmp.Or(m.query, m.text)}
	}
	return []any{fitValue(name, *s.Items, m, depth+1)}
}

func fitText(name string, s schema, m material) string {
	lower := strings.ToLower(name)
	switch {
	case (s.Format == "uri" || strings.Contains(lower, "url")) && len(m.urls) > 0:
		return m.urls[0]
	case strings.Contains(lower, "quer") || lower == "q" || strings.Contains(lower, "search"):
		return cmp.Or(m.query, m.text)
	}
	return m.text
}

// kind is the schema's type; of several the first that is not null.
func kind(s schema) string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return ""
}
