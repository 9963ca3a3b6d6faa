package salvage

import "strings"

// gemmaQuotes are what Gemma and FunctionGemma put around strings.
var gemmaQuotes = []string{`<|"|>`, "<escape>"}

// gemma finds the end of { … } in Gemma's own notation: bare keys, strings between
// special tokens, nested objects and lists.
type gemmaScan struct {
	pos, depth int
	// quote is the token that ends the string that pos is in.
	quote string
	// plain is the quote character of a string in the usual notation.
	plain byte
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
			n := strings.Index(in[g.pos:], g.quote)
			if n < 0 {
				g.pos = max(g.pos, len(in)-len(g.quote)+1)
				return 0, more
			}
			g.pos += n + len(g.quote)
			g.quote = ""
			continue
		}
		c := in[g.pos]
		switch {
		case g.plain != 0:
			switch c {
			case '\\':
				g.pos++
			case g.plain:
				g.plain = 0
			}
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
		case c == '"' && g.pos > 0 && strings.IndexByte(":,[{ ", in[g.pos-1]) >= 0:
			g.plain = c
		}
		g.pos++
	}
	return 0, more
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
	for _, end := range []string{"<tool_call|>", "<end_function_call>"} {
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
	in    string
	i     int
	depth int
}

func (r *gemmaReader) space() {
	for r.i < len(r.in) && (blank(r.in[r.i]) || r.in[r.i] == ',') {
		r.i++
	}
}

func (r *gemmaReader) value() value {
	r.space()
	if r.depth++; r.depth > maxDepth {
		r.i = len(r.in)
		return value{kind: null}
	}
	defer func() { r.depth-- }()
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
	if c := r.in[r.i]; c == '"' {
		if end := strings.IndexByte(r.in[r.i+1:], c); end >= 0 {
			l := &literal{in: r.in[r.i:], stack: nesting{':'}}
			v := l.value()
			r.i += l.i
			return v
		}
	}
	from := r.i
	for r.i < len(r.in) && strings.IndexByte(",}]", r.in[r.i]) < 0 {
		r.i++
	}
	return guessed(strings.TrimSpace(r.in[from:r.i]))
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
		}
		return s, true
	}
	return "", false
}

func (r *gemmaReader) object() value {
	v := value{kind: object}
	r.i++
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
