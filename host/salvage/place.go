package salvage

import "strings"

// place knows where in the text the parser is: at the start of a line, in code, in
// the first line.
type place struct {
	// lineStart says that nothing but blanks stand before on this line.
	lineStart bool
	// lines counts the lines with text that are complete, length is that of the
	// first one so far.
	lines, length int
	// fence is the length of the fence that opened the block of code that this is
	// in, code that of the backticks around a code span on this line.
	fence, code int
	// tilde says that the fence is of tildes.
	tilde bool
	// quote is the quotation mark that a marker stands behind: markers are text up
	// to the closing one.
	quote byte
	// last is the byte before.
	last byte
	// text says that there was text since the start.
	text bool
	// boundary says that a call or reasoning ended here.
	boundary bool
}

// maxLead bounds the line that may stand before a bare call.
const maxLead = 240

func (p *place) newline() {
	if !p.lineStart {
		p.lines++
	}
	p.lineStart, p.code, p.quote, p.last = true, 0, 0, '\n'
}

// seen takes note of text that is passed over as it is.
func (p *place) seen(s string) {
	if s == "" {
		return
	}
	p.lineStart, p.boundary = false, false
	p.text = p.text || trimmedRight(s) > 0
	p.last = s[len(s)-1]
	if p.quote != 0 && strings.IndexByte(s, p.quote) >= 0 {
		p.quote = 0
	}
	if p.lines == 0 {
		p.length += len(s)
	}
}

// fresh is the place at the start of an answer.
func (p *place) fresh() {
	*p = place{lineStart: true, boundary: true}
}

// quoted tells whether markers here are quoted, so that they are text.
func (p *place) quoted() bool { return p.fence > 0 || p.code > 0 }

// ticks moves over a run of backticks: the edge of a block or a span of code.
func (p *place) ticks(in string, lineStart, final bool) (int, answer) {
	n, tilde := 0, in[0] == '~'
	for n < len(in) && in[n] == in[0] {
		n++
	}
	if n == len(in) && !final && n < 64 {
		return 0, unknown
	}
	switch {
	case p.fence > 0:
		if lineStart && n >= p.fence && tilde == p.tilde {
			p.fence = 0
		}
	case lineStart && n >= 3:
		p.fence, p.tilde = n, tilde
	case tilde:
	case p.code == 0:
		p.code = n
	case p.code == n:
		p.code = 0
	}
	p.seen(in[:n])
	return n, yes
}

// inQuotes tells whether a marker here stands directly behind a quotation mark, or
// behind another such marker before the closing mark.
func (p *place) inQuotes() bool {
	return p.quote != 0 || !p.lineStart && !p.boundary && (p.last == '"' || p.last == '\'')
}

// single holds each byte as a string of its own.
var single = func() string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return string(all)
}()

// pass takes note of a byte that begins no markup, or markup that is quoted.
func (p *place) pass(c byte, quoted bool) {
	quote := p.quote
	if quoted && quote == 0 {
		quote = p.last
	}
	p.seen(single[c : int(c)+1])
	p.quote = quote
}

// inSentence tells whether a marker here stands like a word among words.
func (p *place) inSentence() bool {
	return !p.lineStart && !p.boundary && (p.last == ' ' || p.last == '(' || p.last == '/')
}
