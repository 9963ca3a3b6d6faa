package salvage

import "strings"

// elements finds the end of a call whose arguments are elements: parameters, or
// keys and values. Like brackets it takes growing input and goes on where it was.
type elements struct {
	pos int
	// within is the kind of the element that pos is in the text of.
	within tagKind
	word   string
	// nested counts wrappers that were opened inside a parameter.
	nested int
	// raw says that pos is in a CDATA section.
	raw bool
	// block says that the call stands in a wrapper of its own, whose closing tag
	// ends it; else the closing tag of its function does.
	block bool
	// candidate is one more than the place behind the first closing tag of the call in
	// the text of an element: where that text has no end, it was the call's.
	candidate int
}

// scan returns the place behind the closing tag of the call, or where something
// else begins that cannot be part of it.
func (e *elements) scan(in string, final bool) (int, verdict) {
	for {
		if e.raw && !e.leaveCDATA(in) {
			return 0, more
		}
		at := strings.IndexByte(in[e.pos:], '<')
		if at < 0 {
			e.pos = len(in)
			return 0, more
		}
		at += e.pos
		if noTag(in, at) {
			e.pos = at + 1
			continue
		}
		switch hit, partial := startsWithAny(in[at:], cdataOpeners); {
		case hit:
			e.pos, e.raw = at+len(cdataOpen), true
			continue
		case partial && !final && len(in)-at > 1:
			e.pos = at
			return 0, more
		}
		t, a := tagAt(in, at, final)
		switch {
		case a == unknown:
			e.pos = at
			return 0, more
		case a == no:
			e.pos = at + 1
			continue
		}
		end, v := e.take(in, at, t, final)
		if v != reject {
			if v == more {
				e.pos = at
			}
			return end, v
		}
		e.pos = t.end
	}
}

// take moves over a tag. It returns reject to go on.
func (e *elements) take(in string, at int, t tag, final bool) (int, verdict) {
	if e.within == parameterTag {
		return e.inParameter(in, at, t, final)
	}
	if e.within == valueTag && t.kind != valueTag && t.kind != keyTag && !(t.kind == wrapperTag) {
		return 0, reject
	}
	switch {
	case t.kind == parameterTag && !t.closing:
		if !t.empty {
			e.within, e.word = parameterTag, t.word
		}
	case t.kind == valueTag && t.closing:
		switch followed(in, t, final) {
		case unknown:
			return 0, more
		case yes:
			e.within, e.candidate = otherTag, 0
		}
	case t.kind == valueTag:
		e.within = valueTag
	case t.kind == keyTag:
		e.within = otherTag
	case t.kind == functionTag && t.closing:
		return t.end, done
	case t.kind == wrapperTag && t.closing && e.nested > 0:
		e.nested--
	case t.kind == wrapperTag && t.closing && e.within == valueTag:
		return e.mayEnd(in, t, final)
	case t.kind == wrapperTag && t.closing:
		return t.end, done
	case t.kind == wrapperTag && e.within == valueTag:
		e.nested++
	case t.kind == functionTag || t.kind == wrapperTag:
		return at, done // the next call: the closing tag is missing
	}
	return 0, reject
}

// inParameter moves over a tag in the text of a parameter, which may be any text,
// markup too. A function's closing tag ends the call only where the call can end.
func (e *elements) inParameter(in string, at int, t tag, final bool) (int, verdict) {
	switch {
	case t.kind == parameterTag && t.closing && sameWord(t.word, e.word):
		switch followed(in, t, final) {
		case unknown:
			return 0, more
		case yes:
			e.within, e.nested, e.candidate = otherTag, 0, 0
		}
	case t.kind == parameterTag && !t.closing && t.word == e.word && afterMarkup(in, at):
		// The closing tag of the parameter before is missing.
	case t.kind == wrapperTag && !t.closing:
		e.nested++
	case t.kind == wrapperTag && e.nested > 0:
		e.nested--
	case t.kind == wrapperTag, t.kind == functionTag && t.closing && e.nested == 0:
		return e.mayEnd(in, t, final)
	}
	return 0, reject
}

// certain is up to where the input belongs to the call, whatever comes.
func (e *elements) certain() int {
	if e.candidate > 0 {
		return min(e.pos, e.candidate-1)
	}
	return e.pos
}

// mayEnd decides on a closing tag of the call in the text of an element: it ends the call
// where what follows can follow a call.
func (e *elements) mayEnd(in string, t tag, final bool) (int, verdict) {
	switch followed(in, t, final) {
	case unknown:
		return 0, more
	case yes:
		return t.end, done
	}
	if e.candidate == 0 {
		e.candidate = t.end + 1
	}
	return 0, reject
}

// followed tells whether what stands behind a closing tag can follow it: markup that may
// come next, or the end. Else the tag is text, in a value that has its like in it.
func followed(in string, t tag, final bool) answer {
	j, a := afterBlanks(in, t.end, final)
	switch {
	case a != no:
		return a
	case in[j] != '<' && t.kind == valueTag:
		return keyWithoutOpener(in, j, final)
	case in[j] != '<':
		return no
	}
	if tag := argumentsTag(in[j:]); tag != "" && tag[1] == '/' {
		if len(in)-j < len(tag) && !final {
			return unknown
		}
		return yes
	}
	if strings.HasPrefix(in[j:], "<|") || strings.HasPrefix(in[j:], "<｜") { // a special token
		return yes
	}
	next, a := tagAt(in, j, final)
	switch {
	case a == unknown:
		return unknown
	case a == no:
		return no
	}
	switch t.kind {
	case parameterTag:
		return decide(next.kind == parameterTag && !next.closing || next.kind == functionTag || next.kind == wrapperTag)
	case valueTag:
		return decide(next.kind == keyTag && !next.closing || next.kind == typeTag || next.kind == separatorTag ||
			next.kind == functionTag || next.kind == wrapperTag)
	case functionTag, wrapperTag:
		return decide(next.kind == wrapperTag || next.kind == functionTag && !next.closing)
	}
	return yes
}

// afterBlanks is nextToken past newlines that were written out.
func afterBlanks(in string, i int, final bool) (int, answer) {
	for {
		j, a := nextToken(in, i, final)
		if a != no || in[j] != '\\' {
			return j, a
		}
		switch {
		case j+1 >= len(in):
			return j, undecided(final)
		case in[j+1] != 'n':
			return j, no
		}
		i = j + 2
	}
}

// keyWithoutOpener tells whether a key stands in front of a closing tag of one, at in[j].
func keyWithoutOpener(in string, j int, final bool) answer {
	n := strings.IndexAny(in[j:min(len(in), j+maxKey)], "<\n")
	switch {
	case n < 0 && len(in)-j < maxKey:
		return undecided(final)
	case n < 0 || in[j+n] != '<':
		return no
	}
	t, a := tagAt(in, j+n, final)
	if a == yes {
		return decide(t.kind == keyTag && t.closing)
	}
	return a
}

func sameWord(a, b string) bool {
	return strings.TrimSuffix(a, "name") == strings.TrimSuffix(b, "name")
}

// afterMarkup tells whether a tag stands at the start of a line or behind a tag.
func afterMarkup(in string, at int) bool {
	return at > 0 && (in[at-1] == '\n' || in[at-1] == '>')
}

const cdataOpen, cdataClose = "<![CDATA[", "]]>"

var cdataOpeners = []string{cdataOpen}

// leaveCDATA moves behind the CDATA section that pos is in, once its end is there.
func (e *elements) leaveCDATA(in string) bool {
	n := strings.Index(in[e.pos:], cdataClose)
	if n < 0 {
		e.pos = max(e.pos, len(in)-len(cdataClose)+1)
		return false
	}
	e.pos += n + len(cdataClose)
	e.raw = false
	return true
}

// readElements reads the arguments of one call from its elements.
func readElements(body string) []parameter {
	r := elementReader{in: body}
	r.read()
	return r.out
}

type elementReader struct {
	in  string
	out []parameter
	// key is the key whose value has not come, typed what the markup said of it.
	key    string
	hasKey bool
	typed  textType
}

func (r *elementReader) read() {
	for pos := 0; ; {
		at, t, ok := r.next(pos)
		between := r.in[pos:at]
		if r.hasKey && !onlySpace(between) && (!ok || t.kind != keyTag || !t.closing) {
			// The value has no opening tag.
			r.add(r.key, strings.TrimSpace(between), r.typed)
		}
		if !ok {
			return
		}
		pos = t.end
		switch {
		case t.closing && t.kind == keyTag && !r.hasKey && strings.TrimSpace(between) != "":
			r.key, r.hasKey = strings.TrimSpace(between), true // its opening tag is missing
		case t.closing:
		case t.kind == parameterTag:
			pos = r.parameter(t)
		case t.kind == keyTag:
			pos = r.readKey(t)
			r.typed = bySchema
		case t.kind == typeTag:
			end, after := r.until(t.end, typeTag)
			r.typed, pos = namedType(strings.TrimSpace(r.in[t.end:end])), after
		case t.kind == valueTag && r.hasKey:
			end, after := r.until(t.end, valueTag)
			r.add(r.key, r.in[t.end:end], r.typed)
			pos = after
		}
	}
}

// onlySpace tells whether s is whitespace, also newlines that are written as
// backslash and n.
func onlySpace(s string) bool {
	for {
		s = strings.TrimSpace(s)
		rest, ok := strings.CutPrefix(s, `\n`)
		if !ok {
			return s == ""
		}
		s = rest
	}
}

// next finds the next tag of calls.
func (r *elementReader) next(pos int) (int, tag, bool) {
	for {
		n := strings.IndexByte(r.in[pos:], '<')
		if n < 0 {
			return len(r.in), tag{}, false
		}
		pos += n
		if t, a := tagAt(r.in, pos, true); a == yes {
			return pos, t, true
		}
		pos++
	}
}

func (r *elementReader) add(key, text string, typed textType) {
	if text = entities(text); key != "" {
		r.out = append(r.out, parameter{key: key, text: text, typed: typed})
	}
	r.hasKey = false
}

// parameter reads one parameter and returns the place behind it.
func (r *elementReader) parameter(t tag) int {
	key, ok := t.attribute("name")
	if !ok {
		key, _ = t.attribute("key")
	}
	typed := typeAttribute(t)
	if t.empty {
		r.add(key, "", typed)
		return t.end
	}
	end, after := r.until(t.end, parameterTag)
	text := r.in[t.end:end]
	if inner := strings.TrimSpace(text); strings.HasPrefix(inner, cdataOpen) {
		text = strings.TrimSuffix(strings.TrimPrefix(inner, cdataOpen), cdataClose)
		r.out = append(r.out, parameter{key: key, text: text, typed: typed})
		return after
	}
	r.add(key, oneNewlineOff(text), typed)
	return after
}

// until finds the end of an element's text: its closing tag, else the next
// element of its kind, else the end of the body without closing tags.
func (r *elementReader) until(from int, kind tagKind) (end, after int) {
	nested := 0
	for pos := from; ; {
		if open := strings.TrimLeft(r.in[pos:], " \n"); pos == from && strings.HasPrefix(open, cdataOpen) {
			if n := strings.Index(open, cdataClose); n >= 0 {
				pos = len(r.in) - len(open) + n
			}
		}
		at, t, ok := r.next(pos)
		switch {
		case !ok:
			return trailingTags(r.in, from), len(r.in)
		case t.kind == wrapperTag && !t.closing:
			nested++
		case t.kind == wrapperTag && nested > 0:
			nested--
		case t.kind == kind && t.closing && followed(r.in, t, true) == yes:
			return at, t.end
		case t.kind == kind && !t.closing && kind == parameterTag && afterMarkup(r.in, at) && nested == 0:
			return at, at
		case kind == valueTag && t.kind == keyTag && !t.closing && nested == 0:
			return from + len(strings.TrimRight(r.in[from:at], " \t\r\n")), at
		}
		pos = t.end
	}
}

// trailingTags returns the end of the text from a place without the closing tags
// that end the body.
func trailingTags(in string, from int) int {
	end := len(in)
	for {
		trimmed := strings.TrimRight(in[from:end], " \t\r\n")
		at := strings.LastIndexByte(trimmed, '<')
		if at < 0 {
			return end
		}
		t, a := tagAt(trimmed, at, true)
		if a != yes || !t.closing || t.end != len(trimmed) {
			return end
		}
		end = from + at
	}
}

// readKey reads a key, also one whose closing tag is missing.
func (r *elementReader) readKey(t tag) int {
	at, next, ok := r.next(t.end)
	r.key, r.hasKey = strings.TrimSpace(r.in[t.end:at]), true
	if ok && next.kind == keyTag {
		return next.end
	}
	return at
}

// typeAttribute reads string="true" and type="string".
func typeAttribute(t tag) textType {
	if s, ok := t.attribute("string"); ok {
		if s == "true" {
			return asString
		}
		return asJSON
	}
	s, _ := t.attribute("type")
	return namedType(s)
}

// namedType is what the name of a type says of the text.
func namedType(s string) textType {
	switch s {
	case "string":
		return asString
	case "":
		return bySchema
	}
	return asJSON
}

// oneNewlineOff takes off the newline that belongs to the markup on each side.
func oneNewlineOff(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}
