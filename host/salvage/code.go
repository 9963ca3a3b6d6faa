package salvage

import "strings"

// This file reads calls that are written as source code.

// readToolCode reads tool_code = f(…), with print(tool_code) behind it.
func (c *call) readToolCode(in string, final bool) (int, verdict) {
	if c.head == nil {
		j, a := nextToken(in, 0, final)
		if a == unknown {
			return 0, more
		}
		if a == yes || in[j] != '=' {
			return 0, reject
		}
		k := j + 1
		for k < len(in) && (in[k] == ' ' || nameByte(in[k])) && k-j < maxKey {
			k++
		}
		if k >= len(in) && !final {
			return 0, more
		}
		if k >= len(in) || in[k] != '(' || !c.tools.known(strings.TrimSpace(in[j+1:k])) {
			return 0, reject
		}
		c.head = &head{shape: shapePython, name: strings.TrimSpace(in[j+1 : k]), at: k}
	}
	end, v := c.readBody(in, final)
	if v != done {
		return end, v
	}
	const echo = "\nprint(tool_code)"
	switch rest := in[end:]; {
	case strings.HasPrefix(rest, echo):
		end += len(echo)
	case !final && strings.HasPrefix(echo, rest):
		c.raws = nil
		c.value = brackets{} // read again with more; a handful of bytes is missing
		return 0, more
	}
	return end, done
}

// readPythonTag reads what stands behind Llama's <|python_tag|>: JSON, a call of a
// built-in tool, or source code for the interpreter.
func (c *call) readPythonTag(in string, final bool) (int, verdict) {
	if c.head == nil {
		j, a := nextToken(in, 0, final)
		if a == unknown {
			return 0, more
		}
		if a == yes {
			return min(j, len(in)), done
		}
		k := j
		for k < len(in) && nameByte(in[k]) && k-j < maxKey {
			k++
		}
		name := in[j:k]
		switch {
		case k == len(in) && !final:
			return 0, more
		case in[j] == '{' || in[j] == '[' || in[j] == '<':
			return c.readAny(in, final)
		case k < len(in) && in[k] == '(' && (strings.HasSuffix(name, ".call") || c.tools.listed(c.tools.resolve(name))):
			return c.readAny(in, final)
		}
		c.head = &head{shape: shapeText, at: j}
	}
	if c.head.shape != shapeText {
		return c.readBody(in, final)
	}
	body, after, ok := c.until(in, c.d.close, final)
	if !ok {
		return 0, more
	}
	c.raws = []rawCall{{name: c.tools.interpreter(), raw: strings.TrimSpace(body)}}
	return after, done
}

// interpreter names the tool that runs code.
func (t *toolset) interpreter() string {
	for _, name := range []string{"python", "ipython", "code_interpreter"} {
		if t.listed(name) {
			return name
		}
	}
	return "python"
}

// readToolFence reads a fence that is labelled as holding calls. Where nothing
// tells the names of the tools it is an example in prose: the bare call that is a
// whole answer is read elsewhere.
func (c *call) readToolFence(in string, final bool) (int, verdict) {
	if c.tools.open() {
		return 0, reject
	}
	at, after, v := c.find.scan(in, []string{"```"}, final)
	if v == more {
		if !final {
			return 0, more
		}
		at, after = len(in), len(in)
	}
	body := strings.TrimSpace(in[:at])
	if body == "" {
		return 0, reject
	}
	var calls []rawCall
	if body[0] == '{' || body[0] == '[' && !pythonList(body) {
		calls = c.readValue(body)
	} else {
		calls, _ = pythonCalls(body)
	}
	for _, call := range calls {
		if c.tools.known(call.name) {
			c.raws = append(c.raws, call)
		}
	}
	if len(c.raws) == 0 {
		return 0, reject
	}
	return after, done
}
