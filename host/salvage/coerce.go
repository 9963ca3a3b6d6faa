package salvage

import (
	"strconv"
	"strings"
)

// fromText gives a text the type that the schema wants. What fits no wanted type
// stays a string: the runner's check of the arguments then tells the model.
// Without a schema the text stays text, or is typed by its looks when guess is
// set.
func (s schema) fromText(raw string, guess bool) value {
	t := s.types()
	if t == 0 {
		if guess {
			return guessed(raw)
		}
		return stringValue(raw)
	}
	trimmed := strings.TrimSpace(raw)
	if t&typeNull != 0 && (nullWord(trimmed) || trimmed == "nil") {
		return value{kind: null}
	}
	if t&typeString != 0 && s.node.get("enum").kind == list && s.allows(stringValue(raw)) {
		return stringValue(raw)
	}
	if t&(typeInteger|typeNumber) != 0 {
		if n, ok := numberFrom(trimmed, t); ok {
			return n
		}
	}
	if t&typeBoolean != 0 {
		if b, ok := booleanFrom(trimmed, t); ok {
			return b
		}
	}
	if t&(typeArray|typeObject) != 0 {
		if v, ok := s.structureFrom(trimmed, t); ok {
			return v
		}
	}
	if t&typeString == 0 && nullWord(trimmed) {
		return value{kind: null}
	}
	if trimmed == "" && t&typeString == 0 && t&(typeArray|typeObject) != 0 {
		if t&typeArray != 0 {
			return value{kind: list}
		}
		return value{kind: object}
	}
	if t&typeArray != 0 && t&typeString == 0 {
		return value{kind: list, items: []value{s.items().fromText(trimmed, true)}}
	}
	return stringValue(raw)
}

func nullWord(s string) bool { return s == "null" || s == "None" || s == "NULL" }

func numberFrom(raw string, t types) (value, bool) {
	n, ok := jsonNumber(raw)
	if !ok {
		return value{}, false
	}
	if t&typeNumber == 0 && strings.ContainsAny(n, ".eE") {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil || f != float64(int64(f)) {
			return value{}, false
		}
		n = strconv.FormatInt(int64(f), 10)
	}
	return value{kind: number, str: n}, true
}

func booleanFrom(raw string, t types) (value, bool) {
	switch strings.ToLower(raw) {
	case "true":
		return value{kind: boolean, str: "true"}, true
	case "false":
		return value{kind: boolean, str: "false"}, true
	case "1", "yes", "on":
		return value{kind: boolean, str: "true"}, t&typeString == 0
	case "0", "no", "off":
		return value{kind: boolean, str: "false"}, t&typeString == 0
	}
	return value{}, false
}

// structureFrom reads an array or object from text, also one that was encoded
// twice or in a list without brackets.
func (s schema) structureFrom(raw string, t types) (value, bool) {
	if raw == "" {
		return value{}, false
	}
	if strings.IndexByte("{[(\"'", raw[0]) < 0 {
		return value{}, false
	}
	if at := strings.TrimLeft(raw, "{[ \t\r\n"); strings.HasPrefix(at, `\"`) { // escaped as for a string
		decoded, _, _ := parseLiteral(`"` + raw + `"`)
		raw = decoded.str
	}
	v, rest, _ := parseLiteral(raw)
	if v.kind == text && strings.TrimSpace(rest) == "" {
		inner, _, _ := parseLiteral(strings.TrimSpace(v.str))
		v = inner
	} else if strings.TrimSpace(rest) != "" {
		return value{}, false
	}
	switch {
	case typeOf(v)&t != 0 && (v.kind == list || v.kind == object):
		return s.fit(v), true
	case v.kind == object && t&typeArray != 0:
		return s.fit(v), true
	}
	return value{}, false
}

// guessed types a text by its looks: JSON or Python literals are what they look
// like, everything else is a string.
func guessed(raw string) value {
	s := strings.TrimSpace(raw)
	if s == "" {
		return stringValue(raw)
	}
	c := s[0]
	switch {
	case c == '{' || c == '[' || c == '"' && len(s) > 1 && s[len(s)-1] == '"':
		if v, ok := wholeLiteral(s); ok {
			return v
		}
	case c == '-' || c >= '0' && c <= '9':
		if n, ok := jsonNumber(s); ok && n == s {
			return value{kind: number, str: n}
		}
	case s == "true" || s == "True" || s == "false" || s == "False":
		return value{kind: boolean, str: strings.ToLower(s)}
	case s == "null" || s == "None":
		return value{kind: null}
	}
	return stringValue(raw)
}

// fit repairs a typed value so that it has a type that the schema wants, where
// that loses nothing: texts become numbers, booleans, arrays and objects, a single
// value becomes an array of one, a number becomes text.
func (s schema) fit(v value) value {
	t := s.types()
	have := typeOf(v)
	switch {
	case t == 0 || have&t != 0 && (have != typeNumber || t&typeNumber != 0):
		return s.descend(v)
	case v.kind == text:
		return s.fromText(v.str, false)
	case v.kind == number && t&typeInteger != 0:
		if n, ok := numberFrom(v.str, t); ok {
			return n
		}
	case v.kind == number && t&typeBoolean != 0 && (v.str == "0" || v.str == "1"):
		b, _ := booleanFrom(v.str, t)
		return b
	}
	switch {
	case v.kind == null:
		return v
	case t&typeArray != 0:
		return value{kind: list, items: []value{s.items().fit(v)}}
	case t&typeString != 0 && (v.kind == number || v.kind == boolean):
		return stringValue(v.str)
	case t&typeString != 0:
		return stringValue(v.compact())
	}
	return v
}

func (s schema) descend(v value) value {
	switch v.kind {
	case object:
		for i, k := range v.keys {
			if p := s.property(k); p.known() {
				v.items[i] = p.fit(v.items[i])
			}
		}
	case list:
		if items := s.items(); items.known() {
			for i := range v.items {
				v.items[i] = items.fit(v.items[i])
			}
		}
	}
	return v
}

// satisfies tells whether an object has the required fields, no field beyond the
// named ones, and types that the schema wants.
func (s schema) satisfies(v value) bool {
	if v.kind != object || len(s.names()) == 0 {
		return false
	}
	for _, name := range s.required() {
		if v.get(name).kind == absent {
			return false
		}
	}
	for i, k := range v.keys {
		p := s.property(k)
		if !s.has(k) || p.types() != 0 && p.types()&typeOf(v.items[i]) == 0 || !p.allows(v.items[i]) {
			return false
		}
	}
	return len(v.keys) > 0
}
