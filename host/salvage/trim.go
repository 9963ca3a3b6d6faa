package salvage

import (
	"fmt"
	"slices"
)

// trimmed is an object without the nulls that stand for absent arguments, and without the
// fields that the schema does not take, which it names by their paths.
func (s schema) trimmed(v value, at string) (value, []string) {
	switch {
	case v.kind == list:
		var dropped []string
		items := make([]value, len(v.items))
		for i, item := range v.items {
			var d []string
			items[i], d = s.items().trimmed(item, fmt.Sprintf("%s[%d]", at, i))
			dropped = append(dropped, d...)
		}
		return value{kind: list, items: items}, dropped
	case v.kind != object || len(s.names()) == 0:
		return v, nil
	}
	out, dropped := value{kind: object}, []string(nil)
	required := s.required()
	for i, k := range v.keys {
		if !s.takes(k) {
			dropped = append(dropped, dotted(at, k))
			continue
		}
		p := s.property(k)
		if t := p.types(); v.items[i].kind == null && t != 0 && t&typeNull == 0 && !slices.Contains(required, k) {
			continue
		}
		item, d := p.trimmed(v.items[i], dotted(at, k))
		dropped = append(dropped, d...)
		out.keys, out.items = append(out.keys, k), append(out.items, item)
	}
	return out, dropped
}

// takes tells whether an object may have a field. Where the schema names its fields and
// says nothing of others, there are no others.
func (s schema) takes(name string) bool {
	if s.has(name) {
		return true
	}
	o := s.branchFor(typeObject).node
	if o.get("patternProperties").kind == object {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} { // another branch may name it
		if o.get(key).kind == list || s.node.get(key).kind == list {
			return true
		}
	}
	more := o.get("additionalProperties")
	return more.kind == object || more.kind == boolean && more.str == "true"
}

// lossy says what in v could only be made to fit by a guess: an object or a list where a
// text belongs.
func (s schema) lossy(v value, at string) []string {
	t := s.types()
	if (v.kind == object || v.kind == list) && t&typeString != 0 && t&typeOf(v) == 0 && t&typeArray == 0 {
		return []string{fmt.Sprintf("%s must be %s.", named(at), t)}
	}
	var out []string
	switch v.kind {
	case object:
		for i, k := range v.keys {
			out = append(out, s.property(k).lossy(v.items[i], dotted(at, k))...)
		}
	case list:
		for i, item := range v.items {
			out = append(out, s.items().lossy(item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return out
}

// schemaWords are the fields of a JSON Schema that models repeat.
var schemaWords = []string{"type", "description", "title", "enum", "default", "items", "properties", "required", "format",
	"examples", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "anyOf", "oneOf",
	"allOf", "additionalProperties", "nullable", "const", "$ref"}

// echoedBy tells whether arguments are only the schema that the model was shown, of all
// of them or of each.
func (s schema) echoedBy(args value) bool {
	if args.kind != object || len(args.keys) == 0 {
		return false
	}
	if p := args.get("properties"); p.kind == object && args.get("type").str == "object" && !s.has("properties") {
		return len(p.keys) == 0 || s.echoedBy(p)
	}
	for i, k := range args.keys {
		if !isSchema(args.items[i]) || s.property(k).takesSchema() {
			return false
		}
	}
	return true
}

// isSchema tells whether v is a JSON Schema and nothing else.
func isSchema(v value) bool {
	if v.kind != object || len(v.keys) == 0 {
		return false
	}
	for _, k := range v.keys {
		if !slices.Contains(schemaWords, k) {
			return false
		}
	}
	t := v.get("type")
	switch t.kind {
	case text:
		return typeNamed(t.str) != 0
	case list:
		return len(t.items) > 0 && typeNamed(t.items[0].str) != 0
	}
	return v.get("anyOf").kind == list || v.get("oneOf").kind == list || v.get("enum").kind == list || v.get("$ref").kind == text
}

// takesSchema tells whether an argument may itself be an object that looks like a schema.
func (s schema) takesSchema() bool {
	t := s.types()
	return t&typeObject != 0 && (len(s.names()) == 0 || s.has("type"))
}
