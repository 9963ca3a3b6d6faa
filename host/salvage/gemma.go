package salvage

import (
	"strings"
	"unicode/utf8"
)

// gemmaQuotes are what Gemma and FunctionGemma put around strings.
var gemmaQuotes = []string{`<|"|>`, "<escape>"}

// gemmaClosers end the block around { … }.
var gemmaClosers = []string{"<tool_call|>", "<end_function_call>"}

// gemmaOpeners begin the next block.
var gemmaOpeners = []string{"<|tool_call>", "<start_function_call>"}

// gemmaScan finds the end of { … } in Gemma's own notation: bare keys, strings
// between special tokens, nested objects and lists.
type gemmaScan struct {
	pos, depth int
	// quote is what ends the string that pos is in: a special token, or a quote of
	// the usual notation.
	quote string
	// candidate is one more than the place of the first closer that was seen inside
	// a string: where the call ends if that string never does.
	candidate int
}

// gemma is the scan of f's input.
func (f *finder) gemma(in string, final bool) (int, verdict) {
	if f.g == nil {
		f.g = &gemmaScan{}
	}
	return f.g.scan(in, final)
}

func (g *gemmaScan) scan(in string, final bool) (int, verdict) {
	for g.pos < len(in) {
		if g.quote != "" {
			if end, v := g.inString(in, final); v != reject {
				return end, v
			}
			continue
		}
		switch c := in[g.pos]; {
		case c == '<':
			if stopHere, wait := g.markup(in, final); wait {
				return 0, more
			} else if stopHere {
				return g.pos, done
			}
			continue
		case c == '{' || c == '[':
			g.depth++
		case c == '}' || c == ']':
			if g.depth--; g.depth <= 0 {
				return g.pos + 1, done
			}
		case c == '"' && g.pos > 0 && strings.IndexByte(":,[{ ", in[g.pos-1]) >= 0,
			c == '\'' && g.pos > 0 && strings.IndexByte(":,[", in[g.pos-1]) >= 0:
			g.quote = single[c : int(c)+1]
		}
		g.pos++
	}
	if final && g.candidate > 0 {
		return g.candidate - 1, done
	}
	return 0, more
}

// inString moves through a string. It returns reject when the string ended.
func (g *gemmaScan) inString(in string, final bool) (int, verdict) {
	for g.pos < len(in) {
		c := in[g.pos]
		switch {
		case c == '\\' && g.quote == `"`:
			g.pos++
		case strings.HasPrefix(in[g.pos:], g.quote):
			a := yes
			if g.quote == "'" {
				a = apostropheEnds(in, g.pos+1, final)
			}
			switch a {
			case unknown:
				return 0, more
			case yes:
				g.pos += len(g.quote)
				g.quote = ""
				return 0, reject
			}
		case c == '<':
			switch end, v := g.closerInString(in, final); v {
			case more:
				if !final {
					return 0, more
				}
			case done:
				return end, done
			}
		}
		g.pos++
	}
	if final && g.candidate > 0 {
		return g.candidate - 1, done
	}
	return 0, more
}

// closerInString decides at a '<' inside a string. A closer there is content if the
// string ends properly later; with the next call behind it, it is none.
func (g *gemmaScan) closerInString(in string, final bool) (int, verdict) {
	rest := in[g.pos:]
	if !final && strings.HasPrefix(g.quote, rest) {
		return 0, more
	}
	for _, end := range gemmaClosers {
		if !strings.HasPrefix(rest, end) {
			if !final && strings.HasPrefix(end, rest) {
				return 0, more
			}
			continue
		}
		j, a := nextToken(in, g.pos+len(end), final)
		hit, partial := false, false
		if a == no {
			hit, partial = startsWithAny(in[j:], gemmaOpeners)
		}
		switch {
		case hit || g.quote == "'":
			return g.pos, done
		case a == unknown || partial && !final:
			return 0, more
		case g.candidate == 0:
			g.candidate = g.pos + 1
		}
	}
	return 0, reject
}

// apostropheEnds decides whether the ' before in[i] ends its string: the end of the
// entry must follow.
func apostropheEnds(in string, i int, final bool) answer {
	j, a := nextToken(in, i, final)
	if a != no {
		return a
	}
	return decide(strings.IndexByte(",}]<", in[j]) >= 0)
}

// markup moves over a quote token, or stops at other markup.
func (g *gemmaScan) markup(in string, final bool) (stopHere, wait bool) {
	rest := in[g.pos:]
	for _, q := range gemmaQuotes {
		if strings.HasPrefix(rest, q) {
			g.quote = q
			g.pos += len(q)
			return false, false
		}
		if !final && strings.HasPrefix(q, rest) {
			return false, true
		}
	}
	for _, end := range gemmaClosers {
		if strings.HasPrefix(rest, end) {
			return true, false
		}
		if !final && strings.HasPrefix(end, rest) {
			return false, true
		}
	}
	g.pos++
	return false, false
}

// readGemma reads { … } in Gemma's notation.
func readGemma(in string) value {
	r := gemmaReader{in: in}
	return r.value()
}

type gemmaReader struct {
	in string
	i  int
	// stack is what is open, as in literal.
	stack nesting
}

func (r *gemmaReader) space() {
	for r.i < len(r.in) && (blank(r.in[r.i]) || r.in[r.i] == ',') {
		r.i++
	}
}

func (r *gemmaReader) value() value {
	r.space()
	if len(r.stack) > maxDepth {
		r.i = len(r.in)
		return value{kind: null}
	}
	switch {
	case r.i >= len(r.in):
		return value{kind: null}
	case r.in[r.i] == '{':
		return r.object()
	case r.in[r.i] == '[':
		return r.list()
	}
	if s, ok := r.quoted(); ok {
		return stringValue(s)
	}
	switch r.in[r.i] {
	case '"':
		if strings.IndexByte(r.in[r.i+1:], '"') >= 0 {
			l := &literal{in: r.in[r.i:], stack: append(nesting(nil), r.stack...)}
			v := l.value()
			r.i += l.i
			return v
		}
	case '\'':
		if s, ok := r.apostrophes(); ok {
			return stringValue(s)
		}
	}
	s := r.bare()
	if n, ok := jsonNumber(s); ok && strings.HasSuffix(s, ".") {
		return value{kind: number, str: n}
	}
	return guessed(s)
}

// apostrophes reads a string between single quotes, in which backslashes mean
// nothing. A quote token may dangle behind it.
func (r *gemmaReader) apostrophes() (string, bool) {
	from := r.i + 1
	for i := from; i < len(r.in); i++ {
		if r.in[i] != '\'' || apostropheEnds(r.in, i+1, true) != yes {
			continue
		}
		r.i = i + 1
		for _, q := range gemmaQuotes {
			if strings.HasPrefix(r.in[r.i:], q) {
				r.i += len(q)
			}
		}
		return r.in[from:i], true
	}
	return "", false
}

// bare reads a value without quotes, to the end of its entry. A comma with no key
// behind it belongs to the text.
func (r *gemmaReader) bare() string {
	from := r.i
	for r.i < len(r.in) && strings.IndexByte("}]", r.in[r.i]) < 0 {
		if r.in[r.i] == ',' && (r.stack.top() != ':' || gemmaKeyFollows(r.in[r.i+1:])) {
			break
		}
		r.i++
	}
	return strings.TrimSpace(r.in[from:r.i])
}

// gemmaKeyFollows tells whether a key and its colon stand behind a comma, or the
// end of the object.
func gemmaKeyFollows(in string) bool {
	in = strings.TrimLeft(in, " \t\r\n")
	if in == "" || strings.IndexByte("}\"'<{[", in[0]) >= 0 {
		return true
	}
	for i := 0; i < len(in) && i < maxKey; i++ {
		switch c := in[i]; {
		case c == ':' || c == '=':
			return i > 0
		case !nameByte(c) && c != ' ' && c != '\t' && c < utf8.RuneSelf:
			return false
		}
	}
	return false
}

func (r *gemmaReader) quoted() (string, bool) {
	rest := r.in[r.i:]
	for _, q := range gemmaQuotes {
		if !strings.HasPrefix(rest, q) {
			continue
		}
		s, _, found := strings.Cut(rest[len(q):], q)
		r.i += len(q) + len(s)
		if found {
			r.i += len(q)
		} else {
			s = withoutClosers(s)
		}
		return s, true
	}
	return "", false
}

// withoutClosers takes the brackets that close the objects around it off the end of
// a string that was not ended. Brackets that the string itself opened stay.
func withoutClosers(s string) string {
	for {
		t := strings.TrimRight(s, " \t\r\n")
		open := ""
		switch {
		case strings.HasSuffix(t, "}"):
			open = "{"
		case strings.HasSuffix(t, "]"):
			open = "["
		}
		if open == "" || strings.Count(t, t[len(t)-1:]) <= strings.Count(t, open) {
			return s
		}
		s = t[:len(t)-1]
	}
}

func (r *gemmaReader) object() value {
	v := value{kind: object}
	r.i++
	r.stack = append(r.stack, ':')
	defer func() { r.stack = r.stack[:len(r.stack)-1] }()
	for {
		r.space()
		if r.i >= len(r.in) {
			return v
		}
		if c := r.in[r.i]; c == '}' || c == ']' {
			r.i++
			return v
		}
		key := r.key()
		v.keys, v.items = append(v.keys, key), append(v.items, r.value())
	}
}

func (r *gemmaReader) key() string {
	key, ok := r.quoted()
	if !ok {
		from := r.i
		for r.i < len(r.in) && strings.IndexByte(":=,}", r.in[r.i]) < 0 {
			r.i++
		}
		key = strings.Trim(strings.TrimSpace(r.in[from:r.i]), `"'`)
	}
	for r.i < len(r.in) && (blank(r.in[r.i]) || r.in[r.i] == ':' || r.in[r.i] == '=') {
		r.i++
	}
	return key
}

func (r *gemmaReader) list() value {
	v := value{kind: list}
	r.i++
	r.stack = append(r.stack, '[')
	defer func() { r.stack = r.stack[:len(r.stack)-1] }()
	for {
		r.space()
		if r.i >= len(r.in) {
			return v
		}
		if c := r.in[r.i]; c == ']' || c == '}' {
			r.i++
			return v
		}
		v.items = append(v.items, r.value())
	}
}
