package salvage

// call is an opener that was read and what is known of what follows it.
type call struct {
	tools *toolset
	d     *dialect
	// opener is the marker as it stood, for when it turns out to be text.
	opener string
	// again says that an earlier value of the same block was a call: what cannot
	// be read now is text, not a malformed call.
	again bool
	// alone says that nothing stood before the opener on its line.
	alone bool
	// sentence says that it stood like a word among words.
	sentence bool
	// pythonOnly says that only name( … ) counts as another call.
	pythonOnly bool
	// eager makes closers count inside strings too.
	eager bool

	// head is set once the shape of the body is known.
	head  *head
	value brackets
	tags  elements
	find  finder

	// raws are the calls that were read.
	raws []rawCall
	// open says that the input ended before the closing tag or bracket.
	open bool
	// fenced says that a code fence was opened on the way.
	fenced bool
	// closers end the reasoning that follows, where the verdict is think.
	closers []string
	// live tells of the call before it is whole, nil where it is not to be told of.
	live *live
}

// read moves through what follows the opener. It is called with growing input,
// always from the same start.
func (c *call) read(in string, final bool) (int, verdict) {
	switch c.d.body {
	case functionBody:
		return c.readFunction(in, final)
	case m3Body:
		return c.readM3(in, final)
	case mcpBody:
		return c.readMCP(in, final)
	case openBody:
		return c.readOpen(in, final)
	case harmonyBody:
		return c.readHarmony(in, final)
	case recipientBody:
		return c.readRecipient(in, final)
	case gigachatBody:
		return c.readGigachat(in, final)
	case solarBody:
		return c.readSolar(in, final)
	case plamoBody:
		return c.readPlamo(in, final)
	case skipBody:
		if _, after, ok := c.until(in, c.d.close, final); ok {
			return after, strip
		}
		return 0, more
	case pythonTagBody:
		return c.readPythonTag(in, final)
	case toolFenceBody:
		return c.readToolFence(in, final)
	case toolCodeBody:
		return c.readToolCode(in, final)
	case messageBody:
		return c.readMessage(in, final)
	case contentBody:
		return c.readContent(in, final)
	}
	return c.readAny(in, final)
}

// finder looks for the first of some markers in growing input.
type finder struct {
	pos int
	g   *gemmaScan
}

// scan returns the place of the first marker and the place behind it.
func (f *finder) scan(in string, markers []string, final bool) (at, after int, v verdict) {
	for i := f.pos; i < len(in); i++ {
		if in[i] != '<' && in[i] != ']' && in[i] != '[' && in[i] != '>' && in[i] != '`' {
			continue
		}
		for _, m := range markers {
			if len(m) <= len(in)-i && in[i:i+len(m)] == m {
				return i, i + len(m), done
			}
			if !final && len(in)-i < len(m) && in[i:] == m[:len(in)-i] {
				f.pos = i
				return 0, 0, more
			}
		}
	}
	f.pos = len(in)
	return 0, 0, more
}
