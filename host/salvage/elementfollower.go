package salvage

import (
	"slices"
	"strings"
)

// elementFollower follows the parameters of a call that are elements, as
// elementReader reads them when they are whole. It tells those whose schema says
// that they are strings and nothing else.
type elementFollower struct {
	schema schema
	guess  bool
	pos    int
	// key is that of the parameter or value that comes next or is open; inKey says
	// that pos is behind the opening tag of a key.
	key   string
	inKey bool
	seen  []string
	text  elementText
	// off says that nothing more is told.
	off bool
	out func(key, delta string)
}

// elementText is the text of an element that is open.
type elementText struct {
	open bool
	kind tagKind
	told bool
	// from is where the text begins, sent up to where it went out.
	from, sent int
	// nested counts wrappers inside the text.
	nested int
	// stuck says that the text may have ended where only what follows shows it.
	stuck bool
	// escaped is one more than the place of an entity that is decoded if no bare
	// bracket stands in the text; bare says that one does.
	escaped int
	bare    bool
	// looked is up to where entities and brackets were looked for; waiting says that
	// what stands there may become an entity.
	looked  int
	waiting bool
}

func (f *elementFollower) read(in string) {
	for !f.off && f.step(in) {
	}
}

// step goes on to the next tag and tells whether there was one.
func (f *elementFollower) step(in string) bool {
	if f.text.open && !f.text.begin(in) {
		return false
	}
	at := strings.IndexByte(in[f.pos:], '<')
	if at < 0 {
		f.pos = len(in)
		f.send(in, f.pos)
		return false
	}
	at += f.pos
	if f.pos = at; noTag(in, at) {
		f.pos++
		return true
	}
	if hit, partial := startsWithAny(in[at:], cdataOpeners); hit || partial && len(in)-at > 1 {
		f.send(in, at)
		f.off = hit
		return false
	}
	t, a := tagAt(in, at, false)
	switch a {
	case unknown:
		f.send(in, at)
		return false
	case no:
		f.pos = at + 1
		return true
	}
	switch {
	case f.text.open && t.closing && t.kind == f.text.kind:
		switch followed(in, t, false) {
		case unknown:
			f.send(in, at)
			return false
		case no:
			f.pos = t.end
			return true
		}
		f.inText(in, at, t)
	case f.text.open:
		f.inText(in, at, t)
	default:
		f.between(in, at, t)
	}
	return true
}

// between reads a tag outside of texts.
func (f *elementFollower) between(in string, at int, t tag) {
	if f.inKey && t.kind == keyTag {
		f.key = strings.TrimSpace(in[f.text.from:at])
	}
	f.inKey, f.pos = false, t.end
	switch {
	case t.kind == typeTag: // the markup decides on the type, too
		f.off = true
	case t.closing || t.empty:
	case t.kind == parameterTag:
		f.key, _ = t.attribute("name")
		if f.key == "" {
			f.key, _ = t.attribute("key")
		}
		typed := typeAttribute(t)
		f.begin(parameterTag, t.end, typed == asString && f.schema.tells(f.key) || typed == bySchema &&
			f.schema.tellsText(f.key, f.guess))
	case t.kind == keyTag:
		f.key, f.inKey, f.text.from = "", true, t.end
	case t.kind == valueTag:
		f.begin(valueTag, t.end, f.schema.tellsText(f.key, f.guess))
	}
}

func (f *elementFollower) begin(kind tagKind, at int, told bool) {
	told = told && !slices.Contains(f.seen, f.key)
	if told {
		f.seen = append(f.seen, f.key)
	}
	f.text = elementText{open: true, kind: kind, told: told, from: at, sent: -1, looked: at}
}

// begin leaves out the newline that belongs to the markup. It tells whether it
// could decide on it.
func (t *elementText) begin(in string) bool {
	if t.sent >= 0 {
		return true
	}
	at := t.from
	if t.kind == parameterTag {
		if at < len(in) && in[at] == '\r' {
			at++
		}
		if at >= len(in) {
			return false
		}
		if in[at] == '\n' {
			at++
		}
	}
	t.sent, t.looked = at, at
	return true
}

// inText reads a tag inside a text, or at its end.
func (f *elementFollower) inText(in string, at int, t tag) {
	x := &f.text
	f.pos = t.end
	switch {
	case t.kind == wrapperTag && !t.closing:
		x.nested++
	case t.kind == wrapperTag && x.nested > 0:
		x.nested--
	case t.kind == x.kind && t.closing:
		f.end(in, at)
	case t.kind == x.kind && x.kind == parameterTag && afterMarkup(in, at) && x.nested == 0:
		f.end(in, at)
		f.pos = at // the closing tag is missing
	case x.kind == valueTag && t.kind == keyTag && !t.closing && x.nested == 0:
		f.end(in, x.from+len(strings.TrimRight(in[x.from:at], " \t\r\n")))
		f.pos = at
	case t.closing && (t.kind == functionTag || t.kind == wrapperTag):
		f.send(in, at)
		x.stuck = true
	}
}

// end tells the rest of a text.
func (f *elementFollower) end(in string, end int) {
	x := &f.text
	if x.kind == parameterTag {
		end = max(x.sent, x.from+len(strings.TrimSuffix(strings.TrimSuffix(in[x.from:end], "\n"), "\r")))
	}
	x.stuck = false
	x.look(in, end)
	if rest := in[x.sent:max(x.sent, end)]; rest != "" && x.told {
		if !x.bare {
			rest = entities(rest)
		}
		f.out(f.key, valid(rest))
	}
	f.text.open = false
}

// send tells the text up to a place where it may end, without what can still turn
// out to be markup.
func (f *elementFollower) send(in string, end int) {
	x := &f.text
	if !x.open || !x.told || x.stuck || x.sent < 0 {
		return
	}
	x.look(in, end)
	switch {
	case x.bare:
	case x.escaped > 0:
		end = min(end, x.escaped-1)
	case x.waiting:
		end = min(end, x.looked)
	}
	held := "\r\n"
	if x.kind == valueTag {
		held = " \t\r\n"
	}
	end = max(x.sent, len(strings.TrimRight(in[:end], held)))
	end = x.sent + wholeRunes(in[x.sent:end])
	if end > x.sent {
		f.out(f.key, valid(in[x.sent:end]))
		x.sent = end
	}
}

// look looks for entities and for the brackets that show that there are none.
func (x *elementText) look(in string, end int) {
	for x.waiting = false; x.looked < end && !x.bare; x.looked++ {
		switch in[x.looked] {
		case '<', '>':
			x.bare = true
		case '&':
			hit, partial := startsWithAny(in[x.looked:end], entityNames)
			if partial && !hit {
				x.waiting = true
				return
			}
			if hit && x.escaped == 0 {
				x.escaped = x.looked + 1
			}
		}
	}
}

// valid is s with U+FFFD for each byte that is not UTF-8.
func valid(s string) string {
	var b strings.Builder
	writeValid(&b, s)
	return b.String()
}
