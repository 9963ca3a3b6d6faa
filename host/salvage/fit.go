package salvage

import (
	"encoding/json"
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

// Fitted are arguments that fit a tool.
type Fitted struct {
	// Arguments is the compact text of one JSON object.
	Arguments string
	// Dropped are the paths of arguments that the tool does not take.
	Dropped []string
}

// Fit repairs the arguments of a call, as they came through a model's own channel:
// the text may be JSON with the usual mistakes, encoded twice, or have the wrong
// types. A null that the schema does not take counts as absent, and what the tool
// does not take is dropped. The error is a *Misfit when a required argument is missing,
// when one has a type that the schema does not allow, when the arguments are the schema
// itself, or when there is no object at all; the result then is what could be read.
func Fit(t Tool, arguments string) (Fitted, error) {
	v, rest, _ := parseLiteral(strings.TrimSpace(arguments))
	if v.kind == absent && strings.TrimSpace(arguments) == "" {
		v.kind = null
	}
	if v.kind == absent || strings.TrimSpace(rest) != "" && v.kind != object {
		return t.misfit("They are no JSON object.")
	}
	return t.fit(v, false)
}

// FitExact is Fit for a tool that changes something: nothing is guessed on behalf of the
// model. The arguments have to be valid JSON, and only what loses and adds nothing is
// done to them: a number in quotes becomes one, a null is absent, what the tool does not
// take is dropped.
func FitExact(t Tool, arguments string) (Fitted, error) {
	if arguments = strings.TrimSpace(arguments); arguments == "" {
		arguments = "{}"
	}
	var encoded string
	if json.Unmarshal([]byte(arguments), &encoded) == nil {
		arguments = encoded
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		return t.misfit("They are not one valid JSON object, and nothing is guessed for a tool that changes " +
			"something: nothing was done.")
	}
	v, _ := wholeLiteral(arguments)
	return t.fit(v, true)
}

func (t Tool) misfit(problems ...string) (Fitted, error) {
	return Fitted{Arguments: "{}"}, &Misfit{Tool: t.Name, Problems: problems, Schema: string(t.Parameters)}
}

// fit fits an object that was read.
func (t Tool) fit(v value, exact bool) (Fitted, error) {
	set := newToolset([]Tool{t})
	s := set.names[t.Name]
	raw := rawCall{name: t.Name}
	if !raw.take(v) || raw.raw != "" {
		return t.misfit("They are no JSON object.")
	}
	if s.echoedBy(raw.args) {
		return t.misfit("They are the schema of the arguments. Write values in the places of their types.")
	}
	args, dropped := s.trimmed(unwrapped(raw.args, t.Name, s), "")
	if exact {
		if problems := s.lossy(args, ""); len(problems) > 0 {
			return t.misfit(problems...)
		}
	}
	raw.args = args
	c, ok := set.finish(raw)
	if !ok {
		return t.misfit("They could not be read.")
	}
	fitted, _ := wholeLiteral(c.Arguments)
	if problems := s.problems(fitted, ""); len(problems) > 0 {
		_, err := t.misfit(problems...)
		return Fitted{Arguments: c.Arguments}, err
	}
	return Fitted{Arguments: c.Arguments, Dropped: dropped}, nil
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
