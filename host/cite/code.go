package cite

import "strings"

// place follows where in streamed Markdown a character stands, as far as citations need
// it: in code or in a formula, whose brackets are its own.
//
// A run of backticks opens code, a run of the same length closes it. A fence of three or
// more backticks or tildes at the start of a line is closed only by one as long. A line
// indented by four blanks behind a blank one is code, unless it goes on with a list.
// Formulas stand in $…$, $$…$$, \(…\) and \[…\]. Inline code and formulas that their
// paragraph does not close were none. Source: CommonMark 0.31, "Code spans", "Fenced code
// blocks" and "Indented code blocks".
type place struct {
	// fence is the character of the open fence and its length, open the length of the run
	// that opened inline code; 0 outside.
	fence    byte
	fenceLen int
	open     int
	// formula is what closes the open formula, "" outside.
	formula string
	// run is the length of the run of one character that is being read, of its kind.
	run        int
	kind       byte
	runAtStart bool
	// before is the character before, 0 at the start.
	before byte
	// midLine tells that the line has more than blanks so far, indent how many there
	// were; blankLine that the line before had no more.
	midLine   bool
	indent    int
	blankLine bool
	// list tells that the lines belong to a list, indented that this one is code.
	list, indented bool
}

func newPlace() place { return place{blankLine: true} }

// doubt is what a place says of a bracket that stands there.
type doubt uint8

const (
	plain doubt = iota
	own         // of code or a formula
	undecided
)

// maxAhead is how far, in bytes, is looked for the end of inline code or of a formula.
const maxAhead = 1000

// at decides on the bracket that ahead begins with. all tells that nothing follows ahead.
// Where an opener turns out to be none, it is forgotten.
func (p *place) at(ahead string, all bool) doubt {
	p.endRun()
	if !p.midLine {
		p.startLine(ahead[0])
	}
	if p.fence != 0 || p.indented {
		return own
	}
	if p.open == 0 && p.formula == "" {
		return plain
	}
	if len(ahead) >= maxAhead {
		ahead, all = ahead[:maxAhead], true
	}
	end := len(ahead)
	if n := blankLineIn(ahead); n >= 0 {
		end, all = n, true
	}
	if p.formula == "$" {
		if n := strings.IndexByte(ahead[:end], '\n'); n >= 0 {
			end, all = n, true
		}
	}
	if p.closes(ahead[:end], all) {
		return own
	}
	if !all {
		return undecided
	}
	p.open, p.formula = 0, ""
	return plain
}

// closes tells whether ahead has the end of what is open, whatever follows; all tells that
// nothing does.
func (p *place) closes(ahead string, all bool) bool {
	if p.open > 0 {
		for i := 0; i < len(ahead); i++ {
			n := 0
			for i < len(ahead) && ahead[i] == '`' {
				n++
				i++
			}
			if n == p.open && (i < len(ahead) || all) {
				return true
			}
		}
		return false
	}
	for i := range ahead {
		if !strings.HasPrefix(ahead[i:], p.formula) {
			continue
		}
		if p.formula != "$" || closesDollar(ahead, i) && (i+1 < len(ahead) || all) {
			return true
		}
	}
	return false
}

// closesDollar tells whether the dollar at i ends a formula: amounts of money do not.
func closesDollar(text string, i int) bool {
	if i == 0 || text[i-1] == ' ' || text[i-1] == '\\' || text[i-1] == '\n' {
		return false
	}
	return i+1 >= len(text) || text[i+1] < '0' || text[i+1] > '9'
}

// blankLineIn is where a blank line begins in text, -1 for none.
func blankLineIn(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' {
			continue
		}
		for j := i + 1; j < len(text); j++ {
			if text[j] == '\n' {
				return i
			}
			if text[j] != ' ' && text[j] != '\t' && text[j] != '\r' {
				break
			}
		}
	}
	return -1
}

// feed moves on over text.
func (p *place) feed(text string) {
	for i := range len(text) {
		p.next(text[i])
	}
}

func (p *place) next(b byte) {
	if (b == '`' || b == '~' || b == '$') && (p.run == 0 || p.kind == b) && p.before != '\\' {
		if p.run == 0 {
			p.kind, p.runAtStart = b, !p.midLine && p.indent < 4
			p.startLine(b)
		}
		p.run++
		p.midLine = true
		return
	}
	p.endRun()
	switch b {
	case '\n':
		p.newline()
	case ' ', '\t', '\r':
		if !p.midLine {
			p.indent += map[byte]int{' ': 1, '\t': 4}[b]
		}
	default:
		p.startLine(b)
		p.escape(b)
		p.midLine = true
	}
	if p.before == '\\' && b == '\\' {
		p.before = 0
		return
	}
	p.before = b
}

// startLine decides at the first character of a line what the line is.
func (p *place) startLine(b byte) {
	if p.midLine {
		return
	}
	item := b == '-' || b == '*' || b == '+' || b >= '0' && b <= '9'
	switch {
	case p.fence != 0:
	case p.indent >= 4 && p.blankLine && !p.list:
		p.indented = true
	case p.indent >= 4 && p.indented:
	default:
		p.indented = false
		if p.list = item || p.list && (p.indent >= 2 || !p.blankLine); item {
			p.list = true
		}
	}
}

// escape follows \( \[ \) and \].
func (p *place) escape(b byte) {
	if p.before != '\\' || p.fence != 0 || p.open > 0 || p.indented {
		return
	}
	switch {
	case p.formula == `\`+string(b):
		p.formula = ""
	case p.formula == "" && b == '(':
		p.formula = `\)`
	case p.formula == "" && b == '[':
		p.formula = `\]`
	}
}

func (p *place) newline() {
	blank := !p.midLine
	if blank && p.fence == 0 { // the paragraph ends
		p.open, p.formula = 0, ""
	}
	if p.formula == "$" {
		p.formula = ""
	}
	p.blankLine, p.midLine, p.indent = blank, false, 0
}

// endRun takes a run of backticks, tildes or dollars that is over.
func (p *place) endRun() {
	run, kind, before := p.run, p.kind, p.before
	if p.run = 0; run == 0 {
		return
	}
	p.before = kind
	if p.indented {
		return
	}
	switch {
	case p.fence != 0:
		if kind == p.fence && p.runAtStart && run >= p.fenceLen {
			p.fence = 0
		}
	case kind == '$':
		p.dollars(run, before)
	case run >= 3 && p.runAtStart && p.open == 0:
		p.fence, p.fenceLen, p.formula = kind, run, ""
	case kind != '`' || p.formula != "":
	case p.open == 0:
		p.open = run
	case p.open == run:
		p.open = 0
	}
}

// dollars opens or closes a formula. before is what stands before them.
func (p *place) dollars(run int, before byte) {
	if p.open > 0 || run > 2 || p.formula == "$" && (before == ' ' || before == '\t') {
		return
	}
	mark := "$$"[:run]
	switch p.formula {
	case mark:
		p.formula = ""
	case "":
		p.formula = mark
	}
}
