package salvage

import (
	"encoding/json"
	"strings"
)

// shape is what the body of a call is written as.
type shape uint8

const (
	// shapeJSON is a JSON value that holds the calls.
	shapeJSON shape = iota + 1
	// shapeNamed is a name and a JSON object of arguments.
	shapeNamed
	// shapePython is a name and ( … ).
	shapePython
	// shapeGemma is a name and Gemma's own { … }.
	shapeGemma
	// shapeElements is a name and elements.
	shapeElements
	// shapeText is a name and source code.
	shapeText
	// shapeNothing is what is meant as arguments and is none.
	shapeNothing
)

// readBody reads the long part.
func (c *call) readBody(in string, final bool) (int, verdict) {
	h := c.head
	body := in[h.at:]
	var end int
	var v verdict
	switch h.shape {
	case shapeElements:
		c.tags.block = true
		end, v = c.tags.scan(body, final)
	case shapeGemma:
		end, v = c.find.gemma(body, final)
	case shapeNothing:
		_, end, v = c.find.scan(body, c.d.close, final)
	default:
		c.value.closers, c.value.eager = c.d.close, c.eager
		end, v = c.value.scan(body, final)
	}
	switch {
	case v == more && !final:
		c.tell(body[:c.certain(body)])
		return 0, more
	case v == more:
		end, c.open = len(body), true
		switch {
		case c.value.candidate > 0:
			end = c.value.candidate - 1
		case c.tags.candidate > 0:
			end = c.tags.candidate - 1
		}
	}
	c.tell(body[:end])
	c.take(body[:end])
	return h.at + end, done
}

// certain returns how much of a body that is not whole belongs to it, whatever
// comes: behind a closer inside a string only the end of the value can tell.
func (c *call) certain(body string) int {
	n := c.value.pos
	switch {
	case c.head.shape == shapeElements:
		n = c.tags.certain()
	case c.head.shape == shapeGemma:
		if n = c.find.g.pos; c.find.g.candidate > 0 {
			n = c.find.g.candidate - 1
		}
	case c.value.candidate > 0:
		n = c.value.candidate - 1
	}
	return min(n, len(body))
}

// take reads the body into raws. What cannot be read leaves raws empty.
func (c *call) take(body string) {
	c.takeAs(body)
	for i := range c.raws {
		if raw := &c.raws[i]; c.tools.wantsExact(raw.name) {
			raw.inexact = c.inexact(body, *raw)
		}
	}
}

// inexact tells whether a call was more than its notation says.
func (c *call) inexact(body string, raw rawCall) bool {
	switch c.head.shape {
	case shapeJSON, shapeNamed:
		if !pythonList(body) {
			return !json.Valid([]byte(strings.TrimSpace(body)))
		}
	}
	return c.open || raw.cut || raw.broken
}

func (c *call) takeAs(body string) {
	h := c.head
	switch h.shape {
	case shapeJSON:
		c.raws = c.readValue(body)
	case shapeNamed:
		l := &literal{in: body}
		v := l.value()
		raw := rawCall{name: h.name, cut: l.cut, broken: l.broken}
		if raw.take(v) {
			c.raws = []rawCall{raw}
		}
	case shapePython:
		if h.name == "print" {
			c.raws, _ = pythonCalls(h.name + body)
			return
		}
		l := &literal{in: body, python: true}
		args := l.arguments()
		raw := rawCall{name: h.name, args: args.keywords, positional: args.positional, cut: l.cut, broken: l.broken}
		if len(raw.positional) == 1 && raw.positional[0].kind == object && len(raw.args.keys) == 0 {
			raw.args, raw.positional = raw.positional[0], nil
		}
		c.raws = []rawCall{raw}
	case shapeGemma:
		c.raws = []rawCall{{name: h.name, args: readGemma(body)}}
	case shapeElements:
		c.raws = []rawCall{c.readNamedElements(body)}
	}
}

// readValue reads the calls in a value that begins with a bracket.
func (c *call) readValue(body string) []rawCall {
	if pythonList(body) {
		calls, _ := pythonCalls(body)
		return calls
	}
	l := &literal{in: body}
	v := l.value()
	calls, ok := jsonCalls(v, 0)
	if !ok && v.kind == list {
		calls, ok = callsAmong(v.items)
	}
	if ok && l.cut && calls[len(calls)-1].noArguments {
		calls = calls[:len(calls)-1] // the arguments were cut off
		ok = len(calls) > 0
	}
	if !ok || c.d.keyed && calls[0].noArguments {
		if calls, ok = keyedCalls(v); !ok {
			return nil
		}
	}
	for i := range calls {
		calls[i].broken = l.broken && i == len(calls)-1
	}
	return calls
}

// pythonList tells whether a list holds calls: [name(…
func pythonList(body string) bool {
	rest := strings.TrimLeft(strings.TrimPrefix(body, "["), " \t\r\n")
	i := 0
	for i < len(rest) && nameByte(rest[i]) {
		i++
	}
	return body != "" && body[0] == '[' && i > 0 && letter(rest[0]) &&
		strings.HasPrefix(strings.TrimLeft(rest[i:], " "), "(")
}

// readNamedElements reads keys and values behind a name. Where the first key has
// no opening tag, it is glued to the name.
func (c *call) readNamedElements(body string) rawCall {
	name := c.head.name
	if t, a := tagAt(body, 0, true); a == yes && t.closing && t.kind == keyTag {
		key := ""
		name, key = c.unglue(name)
		body = "<arg_key>" + key + body
	}
	return rawCall{name: name, texts: readElements(body), guess: c.d.guess}
}

// unglue splits a name and a key that stand together, by the tools that are known.
func (c *call) unglue(glued string) (name, key string) {
	for n := len(glued) - 1; n > 0; n-- {
		if s, ok := c.tools.names[glued[:n]]; ok && s.has(glued[n:]) {
			return glued[:n], glued[n:]
		}
	}
	return glued, ""
}
