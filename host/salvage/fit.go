package salvage

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Misfit says why arguments do not fit a tool.
type Misfit struct {
	// Tool is the name of the tool.
	Tool string
	// Problems are sentences about single arguments.
	Problems []string
	// Schema is the JSON Schema of the arguments.
	Schema string
}

// The bounds of what the text for a model quotes.
const (
	maxProblems     = 10
	maxProblemBytes = 300
	maxSchemaBytes  = 5 << 10
)

// Error is a text for the model: what was wrong, and the schema, each as far as it is
// not too long.
func (m *Misfit) Error() string {
	var told []string
	for _, p := range m.Problems[:min(len(m.Problems), maxProblems)] {
		told = append(told, cutTo(p, maxProblemBytes))
	}
	if more := len(m.Problems) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("And %d more.", more))
	}
	return fmt.Sprintf("The arguments of %s do not fit: %s Its arguments must match this JSON Schema: %s",
		m.Tool, strings.Join(told, " "), cutTo(m.Schema, maxSchemaBytes))
}

// cutTo returns the begin of a text, which says so where that is not all of it.
func cutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (cut: %d of %d bytes)", text[:end], end, len(text))
}

// Fit repairs the arguments of a call, as they came through a model's own channel:
// the text may be JSON with the usual mistakes, encoded twice, or have the wrong
// types. The result is the compact text of one JSON object. The error is a *Misfit
// when a required argument is missing, when one has a type that the schema does not
// allow, or when there is no object at all; the result then is what could be read.
func Fit(t Tool, arguments string) (string, error) {
	set := newToolset([]Tool{t})
	raw := rawCall{name: t.Name}
	v, rest, _ := parseLiteral(strings.TrimSpace(arguments))
	if v.kind == absent && strings.TrimSpace(arguments) == "" {
		v.kind = null
	}
	if v.kind == absent || strings.TrimSpace(rest) != "" && v.kind != object || !raw.take(v) || raw.raw != "" {
		return "{}", &Misfit{Tool: t.Name, Problems: []string{"They are no JSON object."}, Schema: string(t.Parameters)}
	}
	c, ok := set.finish(raw)
	if !ok {
		return "{}", &Misfit{Tool: t.Name, Problems: []string{"They could not be read."}, Schema: string(t.Parameters)}
	}
	fitted, _ := wholeLiteral(c.Arguments)
	if problems := set.names[t.Name].problems(fitted, ""); len(problems) > 0 {
		return c.Arguments, &Misfit{Tool: t.Name, Problems: problems, Schema: string(t.Parameters)}
	}
	return c.Arguments, nil
}

// problems says what in v the schema does not allow. at is the path to v.
func (s schema) problems(v value, at string) []string {
	if !s.known() {
		return nil
	}
	t := s.types()
	if have := typeOf(v); t != 0 && have&t == 0 {
		return []string{fmt.Sprintf("%s must be %s.", named(at), t)}
	}
	if !s.allows(v) {
		return []string{fmt.Sprintf("%s must be one of %s.", named(at), s.node.get("enum").compact())}
	}
	var out []string
	switch v.kind {
	case object:
		for _, name := range s.required() {
			if v.get(name).kind == absent {
				out = append(out, fmt.Sprintf("%s is missing.", named(dotted(at, name))))
			}
		}
		for i, k := range v.keys {
			out = append(out, s.property(k).problems(v.items[i], dotted(at, k))...)
		}
	case list:
		for i, item := range v.items {
			out = append(out, s.items().problems(item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return out
}

func dotted(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func named(at string) string {
	if at == "" {
		return "The whole"
	}
	return at
}

// String names the types, for a model.
func (t types) String() string {
	var names []string
	for _, n := range []struct {
		t    types
		name string
	}{{typeString, "a string"}, {typeInteger, "an integer"}, {typeNumber, "a number"}, {typeBoolean, "a boolean"},
		{typeNull, "null"}, {typeArray, "an array"}, {typeObject, "an object"}} {
		if t&n.t != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " or ")
}
