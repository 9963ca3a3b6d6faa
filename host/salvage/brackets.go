package salvage

import "strings"

// verdict is what a scanner says of the input so far.
type verdict uint8

const (
	// more means that the end is not there yet.
	more verdict = iota
	// done means that the construct is complete.
	done
	// reject means that the construct is not what it seemed to be.
	reject
	// decoration means that the opener only wraps what follows and is dropped.
	decoration
	// strip means that what was read is dropped.
	strip
	// think means that reasoning begins.
	think
)

// brackets finds the end of a value that begins with a bracket: JSON, Python
// literals or the arguments of a Python call. It takes the input as it grows,
// always from the same start, and looks at each byte once.
type brackets struct {
	pos   int
	stack nesting
	// quote is the byte that opened the string that pos is in, 0 outside.
	quote  byte
	triple bool
	// fresh says that an entry begins here, so that a single quote opens a string.
	fresh bool
	// closers are the markup that ends the dialect's block.
	closers []string
	// candidate is one more than the place of the first closer that was seen
	// inside a string: where the value ends if that string never does.
	candidate int
	// eager takes the first closer even inside a string.
	eager bool
}

const smart = 0xE2 // the first byte of the typographic quotes

// scan returns the place behind the value, once it is there.
func (b *brackets) scan(in string, final bool) (int, verdict) {
	for b.pos < len(in) {
		if b.quote != 0 {
			end, v := b.inString(in, final)
			if v != reject {
				return end, v
			}
			continue
		}
		end, v := b.outside(in, final)
		if v != reject {
			return end, v
		}
	}
	return 0, more
}

// inString moves through a string. It returns reject when the string ended.
func (b *brackets) inString(in string, final bool) (int, verdict) {
	i := b.pos
	for i < len(in) {
		c := in[i]
		switch {
		case c == '\\':
			if i+1 >= len(in) {
				b.pos = i
				return 0, more
			}
			i += 2
		case c == b.quote && b.quote != smart, c == smart && b.quote == smart:
			n, a := b.quoteAt(in, i, final)
			switch a {
			case unknown:
				b.pos = i
				return 0, more
			case yes:
				b.pos, b.quote, b.triple, b.fresh = i+n, 0, false, false
				return 0, reject
			}
			i += n
		case c == '<' || c == '[':
			if len(b.closers) > 0 && (b.eager || b.candidate == 0) {
				hit, partial := startsWithAny(in[i:], b.closers)
				switch {
				case partial && !final:
					b.pos = i
					return 0, more
				case hit && b.eager:
					return i, done
				case hit:
					b.candidate = i + 1
				}
			}
			i++
		default:
			i++
		}
	}
	b.pos = i
	return 0, more
}

// quoteAt decides whether the quote at in[i] ends the string, and returns its
// length.
func (b *brackets) quoteAt(in string, i int, final bool) (int, answer) {
	n := 1
	switch {
	case b.quote == smart:
		n = 3
		if len(in) < i+3 {
			if final {
				return 1, no
			}
			return 1, unknown
		}
		if in[i:i+3] != "”" && in[i:i+3] != "’" {
			return 1, no
		}
	case b.triple:
		n = 3
		run := in[i:min(len(in), i+3)]
		if strings.Count(run, in[i:i+1]) < len(run) {
			return 1, no
		}
		if len(run) < 3 {
			if final {
				return len(run), yes
			}
			return 1, unknown
		}
		return 3, yes
	}
	return n, b.stack.ends(in, i+n, final)
}

// outside moves over one byte outside of strings. It returns reject to go on.
func (b *brackets) outside(in string, final bool) (int, verdict) {
	c := in[b.pos]
	switch c {
	case '{', '[', '(':
		b.stack, b.fresh = append(b.stack, c), true
	case '}', ']', ')':
		b.fresh = false
		if b.pop(c) {
			return b.pos + 1, done
		}
	case ',':
		b.fresh = true
		if b.stack.top() == ':' {
			b.stack[len(b.stack)-1] = '{'
		}
	case ':', '=':
		b.fresh = true
		if b.stack.top() == '{' {
			b.stack[len(b.stack)-1] = ':'
		}
	case '"', '\'':
		if c == '"' || b.fresh {
			return b.openString(in, c, final)
		}
	case smart:
		if b.fresh {
			b.quote = smart
			b.pos += 2 // the quote has three bytes; a short chunk goes on in the string
		}
	case '<':
		if len(in) <= b.pos+1 && !final {
			return 0, more
		}
		if len(in) > b.pos+1 && (in[b.pos+1] == '/' || in[b.pos+1] == '|' || in[b.pos+1] == 0xEF ||
			letter(in[b.pos+1])) {
			return b.pos, done // markup ends a value whose brackets are missing
		}
	case '/':
		return b.comment(in, final)
	case ' ', '\n', '\t', '\r':
	default:
		b.fresh = false
	}
	b.pos++
	return 0, reject
}

// pop closes brackets up to the one that c closes and tells whether none is left.
// A bracket that closes nothing is passed over.
func (b *brackets) pop(c byte) bool {
	for d := len(b.stack) - 1; d >= 0; d-- {
		if closerOf(b.stack[d]) == c {
			b.stack = b.stack[:d]
			return d == 0
		}
	}
	return false
}

func (b *brackets) openString(in string, c byte, final bool) (int, verdict) {
	run := in[b.pos:min(len(in), b.pos+3)]
	same := strings.Count(run, string(c)) == len(run)
	if same && len(run) < 3 && !final {
		return 0, more // "" or """
	}
	b.quote, b.fresh = c, false
	b.pos++
	if same && len(run) == 3 {
		b.triple = true
		b.pos += 2
	}
	return 0, reject
}

// comment passes over a comment, or over a lone slash.
func (b *brackets) comment(in string, final bool) (int, verdict) {
	if len(in) <= b.pos+1 && !final {
		return 0, more
	}
	rest := in[b.pos:]
	end := 1
	switch {
	case strings.HasPrefix(rest, "//"):
		end = strings.IndexByte(rest, '\n')
	case strings.HasPrefix(rest, "/*"):
		if end = strings.Index(rest, "*/"); end >= 0 {
			end += 2
		}
	}
	if end < 0 && !final && len(rest) < maxComment {
		return 0, more
	}
	if end < 0 || end >= maxComment {
		end = 2
	}
	b.pos += end
	return 0, reject
}

// maxComment bounds a comment, so that looking for its end stays cheap.
const maxComment = 512

// startsWithAny tells whether in begins with one of the markers, or may once more
// input has come.
func startsWithAny(in string, markers []string) (hit, partial bool) {
	for _, m := range markers {
		if strings.HasPrefix(in, m) {
			return true, false
		}
		partial = partial || strings.HasPrefix(m, in)
	}
	return false, partial
}
