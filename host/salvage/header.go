package salvage

import (
	"slices"
	"strings"
)

// head is what stands before the part of a call that may be long.
type head struct {
	shape shape
	name  string
	// at is where the long part begins.
	at int
}

// maxHead bounds what stands before it.
const maxHead = 384

// separators stand between a name and its arguments.
var separators = append(append(append([]string{"[ARGS]", "[CALL_ID]", "<|tool_call_argument_begin|>"},
	bothBars("tool▁sep")...), bothBars("tool_sep")...), "<|plugin|>", "<|message|>")

// readAny reads the body of a dialect that needs no reader of its own: it decides
// on how the body begins.
func (c *call) readAny(in string, final bool) (int, verdict) {
	if c.head == nil {
		h := header{c: c, in: in, final: final}
		n, v := h.read()
		if c.head == nil {
			return n, v
		}
	}
	return c.readBody(in, final)
}

// header reads the head of a body. It starts anew whenever more input came; a head
// is short.
type header struct {
	c     *call
	in    string
	final bool
	i     int
	name  string
	// separated says that a separator followed the name.
	separated bool
	// skip says that the next word is the id of the call.
	skip bool
	// named says that only the arguments can follow, and then a closing token.
	named bool
	// junk says that words stood there that are no name: a list may still follow.
	junk bool
}

func (h *header) read() (int, verdict) {
	for {
		for h.i < len(h.in) && (blank(h.in[h.i]) || h.wideSpace() || h.writtenNewline()) {
			h.i++
		}
		switch {
		case h.i > maxHead:
			return 0, reject
		case h.i >= len(h.in) && !h.final:
			return 0, more
		case h.i >= len(h.in):
			return h.atEnd()
		}
		n, v, ok := h.token()
		if !ok {
			return n, v
		}
	}
}

// wideSpace passes the first bytes of U+00A0 and U+3000.
func (h *header) wideSpace() bool {
	for _, s := range []string{"\u00a0", "\u3000"} {
		if strings.HasPrefix(h.in[h.i:], s) {
			h.i += len(s) - 1
			return true
		}
	}
	return false
}

// writtenNewline passes the first byte of a newline that is written as backslash
// and n.
func (h *header) writtenNewline() bool {
	if !strings.HasPrefix(h.in[h.i:], `\n`) {
		return false
	}
	h.i++
	return true
}

// token reads one token of the head and tells whether the head goes on.
func (h *header) token() (int, verdict, bool) {
	rest := h.in[h.i:]
	for _, tokens := range [][]string{separators, h.c.d.filler} {
		for _, s := range tokens {
			if strings.HasPrefix(rest, s) {
				h.i += len(s)
				h.separated, h.skip = true, s == "[CALL_ID]"
				h.named = h.name != "" && s == "<|tool_call_argument_begin|>"
				return 0, more, true
			}
			if !h.final && strings.HasPrefix(s, rest) {
				return 0, more, false
			}
		}
	}
	c := rest[0]
	switch {
	case rest == `\` && !h.final:
		return 0, more, false
	case c == '{' || c == '[' || c == '(':
		return h.bracket(c)
	case c == '`':
		return h.fence(rest)
	case c == '<' || c == ']':
		return h.markup(rest)
	case letter(c) || c >= '0' && c <= '9' || c >= 0x80:
		return h.word()
	case c == ':' && h.name == "":
		h.i++
		return 0, more, true
	}
	return 0, reject, false
}

func (h *header) found(s shape) (int, verdict, bool) {
	if h.c.pythonOnly && s != shapePython {
		return 0, reject, false
	}
	h.c.head = &head{shape: s, name: h.name, at: h.i}
	return 0, more, false
}

func (h *header) bracket(c byte) (int, verdict, bool) {
	gemma, isGemma := strings.CutPrefix(h.name, "call:")
	switch {
	case h.name == "" && c == '(', h.c.d.body == fencedBody && !h.c.fenced:
		return 0, reject, false
	case h.name == "":
		return h.found(shapeJSON)
	case isGemma && c == '{':
		h.name = strings.TrimSpace(gemma)
		return h.found(shapeGemma)
	case c == '{' && h.c.d.body == anyBody && slices.Contains(gemmaOpeners, h.c.opener): // without "call:"
		j, a := nextToken(h.in, h.i+1, h.final)
		switch {
		case a == unknown:
			return 0, more, false
		case a == no && h.in[j] != '"' && h.in[j] != '}':
			return h.found(shapeGemma)
		}
	case c == '(':
		h.name = strings.TrimPrefix(h.name, "call:")
		if builtin, ok := strings.CutSuffix(h.name, ".call"); ok &&
			(h.c.d.body == pythonTagBody || h.c.tools.listed(builtin)) {
			h.name = builtin
		}
		return h.found(shapePython)
	case h.junk && c != '[':
		return 0, reject, false
	case c == '[' && !h.separated: // words of prose before the list
		j, a := nextToken(h.in, h.i+1, h.final)
		if a == unknown {
			return 0, more, false
		}
		if a == yes || h.in[j] != '{' {
			return 0, reject, false
		}
		h.name = ""
		return h.found(shapeJSON)
	}
	return h.found(shapeNamed)
}

// fence passes the opening of a code fence.
func (h *header) fence(rest string) (int, verdict, bool) {
	end := strings.IndexAny(rest, "\n{[")
	if end >= 0 && rest[end] != '\n' { // on the same line
		end--
	}
	switch {
	case end >= 2 && end < 24 && strings.HasPrefix(rest, "```"):
		h.i += end + 1
		h.c.fenced = true
		return 0, more, true
	case end < 0 && len(rest) < 24 && !h.final:
		return 0, more, false
	}
	return 0, reject, false
}

// markup decides at a tag or token behind the opener.
func (h *header) markup(rest string) (int, verdict, bool) {
	m, a := theLexer.match(rest, h.final)
	if a == unknown {
		return 0, more, false
	}
	if a == yes && m.role != closes && (m.role != dropped || m.text != "<tool_call|>") {
		if h.name == "" && m.role != dropped {
			return h.i, decoration, false
		}
		if h.name == "" || m.text == newlineToken {
			h.i += len(m.text)
			return 0, more, true
		}
		if m.role == edge || m.role == opens || m.role == wraps {
			return h.atEndAt(h.i)
		}
		return 0, reject, false
	}
	if h.final && cutTag(rest) {
		return len(h.in), done, false
	}
	t, ta := tagAt(rest, 0, h.final)
	switch {
	case ta == unknown && a != yes:
		return 0, more, false
	case ta == yes && !t.closing && (h.name == "" || h.separated) && (t.kind == functionTag || t.kind == wrapperTag):
		return h.i, decoration, false
	case ta == yes && h.name == "" && t.kind == keyTag && !t.closing: // nothing names the call
		return h.found(shapeElements)
	case ta == yes && h.name != "" && (t.kind == keyTag || t.kind == valueTag || t.kind == separatorTag ||
		t.kind == parameterTag && !t.closing):
		return h.found(shapeElements)
	case ta == yes && t.kind == wrapperTag && t.closing:
		return h.closed(h.i + t.end)
	case a == yes:
		return h.closed(h.i + len(m.text))
	}
	return 0, reject, false
}

// closed handles a closer right behind the name, or behind nothing.
func (h *header) closed(end int) (int, verdict, bool) {
	if h.c.pythonOnly {
		return 0, reject, false
	}
	if h.name != "" {
		h.c.raws = []rawCall{{name: h.callName()}}
	}
	return end, done, false
}

func (h *header) callName() string { return strings.TrimPrefix(h.name, "call:") }

// word reads a name.
func (h *header) word() (int, verdict, bool) {
	from := h.i
	if h.named {
		return h.found(shapeNothing)
	}
	for h.i < len(h.in) && (nameByte(h.in[h.i]) || h.in[h.i] >= 0x80 || h.in[h.i] == '$') {
		h.i++
	}
	switch {
	case h.i-from > maxKey, h.c.d.body == fencedBody && !h.c.fenced:
		return 0, reject, false
	case h.i >= len(h.in) && !h.final:
		return 0, more, false
	case h.skip:
		h.skip = false
	case h.name == "call:": // call: NAME
		h.name += h.in[from:h.i]
	case h.name != "" && !h.separated && h.c.d.alone && !h.c.again:
		h.junk = true
	case h.name != "" && !h.separated:
		return 0, reject, false
	default:
		h.name, h.separated = h.in[from:h.i], false
	}
	return 0, more, true
}

func (h *header) atEnd() (int, verdict) {
	n, v, _ := h.atEndAt(len(h.in))
	return n, v
}

// atEndAt decides when nothing more comes: a name alone is a call where it can be
// nothing else.
func (h *header) atEndAt(end int) (int, verdict, bool) {
	c := h.c
	switch {
	case c.pythonOnly:
		return 0, reject, false
	case h.name != "" && !h.separated && (c.d.alone || c.tools.listed(c.tools.resolve(h.callName()))):
		c.raws = []rawCall{{name: h.callName()}}
		return end, done, false
	case h.junk, h.name != "" && !h.separated && c.d.prose && blank(h.in[0]):
		return 0, reject, false
	}
	return end, done, false // cut off: nothing to run, nothing to show
}
