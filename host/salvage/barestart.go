package salvage

import "strings"

// This file decides by the first bytes whether a bare call can stand at a place.
// Only then is text held.

// fenceLanguages are those of code fences that calls stand in.
var fenceLanguages = []string{"", "json", "tool_call", "tool_calls", "tool_code", "tool", "tools", "function_call",
	"python", "py", "xml", "text"}

// imitations are how models imitate a client's transcript of calls.
var imitations = []string{"calling tool:", "tool_call:", "tool call:", "tool_calls:", "tool:", "call:", "called tool:",
	"function call:", "tool use:"}

// bareMayBegin tells whether a bare call may begin at this line: at the start of
// the answer, or behind one short line.
func (p *Parser) bareMayBegin() bool {
	if p.o.None && p.tools.open() || p.bareTries >= maxBareTries {
		return false
	}
	return p.place.lines == 0 && p.place.length == 0 || p.place.lines == 1 && p.place.length <= maxLead
}

// maxBareTries bounds how often an answer is held in vain.
const maxBareTries = 3

// bareStarts decides by the first bytes whether a bare call can stand here.
func (p *Parser) bareStarts(in string, final bool) answer {
	switch c := in[0]; {
	case c == '{':
		return p.objectStarts(in, final)
	case c == '[':
		return p.listStarts(in, final)
	case c == '`':
		return p.fenceStarts(in, final)
	case !p.tools.open() && letter(c):
		return p.nameStarts(in, final)
	}
	return no
}

func (p *Parser) objectStarts(in string, final bool) answer {
	j, a := nextToken(in, 1, final)
	if a != no {
		return onlyUnknown(a)
	}
	q := in[j]
	switch {
	case q == smart:
		return yes
	case letter(q):
		k := j
		for k < len(in) && letter(in[k]) {
			k++
		}
		return p.keyStarts(in[j:k], k < len(in), final)
	case q != '"' && q != '\'':
		return no
	}
	end := strings.IndexByte(in[j+1:], q)
	if end < 0 {
		return p.keyStarts(in[j+1:], false, final)
	}
	return p.keyStarts(in[j+1:j+1+end], true, final)
}

// keyStarts decides by the first key of an object, which may not be whole.
func (p *Parser) keyStarts(key string, whole, final bool) answer {
	switch {
	case len(key) > maxKey:
		return no
	case !whole:
		return undecided(final)
	}
	return decide(callKey(key) || p.tools.listed(key) || p.o.Required)
}

func (p *Parser) listStarts(in string, final bool) answer {
	j, a := nextToken(in, 1, final)
	if a != no {
		return onlyUnknown(a)
	}
	rest := in[j:]
	if rest[0] == '{' {
		return p.objectStarts(rest, final)
	}
	if !letter(rest[0]) {
		return no
	}
	if imitated(rest) >= 0 {
		return yes
	}
	i := 0
	for i < len(rest) && nameByte(rest[i]) && i <= maxKey {
		i++
	}
	switch {
	case i == len(rest) || partImitation(rest):
		return undecided(final)
	case rest[i] == '(' && (p.tools.known(rest[:i]) || strings.HasPrefix(rest, "print")):
		return yes
	}
	return no
}

// imitated returns the length of an imitated transcript's opening, else -1.
func imitated(s string) int {
	for _, m := range imitations {
		if len(s) >= len(m) && strings.EqualFold(s[:len(m)], m) {
			return len(m)
		}
	}
	return -1
}

func partImitation(s string) bool {
	for _, m := range imitations {
		if len(s) < len(m) && strings.EqualFold(s, m[:len(s)]) {
			return true
		}
	}
	return false
}

func (p *Parser) fenceStarts(in string, final bool) answer {
	end := strings.IndexByte(in, '\n')
	switch {
	case end > 24 || end < 0 && len(in) > 24:
		return no
	case end < 0:
		return undecided(final || strings.Trim(in, "`") != "" && !strings.HasPrefix(in, "```"))
	case !strings.HasPrefix(in, "```"):
		return no
	}
	lang := strings.TrimSpace(in[3:end])
	for _, l := range fenceLanguages {
		if strings.EqualFold(lang, l) {
			return p.insideFence(in, end, final)
		}
	}
	return no
}

// insideFence decides by what the fence begins with.
func (p *Parser) insideFence(in string, at int, final bool) answer {
	j, a := nextToken(in, at, final)
	if a != no {
		return onlyUnknown(a)
	}
	switch c := in[j]; {
	case c == '{':
		return p.objectStarts(in[j:], final)
	case c == '[':
		return p.listStarts(in[j:], final)
	case c == '<' && !p.shown():
		m, a := theLexer.match(in[j:], final)
		if a == yes {
			return decide(m.role == opens || m.role == wraps)
		}
		t, ta := tagAt(in[j:], 0, final)
		if a == unknown || ta == unknown {
			return unknown
		}
		return decide(ta == yes && !t.closing && t.kind == functionTag)
	case letter(c):
		i := j
		for i < len(in) && (nameByte(in[i]) || in[i] == ' ' || in[i] == '=') && i-j < maxKey {
			i++
		}
		if i == len(in) {
			return undecided(final)
		}
		name := in[j:i]
		if _, assigned, ok := strings.Cut(name, "="); ok {
			name = assigned
		}
		name = strings.TrimSpace(name)
		lang := strings.TrimSpace(in[3:at])
		code := strings.HasPrefix(lang, "tool") || strings.HasPrefix(lang, "function") || !p.tools.open()
		return decide(code && in[i] == '(' && (p.tools.known(name) || name == "print"))
	}
	return no
}

// nameStarts decides whether the answer begins with the name of a tool.
func (p *Parser) nameStarts(in string, final bool) answer {
	i := 0
	for i < len(in) && nameByte(in[i]) && i <= maxKey {
		i++
	}
	word := in[:i]
	if i == len(in) && !final {
		for _, name := range p.tools.ordered {
			for _, prefix := range append([]string{"", "call:"}, prefixes...) {
				if strings.HasPrefix(prefix+name, word) || strings.HasPrefix(word, prefix+name+":") {
					return unknown
				}
			}
		}
		return no
	}
	if !p.tools.listed(p.tools.resolve(strings.TrimPrefix(word, "call:"))) {
		return no
	}
	c := call{tools: p.tools, d: &bareDialect}
	h := header{c: &c, in: in, final: final}
	if _, v := h.read(); c.head == nil {
		return onlyUnknown(decideMore(v))
	}
	return decide(c.head.shape == shapeNamed || c.head.shape == shapeGemma || c.head.shape == shapeElements)
}

func decideMore(v verdict) answer {
	if v == more {
		return unknown
	}
	return no
}

// imitation reads f({…}), f {…} or f alone.
func imitation(s string) []rawCall {
	i := 0
	for i < len(s) && nameByte(s[i]) {
		i++
	}
	name, rest := s[:i], strings.TrimSpace(s[i:])
	switch {
	case name == "":
		return nil
	case rest == "":
		return []rawCall{{name: name}}
	case rest[0] == '(':
		calls, ok := pythonCalls(s)
		if !ok {
			return nil
		}
		return calls
	case letter(rest[0]) && strings.IndexByte(rest, '=') > 0: // f a="x" b=1
		l := &literal{in: "(" + rest + ")", python: true}
		if args := l.arguments(); len(args.positional) == 0 {
			return []rawCall{{name: name, args: args.keywords}}
		}
	case rest[0] == '{':
		v, _, _ := parseLiteral(rest)
		raw := rawCall{name: name}
		if raw.take(v) {
			return []rawCall{raw}
		}
	}
	return nil
}
