// Package salvage is the fallback parser: it finds tool calls and reasoning
// that a model wrote into its answer as text, and keeps their markup off the
// screen while it streams.
//
// Pieces of text come in, events go out: text to show, reasoning, complete
// calls. Any split of the input gives the same events after joining. Text is
// held back only while it may still turn into a marker. The package knows
// nothing of packets, tools' implementations or providers.
//
// This first form reads one dialect, the most common one: calls as JSON between
// <tool_call> and </tool_call>, reasoning between <think> and </think>.
package salvage

import (
	"encoding/json"
	"strings"
)

// MaxCallBytes bounds one open call. What grows beyond it is text.
const MaxCallBytes = 4 << 20

const (
	openCall   = "<tool_call>"
	closeCall  = "</tool_call>"
	openThink  = "<think>"
	closeThink = "</think>"
)

type state int

const (
	inText state = iota
	inThink
	inCall
)

// Parser reads one streamed answer. Make one with New; it is not safe for
// concurrent use.
type Parser struct {
	state state
	// held is input that may be the start of a marker, or the body of an open
	// call.
	held strings.Builder
	// scanned is how much of held, inside a call, is known to hold no closer.
	scanned int
	// seenText tells that something visible was released: a reasoning marker
	// opens a block only at the start of an answer, later it is text.
	seenText bool
	out      []Event
}

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
	// the text and reported all the same, unmarked ones are text.
	None bool
}

// New returns a parser of one answer.
func New(o Options) *Parser {
	p := &Parser{}
	if o.ReasoningOpen {
		p.state = inThink
	}
	return p
}

// Write takes the next piece and returns what is certain after it. The slice is
// valid until the next call.
func (p *Parser) Write(chunk string) []Event {
	p.out = p.out[:0]
	if p.held.Len() == 0 && p.state != inCall && strings.IndexByte(chunk, '<') < 0 {
		p.release(chunk)
		return p.out
	}
	p.held.WriteString(chunk)
	for p.advance() {
	}
	return p.out
}

// Close ends the answer and returns what was held. A call whose closer is
// missing counts if its JSON is whole.
func (p *Parser) Close() []Event {
	p.out = p.out[:0]
	rest := p.held.String()
	p.held.Reset()
	switch {
	case p.state == inCall:
		p.call(rest)
	case rest != "":
		p.release(rest)
	}
	return p.out
}

// advance consumes one stretch of held and tells whether more can be done.
func (p *Parser) advance() bool {
	if p.state == inCall {
		return p.advanceCall()
	}
	buf := p.held.String()
	markers := []string{openCall, openThink}
	if p.state == inThink {
		markers = []string{closeThink}
	}
	at := strings.IndexByte(buf, '<')
	for at >= 0 {
		for _, m := range markers {
			if strings.HasPrefix(buf[at:], m) {
				p.enter(m, buf[:at], buf[at+len(m):])
				return true
			}
			if strings.HasPrefix(m, buf[at:]) {
				p.keep(buf[:at], buf[at:])
				return false
			}
		}
		next := strings.IndexByte(buf[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	p.keep(buf, "")
	return false
}

func (p *Parser) advanceCall() bool {
	buf := p.held.String()
	from := max(0, p.scanned-len(closeCall)+1)
	end := strings.Index(buf[from:], closeCall)
	if end < 0 {
		p.scanned = len(buf)
		if len(buf) > MaxCallBytes {
			p.state, p.scanned = inText, 0
			p.keep(openCall+buf, "")
		}
		return false
	}
	end += from
	p.held.Reset()
	p.held.WriteString(buf[end+len(closeCall):])
	p.state, p.scanned = inText, 0
	p.call(buf[:end])
	return true
}

// enter crosses a marker: before is released, after stays to be read.
func (p *Parser) enter(marker, before, after string) {
	if marker == openThink && (p.seenText || strings.TrimSpace(before) != "") {
		p.keep(before+openThink, after)
		return
	}
	p.release(before)
	switch marker {
	case openCall:
		p.state, p.scanned = inCall, 0
	case openThink:
		p.state = inThink
	case closeThink:
		p.state = inText
	}
	p.held.Reset()
	p.held.WriteString(after)
}

// keep releases one part of held and keeps the other.
func (p *Parser) keep(release, hold string) {
	p.held.Reset()
	p.held.WriteString(hold)
	p.release(release)
}

func (p *Parser) release(text string) {
	if text == "" {
		return
	}
	if p.state == inThink {
		p.out = append(p.out, Reasoning{text})
		return
	}
	p.seenText = p.seenText || strings.TrimSpace(text) != ""
	p.out = append(p.out, Text{text})
}

// call reads the body of a call: one JSON object with a name and arguments.
func (p *Parser) call(body string) {
	var c struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil || c.Name == "" {
		p.out = append(p.out, Malformed{Raw: body})
		return
	}
	args := c.Arguments
	if len(args) == 0 {
		args = c.Parameters
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var encoded string
	if json.Unmarshal(args, &encoded) == nil { // arguments as a JSON string
		args = json.RawMessage(encoded)
	}
	p.out = append(p.out, Call{Name: c.Name, Arguments: string(args)})
}
