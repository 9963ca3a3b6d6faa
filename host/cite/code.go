package cite

// codeState follows whether a place in streamed Markdown is inside code, as far
// as citations need it: a run of backticks opens code, a run of the same length
// closes it, and a fence of three or more at the start of a line is closed only
// by one as long at the start of a line. Inline code ends with its paragraph.
// Source: CommonMark 0.31, "Code spans" and "Fenced code blocks".
type codeState struct {
	// open is the length of the run that opened the code, 0 outside.
	open   int
	fenced bool
	// run is the length of the run of backticks being read, runAtStart whether it
	// began a line.
	run        int
	runAtStart bool
	// midLine tells that the line has more than blanks so far.
	midLine bool
}

// inside tells whether the next character is code. A run that is not over yet
// counts by its length so far.
func (c *codeState) inside() bool {
	next := *c
	next.endRun()
	return next.open > 0
}

// feed moves on over text.
func (c *codeState) feed(text string) {
	for i := range len(text) {
		c.next(text[i])
	}
}

func (c *codeState) next(b byte) {
	if b == '`' {
		if c.run == 0 {
			c.runAtStart = !c.midLine
		}
		c.run++
		c.midLine = true
		return
	}
	c.endRun()
	switch b {
	case '\n':
		if !c.midLine && !c.fenced { // a blank line ends the paragraph
			c.open = 0
		}
		c.midLine = false
	case ' ', '\t', '\r':
	default:
		c.midLine = true
	}
}

func (c *codeState) endRun() {
	run := c.run
	c.run = 0
	switch {
	case run == 0:
	case c.open == 0:
		c.open, c.fenced = run, run >= 3 && c.runAtStart
	case c.fenced && c.runAtStart && run >= c.open, !c.fenced && run == c.open:
		c.open, c.fenced = 0, false
	}
}
