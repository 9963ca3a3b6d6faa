package salvage

import "strings"

// bare is an answer that so far may be one bare call, or a fence or list of them:
// it is held until it cannot be, or until it ends.
type bare struct {
	pos    int
	fenced bool
	value  brackets
	start  int
	inside bool
	// lead is what stands before the bracket of a value: the name of a function.
	lead int
	// named reads a name and its arguments without markers.
	named *call
	calls []Call
}

// bareDialect reads what is left of a marked call whose special tokens the server
// dropped: a name and its arguments.
var bareDialect = dialect{name: "bare"}

// stepBare reads on while the answer can be bare calls.
func (p *Parser) stepBare(in string, final bool) (int, bool) {
	if len(in) <= MaxCallBytes {
		return p.readBare(in, final)
	}
	n, again := p.readBare(in[:MaxCallBytes+1], false)
	if n == 0 && !again {
		p.notice(NoticeTooLong)
		return p.leaveBare()
	}
	return n, again
}

func (p *Parser) readBare(in string, final bool) (int, bool) {
	b := p.bare
	for {
		if b.named != nil || b.inside {
			switch b.read(p, in, final) {
			case unknown:
				return 0, false
			case no:
				return p.leaveBare()
			}
			continue
		}
		for b.pos < len(in) && blank(in[b.pos]) {
			b.pos++
		}
		if b.pos >= len(in) {
			if !final {
				return 0, false
			}
			if len(b.calls) == 0 {
				return p.leaveBare()
			}
			p.emitBare(nil)
			return len(in), true
		}
		n, a := p.bareToken(in, final)
		switch a {
		case unknown:
			return 0, false
		case no:
			return p.leaveBare()
		}
		if p.mode != inBare {
			return n, true
		}
	}
}

// bareToken reads what stands between bare calls.
func (p *Parser) bareToken(in string, final bool) (int, answer) {
	b := p.bare
	rest := in[b.pos:]
	c := rest[0]
	switch {
	case c == '`':
		return 0, b.fence(rest, final)
	case len(b.calls) > 0 && (c == '[' || c == ']') && theLexer.first[c]: // [TOOL_CALLS]
		if _, a := theLexer.match(rest, final); a != no {
			return p.bareMarkup(rest, final)
		}
	}
	switch {
	case c == '{' || c == '[':
		b.inside, b.start, b.value = true, b.pos, brackets{}
		return 0, yes
	case c == ',' || c == ';' || len(b.calls) > 0 && (c == '}' || c == ']'):
		b.pos++
		return 0, decide(len(b.calls) > 0)
	case c == '<':
		return p.bareMarkup(rest, final)
	case letter(c) && b.fenced:
		open := strings.IndexByte(rest, '(')
		if open < 0 || open > 2*maxKey {
			return 0, undecided(final || len(rest) > 2*maxKey)
		}
		b.inside, b.start, b.lead, b.value = true, b.pos, open, brackets{}
		return 0, yes
	case letter(c):
		if len(b.calls) > 0 {
			if a := p.nextNameStarts(rest, final); a != yes {
				return 0, a
			}
		}
		b.named = &call{tools: p.tools, d: &bareDialect}
		b.start = b.pos
		return 0, yes
	}
	return 0, no
}

// nextNameStarts decides whether another call by name follows one.
func (p *Parser) nextNameStarts(rest string, final bool) answer {
	if p.tools.open() {
		return no
	}
	return p.nameStarts(rest, final)
}

// fence passes over the fence around the calls.
func (b *bare) fence(rest string, final bool) answer {
	if !b.fenced && len(b.calls) == 0 {
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			return no
		}
		b.fenced = true
		b.pos += end + 1
		return yes
	}
	switch hit, partial := startsWithAny(rest, []string{"```"}); {
	case hit && b.fenced:
		b.fenced = false
		b.pos += 3
		return yes
	case partial && !final:
		return unknown
	}
	return no
}

// bareMarkup decides at markup beside bare calls: behind them it proves that they
// were marked once; in a fence a marked call begins.
func (p *Parser) bareMarkup(rest string, final bool) (int, answer) {
	b := p.bare
	if len(b.calls) == 0 {
		if !b.fenced {
			return 0, no
		}
		p.bare, p.mode = nil, inText
		p.place.fresh()
		p.after = after{}
		p.enterAfter(nil, false)
		p.after.fenced, p.fencedCall = true, true
		return b.pos, yes
	}
	m, a := theLexer.match(rest, final)
	if a != yes {
		return 0, onlyUnknown(a)
	}
	switch m.role {
	case closes:
		n := b.pos + len(m.text)
		p.emitBare(m.dialect)
		return n, yes
	case edge, dropped:
		b.pos += len(m.text)
		return 0, yes
	case opens, wraps: // the next call has its marker
		n := b.pos
		p.emitBare(nil)
		return n, yes
	}
	return 0, no
}

// read moves through one value. It is yes when the value is a call of known tools.
func (b *bare) read(p *Parser, in string, final bool) answer {
	if b.named != nil {
		n, v := b.named.readAny(in[b.start:], final)
		switch {
		case v == more:
			return undecided(final)
		case v != done:
			return no
		}
		raws := b.named.raws
		b.named, b.pos = nil, b.start+n
		return decide(b.accept(p, raws))
	}
	end, v := b.value.scan(in[b.start+b.lead:], final)
	end += b.lead
	if v == more {
		if !final || b.value.quote != 0 && len(b.value.stack) == 0 {
			return undecided(final)
		}
		end = len(in) - b.start
	}
	body := in[b.start : b.start+end]
	b.inside, b.lead, b.pos = false, 0, b.start+end
	return decide(b.accept(p, p.bareCalls(body)))
}

// bareCalls reads the calls in one value, none if it is anything else.
func (p *Parser) bareCalls(body string) []rawCall {
	if body[0] == '[' {
		inner := strings.TrimLeft(body[1:], " \t\r\n")
		if n := imitated(inner); n >= 0 {
			return imitation(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner[n:]), "]")))
		}
		if pythonList(body) {
			calls, ok := pythonCalls(body)
			if !ok {
				return nil
			}
			return calls
		}
	}
	if letter(body[0]) {
		calls, _ := pythonCalls(body)
		return calls
	}
	v, _, _ := parseLiteral(body)
	calls, ok := jsonCalls(v, 0)
	if !ok && v.kind == object && len(v.keys) == 1 && p.tools.listed(v.keys[0]) && v.items[0].kind == object {
		return []rawCall{{name: v.keys[0], args: v.items[0]}}
	}
	if !ok {
		return p.bareArguments(v)
	}
	for _, c := range calls {
		if !c.shape || c.noArguments && p.tools.open() {
			return nil
		}
	}
	return calls
}

// bareArguments reads an object that satisfies the schema of exactly one tool,
// where the model had to call one.
func (p *Parser) bareArguments(v value) []rawCall {
	if !p.o.Required || v.kind != object {
		return nil
	}
	if name := p.tools.onlyFit(v); name != "" {
		return []rawCall{{name: name, args: v}}
	}
	return nil
}

// accept takes calls in if all of them are of known tools.
func (b *bare) accept(p *Parser, raws []rawCall) bool {
	if len(raws) == 1 && raws[0].name == "print" && len(b.calls) > 0 && !p.tools.listed("print") {
		return true // print(result)
	}
	for _, raw := range raws {
		if !p.tools.known(raw.name) {
			return false
		}
	}
	calls := p.finished(raws)
	b.calls = append(b.calls, calls...)
	return len(calls) > 0 && len(calls) == len(raws)
}

// emitBare ends the held answer as calls.
func (p *Parser) emitBare(d *dialect) {
	calls := p.bare.calls
	p.bare = nil
	for _, c := range calls {
		p.emitCall(c)
	}
	p.enterAfter(d, false)
	p.after.remember("", calls)
}

// leaveBare reads what was held as text.
func (p *Parser) leaveBare() (int, bool) {
	p.bare, p.mode = nil, inText
	p.bareTries++
	p.skipBare = true
	return 0, true
}
