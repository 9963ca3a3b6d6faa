package salvage

import "strings"

// after is what is known behind a call or a wrapper.
type after struct {
	d *dialect
	// open says that the block was not closed, so that more calls may follow.
	open bool
	// fenced says that a code fence around the call is still to be closed.
	fenced bool
	// body and arguments are those of the call before, which models echo.
	body, arguments string
	// scanned is how much whitespace was looked at.
	scanned int
}

// maxEcho bounds the body that is kept to recognise its echo.
const maxEcho = 4096

func (p *Parser) enterAfter(d *dialect, open bool) {
	p.call = nil
	p.mode = afterCall
	p.after = after{d: d, open: open}
}

func (a *after) remember(body string, calls []Call) {
	if body = strings.TrimSpace(body); len(body) <= maxEcho {
		a.body = strings.Clone(body)
	}
	if len(calls) > 0 {
		if s := calls[len(calls)-1].Arguments; len(s) <= maxEcho {
			a.arguments = s
		}
	}
}

// echoes tells whether body repeats the arguments of the call before.
func (a *after) echoes(body string) bool {
	v, ok := wholeLiteral(body)
	return ok && a.arguments != "" && v.compact() == a.arguments
}

// stepAfter reads what stands behind a call: closing markup is dropped, another
// call of the same block is read, anything else is text.
func (p *Parser) stepAfter(in string, final bool) (int, bool) {
	i := p.after.scanned
	for i < len(in) && blank(in[i]) && i <= maxSpace {
		i++
	}
	p.after.scanned = i
	switch {
	case i > maxSpace:
		return p.leaveAfter(in, i)
	case i >= len(in) && !final:
		return 0, false
	case i >= len(in):
		p.dropSpace()
		return i, false
	}
	rest := in[i:]
	if m, a := theLexer.match(rest, final); a == yes && (m.role == opens || m.role == reasons) {
		return p.leaveAfter(in, i)
	}
	if n, a := p.closing(rest, final); a == unknown {
		return 0, false
	} else if a == yes {
		p.after.scanned = 0
		return i + n, true
	}
	if n, a := p.echo(rest, final); a == unknown {
		return 0, false
	} else if a == yes {
		p.after.body, p.after.scanned = "", 0
		return i + n, true
	}
	if p.after.open {
		n, a := p.another(rest, final)
		if a == unknown {
			return 0, false
		}
		if a == yes {
			p.after.scanned = 0
			return i + n, true
		}
	}
	return p.leaveAfter(in, i)
}

// leaveAfter goes on with text, or with markup that is not closing. Of the
// whitespace around calls in the midst of text only one side is kept.
func (p *Parser) leaveAfter(in string, i int) (int, bool) {
	h, a := p.markup(in[i:], false)
	markup := a == unknown || a == yes && h.marker != nil && h.marker.role != reasons || a == yes && h.marker == nil
	p.mode = inText
	newline := strings.IndexByte(in[:i], '\n') >= 0 || !p.shown()
	p.place.lineStart = newline
	p.place.boundary, p.place.code, p.place.fence = true, 0, 0
	p.place.lines = max(p.place.lines, 2)
	switch {
	case markup || !p.shown():
	case len(p.space) == 0 && (!p.blank || strings.IndexByte(in[:i], '\n') >= 0):
		p.say(in[:i])
	}
	if !p.shown() {
		p.dropSpace()
	}
	return i, true
}

// closing passes over one piece of closing markup.
func (p *Parser) closing(in string, final bool) (int, answer) {
	if p.after.fenced {
		switch hit, partial := startsWithAny(in, []string{"```"}); {
		case hit:
			p.after.fenced, p.fencedCall = false, false
			return 3, yes
		case partial && !final:
			return 0, unknown
		}
	}
	if n, a := p.strayFence(in, final); a != no {
		return n, a
	}
	m, a := theLexer.match(in, final)
	if a == unknown {
		return 0, unknown
	}
	if a == yes {
		switch m.role {
		case closes, dropped, edge, wraps, unframes:
			if d := p.after.d; d == nil || m.dialect == d || endsWithAny(m.text, d.close) {
				p.after.open = false
			}
			return len(m.text), yes
		}
		return 0, no
	}
	switch c := in[0]; {
	case c == '<':
		t, a := tagAt(in, 0, final)
		if a == yes && t.closing {
			p.after.open = false
			return t.end, yes
		}
		if tag := argumentsTag(in); a == no && tag != "" && strings.HasPrefix(in, tag) && in[1] == '/' {
			return len(tag), yes
		}
		return 0, onlyUnknown(a)
	case (c == '}' || c == ']') && p.after.d != nil:
		return 1, yes
	}
	return 0, no
}

// strayFence passes over the end of a code fence that was never opened, where the
// closing token of the call follows.
func (p *Parser) strayFence(in string, final bool) (int, answer) {
	const fence = "```"
	d := p.after.d
	if p.after.fenced || d == nil || len(d.close) == 0 || in[0] != '`' {
		return 0, no
	}
	if !strings.HasPrefix(in, fence) {
		return 0, decideUnknown(!final && strings.HasPrefix(fence, in))
	}
	j, a := nextToken(in, len(fence), final)
	if a != no {
		return 0, onlyUnknown(a)
	}
	hit, partial := startsWithAny(in[j:], d.close)
	if hit {
		return len(fence), yes
	}
	return 0, decideUnknown(partial && !final)
}

func decideUnknown(b bool) answer {
	if b {
		return unknown
	}
	return no
}

func onlyUnknown(a answer) answer {
	if a == unknown {
		return unknown
	}
	return no
}

// echo passes over a repetition of the body of the call before.
func (p *Parser) echo(in string, final bool) (int, answer) {
	body := p.after.body
	if len(body) < 2 || body[0] != '[' && body[0] != '{' {
		return 0, no
	}
	switch {
	case strings.HasPrefix(in, body):
		return len(body), yes
	case !final && strings.HasPrefix(body, in):
		return 0, unknown
	}
	return 0, no
}

// another begins the next call of a block: another value, or behind a comma or
// semicolon.
func (p *Parser) another(in string, final bool) (int, answer) {
	i := 0
	if in[0] == ';' || in[0] == ',' {
		j, a := nextToken(in, 1, final)
		if a != no {
			return 0, onlyUnknown(a)
		}
		i = j
	}
	c := in[i]
	named := len(p.after.d.close) > 0 && p.after.d.body == anyBody && letter(c)
	if c != '{' && c != '[' && !named {
		return 0, no
	}
	echo := p.after
	p.open(p.after.d, in[:0])
	p.call.again, p.call.pythonOnly, p.after = true, named && c != '{' && c != '[', echo
	return i, yes
}
