package salvage

import "strings"

// rawCall is a call as the model wrote it, before its name is matched with the
// known tools and its arguments with the schema.
type rawCall struct {
	name string
	// args is an object, or absent for none.
	args value
	// positional are Python arguments without a name.
	positional []value
	// texts are parameters whose types only the schema knows.
	texts []parameter
	// raw is a body that is no object: source code for a tool that takes text.
	raw string
	// guess says that texts without a schema are typed by their looks.
	guess bool
	// shape says that the object had what only calls have, and not a word more.
	shape bool
	// noArguments says that the object said nothing of arguments.
	noArguments bool
	// cut says that the input ended inside the call, broken that it cannot be made
	// whole.
	cut, broken bool
	// inexact says that reading it took more than its notation.
	inexact bool
}

// parameter is one named argument in text form.
type parameter struct {
	key, text string
	// typed is what the markup said of the type.
	typed textType
	// value is set for nested markup.
	value value
}

type textType uint8

const (
	bySchema textType = iota
	asString
	asJSON
)

// nameKeys and argumentKeys are the fields in which models put the two parts of a
// call, the usual one first.
var (
	nameKeys     = []string{"name", "tool_name", "function", "tool", "function_name", "recipient_name", "action", "api"}
	argumentKeys = []string{"arguments", "parameters", "args", "input", "params", "tool_input", "action_input",
		"kwargs", "function_args"}
	wrapperKeys = []string{"tool_call", "tool_calls", "function_call", "function_calls", "function", "tool", "calls"}
	otherKeys   = []string{"type", "id", "index", "tool_call_id", "call_id", "call", "description", "thought",
		"reasoning"}
)

// jsonCalls reads the calls in a JSON value: one object, a list, or a wrapper
// around either. It reports false when part of it is no call.
func jsonCalls(v value, depth int) ([]rawCall, bool) {
	if depth > 6 {
		return nil, false
	}
	switch v.kind {
	case list:
		var calls []rawCall
		for _, item := range v.items {
			c, ok := jsonCalls(item, depth+1)
			if !ok && len(calls) > 0 && item.compact() == calls[len(calls)-1].args.compact() {
				continue // an echo of the arguments
			}
			if !ok {
				return nil, false
			}
			calls = append(calls, c...)
		}
		return calls, len(calls) > 0
	case text: // the object encoded as a string
		if inner, ok := wholeLiteral(v.str); ok && (inner.kind == object || inner.kind == list) {
			return jsonCalls(inner, depth+1)
		}
	case object:
		return objectCalls(v, depth)
	}
	return nil, false
}

// callsAmong reads the calls of a list that holds other things too: one bad entry
// spoils none of the others.
func callsAmong(items []value) (calls []rawCall, ok bool) {
	for _, item := range items {
		if c, ok := jsonCalls(item, 1); ok {
			calls = append(calls, c...)
		}
	}
	return calls, len(calls) > 0
}

func objectCalls(v value, depth int) ([]rawCall, bool) {
	for _, k := range wrapperKeys {
		inner := v.get(k)
		if inner.kind == object && (k != "tool" && k != "function" || namedBy(inner) != "") || inner.kind == list &&
			strings.HasSuffix(k, "calls") {
			calls, ok := jsonCalls(inner, depth+1)
			if ok {
				for i := range calls {
					calls[i].shape = calls[i].shape && onlyKeys(v)
				}
				return calls, true
			}
		}
	}
	nameKey := namedBy(v)
	if nameKey == "" {
		return nil, false
	}
	call := rawCall{name: strings.TrimSpace(v.get(nameKey).str), shape: onlyKeys(v), noArguments: true}
	for _, k := range argumentKeys {
		if a := v.get(k); a.kind != absent && k != nameKey {
			call.noArguments = false
			return []rawCall{call}, call.take(a)
		}
	}
	call.args = rest(v, nameKey)
	return []rawCall{call}, true
}

// namedBy returns the key that holds the name of the call, "" if none does.
func namedBy(v value) string {
	for _, k := range nameKeys {
		if f := v.get(k); f.kind == text && strings.TrimSpace(f.str) != "" {
			return k
		}
	}
	return ""
}

// onlyKeys tells whether an object has no key but those of calls.
func onlyKeys(v value) bool {
	for _, k := range v.keys {
		if !callKey(k) {
			return false
		}
	}
	return true
}

func callKey(k string) bool {
	for _, keys := range [][]string{nameKeys, argumentKeys, wrapperKeys, otherKeys} {
		for _, known := range keys {
			if k == known {
				return true
			}
		}
	}
	return false
}

// rest returns the fields that are none of a call's own: arguments that were
// written beside the name.
func rest(v value, nameKey string) value {
	out := value{kind: object}
	for i, k := range v.keys {
		if k != nameKey && !callKey(k) {
			out.keys, out.items = append(out.keys, k), append(out.items, v.items[i])
		}
	}
	return out
}

// take sets the arguments from a field's value and tells whether it could.
func (c *rawCall) take(a value) bool {
	for range 3 { // encoded twice, or wrapped in a list of one
		switch {
		case a.kind == object:
			c.args = a
			return true
		case a.kind == null, a.kind == list && len(a.items) == 0, a.kind == text && strings.TrimSpace(a.str) == "":
			c.args = value{kind: object}
			return true
		case a.kind == list && len(a.items) == 1:
			a = a.items[0]
		case a.kind == text:
			inner, _, _ := parseLiteral(strings.TrimSpace(a.str))
			if inner.kind != object && inner.kind != list && inner.kind != text {
				c.raw = a.str
				return true
			}
			a = inner
		default:
			return false
		}
	}
	return false
}

// keyedCalls reads [{"NAME":{…}}], where the name is the key.
func keyedCalls(v value) ([]rawCall, bool) {
	items := v.items
	if v.kind == object {
		items = []value{v}
	} else if v.kind != list {
		return nil, false
	}
	var calls []rawCall
	for _, item := range items {
		if item.kind != object || len(item.keys) == 0 {
			return nil, false
		}
		for i, k := range item.keys {
			c := rawCall{name: k}
			if callKey(k) || !plainName(k) {
				return nil, false
			}
			if !c.take(item.items[i]) || c.raw != "" {
				return nil, false
			}
			calls = append(calls, c)
		}
	}
	return calls, len(calls) > 0
}
