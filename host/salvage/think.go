package salvage

import "strings"

// thinking is what is known of reasoning.
type thinking struct {
	// closers end the reasoning that is open.
	closers []string
	// opening says that the reasoning has only just begun, where a model may repeat
	// its opener.
	opening bool
	// drafts reads the calls in open reasoning. They count only if it never ends.
	drafts *Parser
	calls  []Call
	// framed is the frame that stands around the answer.
	framed string
	// quotedOpeners counts openers that were text, whose closers are text too.
	quotedOpeners int
}

// mention counts markers of reasoning that are words in a sentence, so that the
// closer of a pair is one too.
func (t *thinking) mention(h hit) {
	if h.marker == nil || h.quoted {
		return
	}
	switch h.marker.role {
	case reasons:
		t.quotedOpeners++
	case ends:
		t.quotedOpeners = max(0, t.quotedOpeners-1)
	}
}

// anyThinkEnd are the closers of reasoning that the prompt opened.
var anyThinkEnd = func() []string {
	var all []string
	for _, r := range reasoners {
		for _, c := range r.close {
			if c != "<|end_message|>" {
				all = append(all, c)
			}
		}
	}
	return append(append(all, "<|close|>"), harmonyEnds...)
}()

// kimiSections end any reasoning: Kimi calls without closing it.
var kimiSections = []string{"<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"}

// strippedClosers end the reasoning of a harmony answer without tokens.
var strippedClosers = []string{"assistantfinal", "assistantcommentary"}

func (p *Parser) startThinking(closers []string) {
	p.call = nil
	p.mode = inThink
	if p.drafting { // reasoning in reasoning is all the same
		p.toText()
		return
	}
	p.think.closers, p.think.opening = closers, true
	p.think.drafts, p.think.calls = p.newDrafts(), nil
}

// newDrafts returns the parser that reads the calls in reasoning.
func (p *Parser) newDrafts() *Parser {
	d := &Parser{o: Options{Tools: p.o.Tools}, tools: p.tools, drafting: true}
	d.place.lineStart, d.place.lines = true, 2 // no bare calls in reasoning
	d.visible = true
	return d
}

// stepThink releases reasoning up to its closer.
func (p *Parser) stepThink(in string, final bool) (int, bool) {
	if p.think.opening {
		n, a := p.repeatedOpener(in, final)
		if a == unknown {
			return 0, false
		}
		p.think.opening = false
		if a == yes {
			return n, true
		}
	}
	for i := 0; i < len(in); i++ {
		if c := in[i]; c != '<' && c != '[' && (c != 'H' && c != 'a' || c != p.think.closers[0][0]) {
			continue
		}
		closer, a := p.closerAt(in[i:], final)
		switch a {
		case unknown:
			p.muse(in[:i])
			return i, false
		case yes:
			p.muse(in[:i])
			p.stopThinking()
			if closer == "<|start|>" || closer == "<|channel|>" || closer == kimiSections[0] ||
				closer == kimiSections[1] {
				return i, true // it begins what follows
			}
			if closer == "<|close|>" { // think<|sep|> follows
				p.open(&closeDialect, closer)
			}
			if closer == strippedClosers[1] {
				return i + len("assistant"), true // the channel begins what follows
			}
			return i + len(closer), true
		}
	}
	n := len(in)
	if !final {
		n = wholeRunes(in)
	}
	p.muse(in[:n])
	return n, false
}

func (p *Parser) closerAt(in string, final bool) (string, answer) {
	partial := false
	for _, closers := range [][]string{p.think.closers, kimiSections} {
		for _, c := range closers {
			switch {
			case strings.HasPrefix(in, c) && c == "<|close|>":
				if a := thinkCloses(in[len(c):], final); a != no {
					return c, a
				}
			case strings.HasPrefix(in, c):
				return c, yes
			}
			partial = partial || len(in) < len(c) && strings.HasPrefix(c, in)
		}
	}
	if partial && !final {
		return "", unknown
	}
	return "", no
}

// thinkCloses decides whether Kimi K3's <|close|> closes reasoning: other sections
// are closed by the same token.
func thinkCloses(in string, final bool) answer {
	w, a := afterWord(in, 0, final)
	switch {
	case a == no && final:
		return decide(k3Closes(in)) // cut off
	case a != yes:
		return a
	}
	return decide(w.is("think") || w.is("thinking") || w.is("analysis"))
}

// repeatedOpener passes over an opener at the start of reasoning that is open.
func (p *Parser) repeatedOpener(in string, final bool) (int, answer) {
	i, a := nextToken(in, 0, final)
	if a != no {
		return 0, onlyUnknown(a)
	}
	if in[i] != '<' && in[i] != '[' {
		return 0, no
	}
	m, a := theLexer.match(in[i:], final)
	if a == yes && m.role == reasons && sameClosers(m.closers, p.think.closers) {
		return i + len(m.text), yes
	}
	return 0, onlyUnknown(a)
}

func sameClosers(some, all []string) bool {
	for _, c := range all {
		if c == some[0] {
			return true
		}
	}
	return false
}

// muse releases reasoning and lets the drafts read it.
func (p *Parser) muse(s string) {
	if s == "" {
		return
	}
	p.reason(s)
	p.draft(p.think.drafts.Write(s))
}

func (p *Parser) draft(events []Event) {
	for _, e := range events {
		if c, ok := e.(Call); ok {
			p.think.calls = append(p.think.calls, c)
		}
	}
}

// takeDrafts emits the calls in reasoning that never ended.
func (p *Parser) takeDrafts() {
	if p.think.drafts == nil {
		return
	}
	p.draft(p.think.drafts.Close())
	for _, c := range p.think.calls {
		p.emitCall(c)
	}
}

func (p *Parser) stopThinking() {
	p.think.drafts, p.think.calls, p.think.closers = nil, nil, nil
	p.mode = inText
	if p.visible {
		p.place.lineStart, p.place.boundary, p.place.code, p.place.fence = true, true, 0, 0
		return
	}
	p.place.fresh()
}
