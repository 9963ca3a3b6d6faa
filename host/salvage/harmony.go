package salvage

import "strings"

// harmonyEnds are the tokens that end a message.
var harmonyEnds = []string{"<|end|>", "<|start|>", "<|call|>", "<|return|>", "<|channel|>", "<|eom|>"}

// readHarmony reads the header of a message, up to <|message|>, and what follows
// from it: reasoning, visible text, or a call to the recipient.
func (c *call) readHarmony(in string, final bool) (int, verdict) {
	if c.head != nil {
		return c.readRecipientBody(in, final)
	}
	at, after, v := c.find.scan(in, []string{"<|message|>"}, final)
	if c.d.lineStart { // the tokens are missing
		at, after, v = headless(in, final, c.opener == "to=" && !strings.HasPrefix(in, "functions."))
	}
	if v == more {
		switch {
		case !final && len(in) < maxHead+len("<|message|>"):
			return 0, more
		case c.sentence, c.d.lineStart:
			return 0, reject
		case len(in) < maxHead:
			return len(in), strip // a header that was cut off
		}
		return 0, strip
	}
	if v == reject {
		return 0, reject
	}
	if at > maxHead {
		return 0, strip
	}
	h := parseHarmony(c.opener+in[:at], c.opener)
	switch {
	case h.recipient != "":
		c.head = &head{shape: shapeNamed, name: h.recipient, at: after}
		return c.readRecipientBody(in, final)
	case h.reasoning:
		c.closers = harmonyEnds
		return after, think
	}
	return after, strip
}

// headless finds the end of a header whose first token is missing, or all of them.
// A plain header is a recipient and the token that ends it.
func headless(in string, final, plain bool) (at, after int, v verdict) {
	for i := 0; i < len(in) && i < maxHead; i++ {
		switch {
		case plain && in[i] != '<' && in[i] != ' ' && !nameByte(in[i]):
			return 0, 0, reject
		case plain && in[i] == '<':
			hit, partial := startsWithAny(in[i:], []string{"<|message|>", "<|channel|>", "<|constrain|>"})
			switch {
			case partial && !final:
				return 0, 0, more
			case !hit:
				return 0, 0, reject
			}
			plain = false
			i--
		case in[i] == '{':
			return i, i, done
		case strings.HasPrefix(in[i:], "<|message|>"):
			return i, i + len("<|message|>"), done
		case in[i] == '\n':
			return 0, 0, reject
		}
	}
	return 0, 0, more
}

type harmonyHeader struct {
	// recipient is the tool that the message is for, "" if it is for none.
	recipient string
	reasoning bool
}

// parseHarmony reads a header. Tokens may be doubled, glued to names, or missing.
func parseHarmony(header, opener string) harmonyHeader {
	var h harmonyHeader
	s := header
	for _, token := range []string{"<|channel|>", "<|constrain|>", "<|start|>", "<|end|>"} {
		s = strings.ReplaceAll(s, token, " "+token+" ")
	}
	channel := opener == "<|channel|>"
	for _, word := range strings.Fields(s) {
		to, addressed := strings.CutPrefix(word, "to=")
		switch {
		case word == "<|channel|>":
			channel = true
		case addressed && (to == "self" || to == "analysis"):
			h.reasoning = true
		case addressed && to != "user" && to != "assistant" && to != "final":
			h.recipient = strings.Trim(to, "?")
		case channel && strings.Trim(word, "?") == "analysis":
			h.reasoning = true
		}
	}
	return h
}

// readRecipientBody reads the body of a message to a tool: JSON, or raw text for a
// tool that takes such.
func (c *call) readRecipientBody(in string, final bool) (int, verdict) {
	h := c.head
	if h.shape == shapeNamed && c.value.pos == 0 {
		j, a := nextToken(in, h.at, final)
		switch {
		case a == unknown:
			return 0, more
		case a == no && in[j] == '{':
			h.at = j
		case a == no && in[j] == '<' && len(in)-j < 2 && !final:
			return 0, more
		case a == no && in[j] == '<' && !strings.HasPrefix(in[j:], "<|"):
			return j, strip // elements follow, which are calls of their own
		default:
			h.shape = 0
		}
	}
	if h.shape == shapeNamed {
		return c.readBody(in, final)
	}
	if c.find.pos < h.at {
		c.find.pos = h.at
	}
	at, after, v := c.find.scan(in, harmonyEnds, final)
	if v == more {
		if !final {
			return 0, more
		}
		at, after = len(in), len(in)
	}
	if v == done && (in[at:after] == "<|start|>" || in[at:after] == "<|channel|>") {
		after = at
	}
	raw := rawCall{name: h.name}
	if body := strings.TrimSpace(in[h.at:at]); body != "" {
		raw.raw = body
	}
	c.raws = []rawCall{raw}
	return after, done
}

// readRecipient reads Functionary's >>>NAME and the JSON or code behind it; >>>all
// is text for everyone.
func (c *call) readRecipient(in string, final bool) (int, verdict) {
	if c.head == nil {
		end := strings.IndexByte(in, '\n')
		if end < 0 {
			if !final && len(in) <= maxKey && plainPrefix(strings.TrimSuffix(in, "\r")) {
				return 0, more
			}
			return 0, reject
		}
		name := strings.TrimSuffix(in[:end], "\r")
		switch {
		case name == "all":
			return end + 1, strip
		case !plainName(name) || strings.HasPrefix(in, " "):
			return 0, reject
		case name == "python" || c.tools.listed(name) && !jsonNext(in[end:]):
			j, a := nextToken(in, end, final)
			if a == unknown {
				return 0, more
			}
			c.head = &head{name: name, at: min(j, len(in))}
			if a == no && in[j] == '{' && name != "python" {
				c.head.shape = shapeNamed
			}
		default:
			j, a := nextToken(in, end, final)
			if a == unknown {
				return 0, more
			}
			if a == yes || in[j] != '{' {
				return 0, reject
			}
			c.head = &head{shape: shapeNamed, name: name, at: j}
		}
	}
	if c.head.shape == shapeNamed {
		return c.readBody(in, final)
	}
	c.find.pos = max(c.find.pos, c.head.at)
	at, _, v := c.find.scan(in, []string{">>>"}, final)
	if v == more {
		if !final {
			return 0, more
		}
		at = len(in)
	}
	c.raws = []rawCall{{name: c.head.name, raw: strings.TrimSpace(in[c.head.at:at])}}
	return at, done
}

// functionaryEnds are the tokens that end a message of Functionary v2.
var functionaryEnds = []string{"<|stop|>", "<|from|>", "<|recipient|>"}

// readContent reads Functionary v2's NAME<|content|> and the JSON or code behind
// it; all is the recipient of text for everyone.
func (c *call) readContent(in string, final bool) (int, verdict) {
	const content = "<|content|>"
	if c.head == nil {
		at, after, v := c.find.scan(in, []string{content}, final)
		name := strings.TrimSpace(in[:at])
		switch {
		case v == more && !final && len(in) < maxKey+len(content):
			return 0, more
		case v == more, at > maxKey, !plainName(name):
			return 0, reject
		case name == "all":
			return after, strip
		}
		j, a := nextToken(in, after, final)
		if a == unknown {
			return 0, more
		}
		c.head, c.find = &head{name: name, at: min(j, len(in))}, finder{pos: after}
		if a == no && in[j] == '{' {
			c.head.shape = shapeNamed
		}
	}
	if c.head.shape == shapeNamed {
		return c.readBody(in, final)
	}
	at, after, v := c.find.scan(in, functionaryEnds, final)
	switch {
	case v == more && !final:
		return 0, more
	case v == more:
		at, after = len(in), len(in)
	case in[at:after] != functionaryEnds[0]:
		after = at
	}
	c.raws = []rawCall{{name: c.head.name, raw: strings.TrimSpace(in[min(c.head.at, at):at])}}
	return after, done
}

func jsonNext(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "{") }

// plainPrefix tells whether in may be the start of a name.
func plainPrefix(in string) bool {
	for i := range len(in) {
		if !nameByte(in[i]) && in[i] < 0x80 {
			return false
		}
	}
	return true
}
