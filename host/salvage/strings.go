package salvage

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// strings reads a string, and in Python the strings that stand beside it, which
// Python joins.
func (l *literal) strings() value {
	s := l.oneString()
	for l.python && len(l.stack) > 0 {
		at := l.i
		l.space()
		if c := l.peek(); c != '"' && c != '\'' {
			l.i = at
			break
		}
		s += l.oneString()
	}
	return stringValue(s)
}

// oneString decodes the string at l.i. NUL and lone surrogates are dropped: no
// tool can use them and many cannot carry them.
func (l *literal) oneString() string {
	end, from := l.quotes()
	l.i += from
	start := l.i
	var b strings.Builder
	plain := true
	for l.i < len(l.in) {
		c := l.in[l.i]
		switch {
		case c == '\\':
			if plain {
				b.Grow(min(len(l.in)-start, 4*(l.i-start)+512))
			}
			b.WriteString(l.in[start:l.i])
			l.escape(&b, end)
			start, plain = l.i, false
		case c == 0:
			b.WriteString(l.in[start:l.i])
			l.i++
			start, plain = l.i, false
		case c == end[0] && l.endsAt(end):
			s := l.in[start:l.i]
			l.i += l.quoteLength(end)
			if plain {
				return s
			}
			b.WriteString(s)
			return b.String()
		default:
			l.i++
		}
	}
	l.cut = true
	if plain {
		return l.in[start:]
	}
	b.WriteString(l.in[start:])
	return b.String()
}

// quotes returns what ends the string at l.i and the length of what opens it.
func (l *literal) quotes() (end string, length int) {
	rest := l.in[l.i:]
	for _, triple := range []string{`"""`, "'''"} {
		if strings.HasPrefix(rest, triple) {
			return triple, 3
		}
	}
	if rest[0] == smart {
		return "”", 3
	}
	return rest[:1], 1
}

func (l *literal) quoteLength(end string) int { return len(end) }

func (l *literal) endsAt(end string) bool {
	rest := l.in[l.i:]
	switch {
	case end == "”":
		if !strings.HasPrefix(rest, "”") && !strings.HasPrefix(rest, "’") {
			return false
		}
	case len(end) == 3:
		return strings.HasPrefix(rest, end)
	}
	return l.stack.ends(l.in, l.i+len(end), true) == yes
}

// escape decodes the escape at l.i. What is no escape stays as it is written.
func (l *literal) escape(b *strings.Builder, end string) {
	if l.i+1 >= len(l.in) {
		l.i = len(l.in)
		return
	}
	c := l.in[l.i+1]
	l.i += 2
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case '"', '\\', '\'':
		b.WriteByte(c)
	case '/':
		if l.python {
			b.WriteByte('\\')
		}
		b.WriteByte('/')
	case 'u':
		l.unicode(b)
	case 'x':
		l.hex(b)
	case '0':
		if !l.python { // NUL is dropped
			b.WriteString(`\0`)
		}
	case '\n':
		if !l.python {
			b.WriteByte('\n')
		}
	default:
		b.WriteByte('\\')
		l.i--
	}
}

// unicode decodes the digits of \uXXXX, with the second half of a pair.
func (l *literal) unicode(b *strings.Builder) {
	r, ok := l.fourHex(l.i)
	if !ok {
		b.WriteString(`\u`)
		return
	}
	l.i += 4
	if utf16.IsSurrogate(r) {
		if !strings.HasPrefix(l.in[l.i:], `\u`) {
			return
		}
		low, ok := l.fourHex(l.i + 2)
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return
		}
		l.i += 6
	}
	if r != 0 {
		b.WriteRune(r)
	}
}

func (l *literal) fourHex(at int) (rune, bool) {
	if at+4 > len(l.in) {
		return 0, false
	}
	n, err := strconv.ParseUint(l.in[at:at+4], 16, 32)
	return rune(n), err == nil
}

func (l *literal) hex(b *strings.Builder) {
	if l.python && l.i+2 <= len(l.in) {
		if n, err := strconv.ParseUint(l.in[l.i:l.i+2], 16, 8); err == nil {
			l.i += 2
			if n != 0 {
				b.WriteRune(rune(n))
			}
			return
		}
	}
	b.WriteString(`\x`)
}
