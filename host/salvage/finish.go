package salvage

import "strings"

// finish turns what the model wrote into a call with typed arguments. It reports
// false when there is no way to read it.
func (t *toolset) finish(c rawCall) (Call, bool) {
	name := t.resolve(c.name)
	if name == "" || c.broken {
		return Call{}, false
	}
	if !t.open() && !t.listed(name) && opaque(name) {
		if fit := t.onlyFit(c.args); fit != "" {
			name = fit
		}
	}
	s := t.names[name]
	args := c.args
	if args.kind != object {
		args = value{kind: object}
	}
	if c.raw != "" {
		args.set(textProperty(s, name), stringValue(c.raw))
	}
	if len(c.positional) > 0 {
		if !nameArguments(&args, c.positional, s) {
			return Call{}, false
		}
	}
	for _, p := range c.texts {
		item := p.typedBy(s.property(p.key), c.guess)
		args.keys, args.items = append(args.keys, p.key), append(args.items, item)
	}
	if len(c.texts) == 0 && s.echoedBy(args) {
		return Call{}, false
	}
	args = unwrapped(args, name, s)
	if s.known() {
		args = s.descend(args)
	}
	return Call{Name: name, Arguments: args.compact(), Inexact: c.inexact}, true
}

// opaque tells whether a name is the id of a call and not the name of a tool.
func opaque(name string) bool {
	for _, p := range []string{"call_", "call-", "chatcmpl-", "toolu_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// onlyFit returns the one tool whose schema the arguments satisfy, else "".
func (t *toolset) onlyFit(args value) string {
	fit := ""
	for _, name := range t.ordered {
		if !t.names[name].satisfies(args) {
			continue
		}
		if fit != "" {
			return ""
		}
		fit = name
	}
	return fit
}

// typedBy gives a parameter its value.
func (p parameter) typedBy(s schema, guess bool) value {
	switch {
	case p.value.kind != absent:
		return s.fitText(p.value)
	case p.typed == asString:
		v := stringValue(p.text)
		if t := s.types(); t != 0 && t&typeString == 0 {
			return s.fromText(p.text, guess)
		}
		return v
	case p.typed == asJSON:
		if v, ok := wholeLiteral(strings.TrimSpace(p.text)); ok {
			return v
		}
		return s.fromText(p.text, guess)
	}
	return s.fromText(p.text, guess)
}

// fitText is fit for values whose leaves are texts of unknown type.
func (s schema) fitText(v value) value {
	switch v.kind {
	case text:
		return s.fromText(v.str, true)
	case object:
		if t := s.types(); t != 0 && t&typeObject == 0 && t&typeArray != 0 && len(v.items) > 0 {
			return s.fitText(asList(v))
		}
		for i, k := range v.keys {
			v.items[i] = s.property(k).fitText(v.items[i])
		}
	case list:
		for i := range v.items {
			v.items[i] = s.items().fitText(v.items[i])
		}
	}
	return v
}

// asList makes a list of an object with one repeated field, or a list of one.
func asList(v value) value {
	if len(v.keys) == 1 {
		if v.items[0].kind == list {
			return v.items[0]
		}
		return value{kind: list, items: v.items}
	}
	return value{kind: list, items: []value{v}}
}

// nameArguments gives positional arguments the names that the schema has in order.
func nameArguments(args *value, positional []value, s schema) bool {
	var free []string
	for _, n := range s.names() {
		if args.get(n).kind == absent {
			free = append(free, n)
		}
	}
	if len(positional) > len(free) {
		return false
	}
	for i, v := range positional {
		args.set(free[i], v)
	}
	return true
}

// textProperty names the argument that source code without a name goes to: the
// only text that the tool takes, else code or input.
func textProperty(s schema, name string) string {
	var texts []string
	for _, n := range s.names() {
		if s.property(n).types()&typeString != 0 {
			texts = append(texts, n)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	for _, want := range append(s.required(), "code", "input", "query", "command") {
		for _, n := range texts {
			if n == want {
				return n
			}
		}
	}
	if strings.Contains(name, "python") || len(texts) == 0 && strings.Contains(name, "code") {
		return "code"
	}
	return "input"
}

// unwrapped removes a second layer around the arguments: {"arguments":{…}} or
// {"name":…,"arguments":{…}} where the tool has no such field.
func unwrapped(args value, name string, s schema) value {
	for _, k := range append(argumentKeys, "properties") {
		inner := args.get(k)
		if inner.kind == text && len(args.keys) == 1 && strings.HasPrefix(strings.TrimSpace(inner.str), "{") {
			inner, _ = wholeLiteral(strings.TrimSpace(inner.str)) // as the text of an element
		}
		if inner.kind != object || s.has(k) {
			continue
		}
		same := args.get("name")
		if k == "properties" && len(args.keys) == 2 && args.get("type").str == "object" {
			return inner // the shape of the schema
		}
		if len(args.keys) == 1 && (s.known() || k == "arguments" || k == "properties") || len(args.keys) == 2 &&
			same.kind == text && same.str == name {
			return inner
		}
	}
	return args
}
