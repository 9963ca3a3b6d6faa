package salvage

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// This file reads the dialects whose calls are pairs of special tokens.

// until waits for one of the closers and returns what stands before it. At the end
// of the answer everything does.
func (c *call) until(in string, markers []string, final bool) (body string, after int, ok bool) {
	at, after, v := c.find.scan(in, markers, final)
	switch {
	case v == done:
		return in[:at], after, true
	case final:
		return in, len(in), true
	}
	return "", 0, false
}

// readSolar reads NAME and <|tool_arg:start|>K<|tool_arg:value|>V<|tool_arg:end|>.
func (c *call) readSolar(in string, final bool) (int, verdict) {
	body, after, ok := c.until(in, append(c.d.open, c.d.close...), final)
	if !ok {
		return 0, more
	}
	cut := after > len(body) && slices.Contains(c.d.open, in[len(body):after])
	if cut { // the next call: the closing token is missing
		after = len(body)
	}
	parts := strings.Split(body, "<|tool_arg:start|>")
	if cut && !strings.Contains(parts[0], "\n") {
		return after, done
	}
	raw := rawCall{name: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		key, text, _ := strings.Cut(part, "<|tool_arg:value|>")
		text, _, _ = strings.Cut(text, "<|tool_arg:end|>")
		raw.texts = append(raw.texts, parameter{key: strings.TrimSpace(key), text: oneNewlineOff(text)})
	}
	if plainName(raw.name) {
		c.raws = []rawCall{raw}
	}
	return after, done
}

// readPlamo reads the name and the arguments of a request.
func (c *call) readPlamo(in string, final bool) (int, verdict) {
	body, after, ok := c.until(in, c.d.close, final)
	if !ok {
		return 0, more
	}
	raw := rawCall{name: plamoPart(body, "tool_name")}
	args, _, _ := parseLiteral(plamoPart(body, "tool_arguments"))
	if args.kind == absent {
		args.kind = null
	}
	if raw.name != "" && raw.take(args) {
		c.raws = []rawCall{raw}
	}
	return after, done
}

func plamoPart(body, part string) string {
	_, s, _ := strings.Cut(body, "<|plamo:begin_"+part)
	_, s, _ = strings.Cut(s, "|>")
	s, _, _ = strings.Cut(s, "<|plamo:end_")
	if i := strings.LastIndex(s, "<|plamo:msg|>"); i >= 0 {
		s = s[i+len("<|plamo:msg|>"):]
	}
	return strings.TrimSpace(s)
}

// readGigachat reads "function call<|role_sep|>" and the JSON behind it.
func (c *call) readGigachat(in string, final bool) (int, verdict) {
	if c.head == nil {
		j, a := nextToken(in, 0, final)
		rest := in[j:]
		switch {
		case a == unknown:
			return 0, more
		case a == yes:
			return 0, reject
		case !strings.HasPrefix(rest, "function call"):
			if !final && strings.HasPrefix("function call", rest) {
				return 0, more
			}
			return 0, reject
		}
		k, a := nextToken(in, j+len("function call"), final)
		rest = in[min(k, len(in)):]
		hit, partial := startsWithAny(rest, []string{"<|role_sep|>"})
		switch {
		case a == unknown, partial && !final:
			return 0, more
		case !hit:
			return 0, reject
		}
		k += len("<|role_sep|>")
		if k, a = nextToken(in, k, final); a == unknown {
			return 0, more
		}
		if a == yes || in[k] != '{' && in[k] != '[' {
			return min(k, len(in)), done
		}
		c.head = &head{shape: shapeJSON, at: k}
	}
	return c.readBody(in, final)
}

// readMessage passes over the author that may stand between Inkling's
// <|message_model|> and the token that says what the message holds. What else
// stands there is text.
func (c *call) readMessage(in string, final bool) (int, verdict) {
	const content = "<|content_"
	n := 0
	for n < len(in) && n <= maxKey && (nameByte(in[n]) || in[n] >= utf8.RuneSelf) {
		n++
	}
	rest := in[n:]
	switch {
	case strings.HasPrefix(rest, content):
		return n, strip
	case !final && n <= maxKey && strings.HasPrefix(content, rest):
		return 0, more
	case c.sentence:
		return 0, reject
	}
	return 0, strip
}

// readOpen reads Kimi K3's <|open|>WORD ATTRIBUTES<|sep|>: a call, the wrapper of
// calls, reasoning, or the visible answer.
func (c *call) readOpen(in string, final bool) (int, verdict) {
	if c.head == nil {
		at, after, v := c.find.scan(in, []string{"<|sep|>"}, final)
		switch {
		case v == more && !final && len(in) < maxTag+len("<|sep|>"):
			return 0, more
		case v == more && c.opener != "<|close|>" && k3Attributes(in):
			return len(in), done // cut off: nothing to run, nothing to show
		case v == more && c.opener == "<|close|>" && k3Closes(in):
			return len(in), strip
		case v == more || at > maxTag:
			return 0, reject
		}
		word, attrs, _ := strings.Cut(strings.TrimSpace(in[:at]), " ")
		switch {
		case c.opener == "<|close|>":
			return after, strip
		}
		switch word {
		case "think", "thinking", "analysis":
			c.closers = []string{"<|close|>"}
			return after, think
		case "call":
			t := tag{attrs: attrs}
			name, _ := t.attribute("tool")
			if name == "" {
				name, _ = t.attribute("name")
			}
			c.head = &head{name: name, at: after}
			c.find = finder{pos: after}
		default:
			return after, strip
		}
	}
	for {
		at, after, v := c.find.scan(in, c.d.close, final)
		if v == more && !final {
			return 0, more
		}
		if v == more {
			at, after = len(in), len(in)
		} else {
			rest, a := afterWord(in, after, final)
			if a == unknown {
				return 0, more
			}
			if !rest.is("call") && !rest.is("tools") {
				c.find = finder{pos: after}
				continue
			}
			after = rest.end
		}
		c.raws = []rawCall{{name: c.head.name, texts: k3Arguments(in[c.head.at:at])}}
		return after, done
	}
}

// k3Attributes tells whether in is a tag of Kimi K3 with attributes whose end was
// cut off.
func k3Attributes(in string) bool {
	word, _, attributes := strings.Cut(strings.TrimSpace(in), " ")
	return len(in) <= maxTag && attributes && (word == "call" || word == "argument" || word == "json")
}

// k3Closes tells whether in is the start of a closing tag of Kimi K3.
func k3Closes(in string) bool {
	in = strings.TrimSpace(in)
	for _, word := range []string{"think", "response", "message", "tools", "call", "argument"} {
		if strings.HasPrefix(word+"<|sep|>", in) {
			return true
		}
	}
	return false
}

// closedWord is WORD<|sep|> behind <|close|>.
type closedWord struct {
	word string
	end  int
}

func (w closedWord) is(word string) bool { return w.word == word }

func afterWord(in string, at int, final bool) (closedWord, answer) {
	rest := in[at:]
	n := strings.Index(rest, "<|sep|>")
	if n < 0 || n > 64 {
		if n < 0 && !final && len(rest) < 64+len("<|sep|>") {
			return closedWord{}, unknown
		}
		return closedWord{end: at}, no
	}
	return closedWord{word: strings.TrimSpace(rest[:n]), end: at + n + len("<|sep|>")}, yes
}

// k3Arguments reads <|open|>argument key="K" type="T"<|sep|>V<|close|>argument<|sep|>.
func k3Arguments(body string) []parameter {
	var out []parameter
	for _, part := range strings.Split(body, "<|open|>")[1:] {
		head, text, ok := strings.Cut(part, "<|sep|>")
		word, attrs, _ := strings.Cut(strings.TrimSpace(head), " ")
		text, _, _ = strings.Cut(text, "<|close|>")
		if v, whole := wholeLiteral(text); ok && word == "json" && whole {
			for i, k := range v.keys {
				out = append(out, parameter{key: k, value: v.items[i]})
			}
		}
		if !ok || word != "argument" {
			continue
		}
		t := tag{attrs: attrs}
		key, _ := t.attribute("key")
		out = append(out, parameter{key: key, text: text, typed: typeAttribute(t)})
	}
	return out
}
