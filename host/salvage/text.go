package salvage

import (
	"strings"
	"unicode/utf8"
)

// stepText reads text. It releases what cannot be markup and stops before what may
// be.
func (p *Parser) stepText(in string, final bool) (int, bool) {
	if !final {
		// A character that is not whole yet is seen with its rest, and so once.
		in = in[:wholeRunes(in)]
	}
	i := 0
	for i < len(in) {
		c := in[i]
		if p.place.lineStart && c != '\n' {
			if c == ' ' || c == '\t' || c == '\r' {
				i++
				continue
			}
			n, a := p.lineBegins(in[i:], final)
			if a != no {
				p.say(in[:i])
				if a == yes {
					p.entered()
				}
				return i + n, a == yes
			}
			if c == '`' || c == '~' {
				n, a := p.place.ticks(in[i:], true, final)
				if a == unknown {
					p.say(in[:i])
					return i, false
				}
				i += n
				continue
			}
		}
		j := i
		for j < len(in) && !stop[in[j]] {
			j++
		}
		if j > i {
			p.place.seen(in[i:j])
			i = j
			continue
		}
		switch c {
		case '\n':
			p.place.newline()
			i++
			continue
		case '`':
			n, a := p.place.ticks(in[i:], false, final)
			if a == unknown {
				p.say(in[:i])
				return i, false
			}
			i += n
			continue
		}
		h, a := p.markup(in[i:], final)
		switch a {
		case no:
			p.place.pass(in[i], h.quoted)
			p.think.mention(h)
			i++
		case unknown:
			p.say(in[:i])
			return i, false
		case yes:
			p.say(in[:i])
			return i + h.length, p.cross(h)
		}
	}
	p.say(in)
	return len(in), false
}

// wholeRunes returns the length of in without an incomplete character at its end.
func wholeRunes(in string) int {
	for n := 1; n <= 3 && n <= len(in); n++ {
		if c := in[len(in)-n]; c >= utf8.RuneSelf {
			if utf8.RuneStart(c) {
				if !utf8.FullRuneInString(in[len(in)-n:]) {
					return len(in) - n
				}
				return len(in)
			}
			continue
		}
		break
	}
	return len(in)
}

// lineBegins decides at the first character of a line: markers that count only
// there, and bare calls. It is yes when the mode changed.
func (p *Parser) lineBegins(in string, final bool) (int, answer) {
	if p.place.quoted() {
		return 0, no
	}
	if p.skipBare {
		p.skipBare = false
	} else if p.bareMayBegin() {
		switch a := p.bareStarts(in, final); a {
		case unknown:
			return 0, unknown
		case yes:
			p.mode, p.bare = inBare, &bare{}
			return 0, yes
		}
	}
	c := in[0]
	if c >= 0x80 || !lineFirst[c] {
		return 0, no
	}
	if !p.shown() && c == 'a' && !p.drafting {
		if n, a := strippedAnalysis(in, final); a == yes {
			p.startThinking(strippedClosers)
			return n, yes
		} else if a == unknown {
			return 0, unknown
		}
	}
	partial := false
	for _, m := range lineMarkers {
		switch {
		case strings.HasPrefix(in, m.text) && (m.role == opens || !p.shown()):
			if m.role == reasons {
				p.startThinking(m.closers)
			} else {
				p.open(m.dialect, m.text)
			}
			return len(m.text), yes
		case !final && strings.HasPrefix(m.text, in):
			partial = true
		}
	}
	if partial {
		return 0, unknown
	}
	return 0, no
}

// strippedAnalysis decides whether a harmony answer begins whose tokens were
// stripped: "analysisWe need …assistantfinalThe answer".
func strippedAnalysis(in string, final bool) (int, answer) {
	const word = "analysis"
	switch {
	case len(in) <= len(word):
		if strings.HasPrefix(word, in) && !final {
			return 0, unknown
		}
		return 0, no
	case strings.HasPrefix(in, word) && in[len(word)] >= 'A' && in[len(word)] <= 'Z':
		return len(word), yes
	}
	return 0, no
}

// lineMarkers are the markers that count only at the start of a line.
var lineMarkers, lineFirst = func() (all []marker, first [256]bool) {
	for i := range dialects {
		if d := &dialects[i]; d.lineStart {
			for _, t := range d.open {
				all = append(all, marker{text: t, role: opens, dialect: d})
			}
		}
	}
	for _, r := range spokenReasoners {
		all = append(all, marker{text: r.open, role: reasons, closers: []string{r.close}})
	}
	for _, m := range all {
		first[m.text[0]] = true
	}
	return all, first
}()

// hit is markup that was found in text.
type hit struct {
	marker *marker
	tag    tag
	// text is the markup as it stands.
	text   string
	length int
	// quoted says that the markup stands behind a quotation mark.
	quoted bool
	// cut says that it is a tag without its end.
	cut bool
}

// markup decides whether markup stands at the start of in. It changes nothing.
func (p *Parser) markup(in string, final bool) (hit, answer) {
	if p.place.quoted() {
		return hit{}, no
	}
	m, a := theLexer.match(in, final)
	if a == unknown {
		return hit{}, unknown
	}
	if a == no {
		if in[0] != '<' {
			return hit{}, no
		}
		return p.tagMarkup(in, final)
	}
	h := hit{marker: m, text: m.text, length: len(m.text)}
	if p.place.inQuotes() {
		h.quoted = true
		return h, no
	}
	switch m.role {
	case dropped:
		if p.place.inSentence() && m.text != newlineToken {
			return h, p.atEdge(in, len(m.text), final)
		}
	case reasons:
		if p.drafting {
			return h, no
		}
		if p.shown() && p.place.inSentence() {
			return h, no
		}
	case ends:
		if p.drafting || p.think.quotedOpeners > 0 {
			return h, no
		}
	case frames:
		if p.shown() {
			return h, no
		}
	case unframes:
		if !p.place.boundary && p.think.framed == "" {
			return h, no
		}
	case closes:
		if !strings.ContainsAny(m.text, "|｜[_:") {
			return h, no
		}
		return h, p.orphan(in, len(m.text), final)
	case edge:
		return h, p.atEdge(in, len(m.text), final)
	}
	return h, yes
}

// tagMarkup decides at a '<' that begins no marker: the tag of a function, or a
// wrapper with a namespace or suffix.
func (p *Parser) tagMarkup(in string, final bool) (hit, answer) {
	t, a := tagAt(in, 0, final)
	if final && a != yes && cutTag(in) && strings.Contains(in, "=") {
		return hit{text: in, length: len(in), cut: true}, yes
	}
	if a != yes {
		return hit{}, a
	}
	if p.place.inQuotes() {
		return hit{quoted: true}, no
	}
	h := hit{tag: t, text: in[:t.end], length: t.end}
	if t.closing && !t.marked && t.kind != wrapperTag {
		return h, no
	}
	if t.closing {
		return h, p.orphan(in, t.end, final)
	}
	switch t.kind {
	case functionTag:
		name, ok := t.functionName()
		if p.place.boundary { // in a wrapper, names with spaces occur
			name = strings.ReplaceAll(name, " ", "_")
		}
		return h, decide(ok && plainName(name) && !t.empty || t.marked)
	case wrapperTag:
		return h, yes
	}
	return h, no
}

// opensCall decides whether the markup of a call begins at a '<'.
func opensCall(in string, final bool) answer {
	m, a := theLexer.match(in, final)
	switch a {
	case unknown:
		return unknown
	case yes:
		return decide(m.role == opens || m.role == wraps)
	}
	t, a := tagAt(in, 0, final)
	if a != yes {
		return a
	}
	return decide(!t.closing && (t.kind == functionTag || t.kind == wrapperTag))
}

// orphan decides at a closer that closes nothing: alone on its line or before a
// call it is dropped, in a sentence it is text.
func (p *Parser) orphan(in string, n int, final bool) answer {
	if !p.place.lineStart {
		return no
	}
	for end := n + maxGap; n < len(in); n++ {
		if in[n] == '\n' {
			return yes
		}
		if in[n] == '<' {
			return opensCall(in[n:], final)
		}
		if !blank(in[n]) || n == end {
			return no
		}
	}
	if final {
		return yes
	}
	return unknown
}

// atEdge decides at a token of a chat template: dropped at the start of the
// answer, at its end, and beside other markup.
func (p *Parser) atEdge(in string, n int, final bool) answer {
	if !p.shown() || p.place.boundary {
		return yes
	}
	for n < len(in) && n < maxHead {
		if blank(in[n]) {
			n++
			continue
		}
		m, a := theLexer.match(in[n:], final)
		switch {
		case a == unknown:
			return unknown
		case a == no:
			return no
		case m.role != edge && m.role != dropped:
			return yes
		}
		n += len(m.text)
	}
	if final || n >= maxHead {
		return yes
	}
	return unknown
}

// cross acts on markup that was found and tells whether reading can go on.
func (p *Parser) cross(h hit) bool {
	if h.marker == nil {
		p.crossTag(h)
		return true
	}
	switch m := h.marker; m.role {
	case opens:
		p.open(m.dialect, m.text)
	case reasons:
		p.startThinking(m.closers)
	case ends:
		p.notice(NoticeLoneCloser)
		p.place.fresh()
	case wraps:
		p.enterAfter(nil, false)
	case frames:
		p.think.framed = m.text
	default:
		if m.text == newlineToken {
			p.say("\n")
			p.place.newline()
		}
		p.entered()
	}
	return true
}

func (p *Parser) crossTag(h hit) {
	switch {
	case h.cut:
		p.malformed(h.text)
		p.enterAfter(nil, false)
	case h.tag.closing:
		p.entered()
	case h.tag.kind == functionTag:
		name, _ := h.tag.functionName()
		d := &elementDialect
		if h.tag.namespace == "atem:" {
			d = &museDialect
		}
		p.open(d, h.text)
		p.call.head = &head{name: name}
	default:
		d := &dialects[1]
		if h.tag.word == "tool_call" || h.tag.word == "tool_calls" {
			d = &dialects[0]
		}
		p.open(d, h.text)
	}
}

// open begins a call.
func (p *Parser) open(d *dialect, opener string) {
	p.call = &call{tools: p.tools, d: d, opener: opener, alone: p.place.lineStart, sentence: p.place.inSentence()}
	p.follows(p.call)
	p.mode = inCall
}

// entered takes note that markup was passed over.
func (p *Parser) entered() { p.place.boundary = true }

// toText goes on with text behind markup that was dropped.
func (p *Parser) toText() {
	p.mode = inText
	p.entered()
}

// shown tells whether there is text in the answer so far.
func (p *Parser) shown() bool { return p.visible || p.place.text }
