// Package salvage is the fallback parser: it finds tool calls and reasoning
// that a model wrote into its answer as text, in whatever dialect, and keeps their
// markup off the screen while it streams.
//
// Pieces of text come in, events go out: text to show, reasoning, complete calls,
// and what was meant as a call and is none. Any split of the input gives the same
// events after joining. Text is held back only while it may still turn into
// markup, or into an answer that is one bare call. The package knows nothing of
// packets, tools' implementations or providers.
//
// The lexer (markers.go) knows every marker of the catalogue (dialects.go). What
// stands behind an opener is recognised by how it begins (header.go), its end is
// found while it streams (brackets.go, elements.go, gemma.go, call.go), and it is
// read once it is whole (literal.go, python.go, elements.go). The schema of the
// tool then gives the arguments their types (coerce.go).
package salvage

import (
	"strings"
	"unicode/utf8"
)

// MaxCallBytes bounds one open call. What grows beyond it is text.
const MaxCallBytes = 4 << 20

// Options says what is known of the answer in advance.
type Options struct {
	// Tools are the tools that the model was told of. Entries without a name do
	// not count; without any, every name counts as known.
	Tools []Tool
	// ReasoningOpen says that the prompt already opened the reasoning, so that the
	// answer starts inside it.
	ReasoningOpen bool
	// Required says that the model had to call a tool: bare arguments that fit
	// exactly one tool then count as a call.
	Required bool
	// None says that the model was to call nothing: marked calls are taken out of
	// the text and reported all the same, as are unmarked ones of Tools, which then are
	// those that it may not call now.
	None bool
}

type mode uint8

const (
	inText mode = iota
	inCall
	afterCall
	inBare
	inThink
)

// Parser reads one streamed answer. Make one with New; it is not safe for
// concurrent use.
type Parser struct {
	o     Options
	tools *toolset
	mode  mode

	// held is input that is not decided on, from off on.
	held strings.Builder
	off  int

	release
	place place
	call  *call
	after after
	think thinking

	// drafting says that this parser reads reasoning.
	drafting bool
	// fencedCall says that the answer began with a code fence around marked calls.
	fencedCall bool
	// lastID is the id of the last CallStart.
	lastID int

	bare *bare
	// bareTries counts answers that were held in vain; skipBare says that what
	// comes next was held already.
	bareTries int
	skipBare  bool
}

// New returns a parser of one answer.
func New(o Options) *Parser {
	p := &Parser{o: o, tools: newToolset(o.Tools)}
	p.place.lineStart = true
	if o.ReasoningOpen {
		p.mode = inThink
		p.think = thinking{closers: anyThinkEnd, opening: true, drafts: p.newDrafts()}
	}
	return p
}

// Write takes the next piece and returns what is certain after it. The slice and
// the events in it are valid until the next call.
func (p *Parser) Write(chunk string) []Event {
	p.begin()
	if p.held.Len() == p.off { // nothing is held: read the piece where it is
		p.held.Reset()
		p.off = 0
		if n := p.run(chunk, false); n < len(chunk) {
			p.held.WriteString(chunk[n:])
		}
		return p.out
	}
	p.held.WriteString(chunk)
	p.advance(false)
	return p.out
}

// Close ends the answer and returns what was held.
func (p *Parser) Close() []Event {
	p.begin()
	p.advance(true)
	p.finish()
	p.endRun()
	return p.out
}

// advance reads what is held.
func (p *Parser) advance(final bool) {
	in := p.held.String()
	p.off += p.run(in[p.off:], final)
	if p.off > len(in)/2 {
		rest := in[p.off:]
		p.held.Reset()
		p.held.WriteString(rest)
		p.off = 0
	}
}

// run takes steps until nothing more can be decided and returns how much of in
// was consumed.
func (p *Parser) run(in string, final bool) int {
	done := 0
	for {
		n, again := p.step(in[done:], final)
		done += n
		if !again {
			return done
		}
	}
}

// step reads in the current mode. It returns how much it consumed and whether
// another step can do more.
func (p *Parser) step(in string, final bool) (int, bool) {
	switch p.mode {
	case inCall:
		return p.stepCall(in, final)
	case afterCall:
		return p.stepAfter(in, final)
	case inBare:
		return p.stepBare(in, final)
	case inThink:
		return p.stepThink(in, final)
	}
	return p.stepText(in, final)
}

// finish settles what the end of the answer leaves open.
func (p *Parser) finish() {
	switch p.mode {
	case inThink:
		p.takeDrafts()
	case inText:
		p.flushSpace()
	}
}

// stepCall reads an open call.
func (p *Parser) stepCall(in string, final bool) (int, bool) {
	c := p.call
	whole := in
	if len(in) > MaxCallBytes { // any split sees the same of it
		in, final = in[:runeStart(in, MaxCallBytes+1)], false
	}
	n, v := c.read(in, final)
	if v == more {
		if final { // a reader that waits at the end has nothing to give
			c.dropTold()
			p.malformed(c.opener + in)
			p.call, p.mode = nil, afterCall
			return len(in), true
		}
		if len(whole) > MaxCallBytes {
			p.notice(NoticeTooLong)
			p.reject("")
			p.place.seen(in)
			p.say(in)
			return len(in), true
		}
		return 0, false
	}
	switch v {
	case reject:
		p.reject(in)
		return n, true
	case decoration:
		p.enterAfter(c.d, false)
	case strip:
		p.call = nil
		p.toText()
	case think:
		p.startThinking(c.closers)
	default:
		p.settle(in[:n])
	}
	return n, true
}

// runeStart returns the last place up to n where a character begins.
func runeStart(in string, n int) int {
	for n = min(n, len(in)); n > 0 && n < len(in) && !utf8.RuneStart(in[n]); n-- {
	}
	return n
}

// reject puts an opener that was none back into the text.
func (p *Parser) reject(in string) {
	c := p.call
	c.dropTold()
	p.call, p.mode = nil, inText
	if c.again || c.stray(in) {
		return
	}
	if strings.HasPrefix(c.opener, "```") {
		p.place.fence = 3
	}
	p.place.seen(c.opener)
	p.say(c.opener)
}

// stray tells whether the opener was one too many: alone on its line, with prose
// behind it.
func (c *call) stray(in string) bool {
	return c.alone && c.d.prose && strings.HasPrefix(in, "\n")
}

// settle emits the calls of a body that was read whole.
func (p *Parser) settle(body string) {
	c := p.call
	p.call = nil
	if c.again && p.after.echoes(body) {
		p.enterAfter(c.d, true)
		return
	}
	calls := c.finished()
	if len(calls) == 0 {
		if c.again || c.d.lineStart {
			p.mode = inText
			p.say(c.opener + body)
			return
		}
		p.malformed(c.opener + body)
	}
	if len(calls) == 1 && !c.again {
		p.emitBlock(calls[0])
	} else {
		for _, call := range calls {
			p.emitCall(call)
		}
	}
	repeatable := c.d.body == anyBody || c.d.body == pythonTagBody
	p.enterAfter(c.d, repeatable && !endsWithAny(body, c.d.close))
	p.after.fenced = c.fenced || p.fencedCall
	p.after.remember(body, calls)
}

// finished types the arguments of calls. A call that cannot be read spoils none of
// the others.
func (p *Parser) finished(raws []rawCall) []Call {
	var calls []Call
	for _, raw := range raws {
		if call, ok := p.tools.finish(raw); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

func endsWithAny(s string, ends []string) bool {
	for _, e := range ends {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}
