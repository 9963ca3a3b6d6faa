package salvage

import (
	"strings"
	"unicode/utf8"
)

// stringScan decodes a string while it comes, as literal does with a whole one.
type stringScan struct {
	quote byte
	// stack is what is open where the string stands.
	stack  nesting
	python bool
}

// read decodes what stands at in[i], inside the string, as far as the input
// decides. It returns where to go on, behind the quote if the string ended.
func (s *stringScan) read(in string, i int, b *strings.Builder) (next int, ended bool) {
	from := i
	for i < len(in) {
		for i < len(in) && in[i] != '\\' && in[i] != s.quote && in[i] != 0 {
			i++
		}
		if i >= len(in) {
			break
		}
		switch c := in[i]; c {
		case '\\':
			writeValid(b, in[from:i])
			if !escapeWhole(in, i) {
				return i, false
			}
			l := literal{in: in, i: i, python: s.python}
			l.escape(b, "")
			i = l.i
			from = i
		case 0:
			writeValid(b, in[from:i])
			i++
			from = i
		default:
			switch s.stack.ends(in, i+1, false) {
			case unknown:
				writeValid(b, in[from:i])
				return i, false
			case yes:
				writeValid(b, in[from:i])
				return i + 1, true
			}
			i++
		}
	}
	n := from + wholeRunes(in[from:])
	writeValid(b, in[from:n])
	return n, false
}

// escapeWhole tells whether the escape at in[i] is there with all that decides on
// it: the second half of a pair too.
func escapeWhole(in string, i int) bool {
	if i+1 >= len(in) {
		return false
	}
	switch in[i+1] {
	case 'x':
		return i+4 <= len(in)
	case 'u':
		if !hexWhole(in, i+2) {
			return false
		}
		l := literal{in: in}
		r, ok := l.fourHex(i + 2)
		if !ok || r < 0xD800 || r > 0xDFFF {
			return true
		}
		rest := in[i+6:]
		if len(rest) < 2 {
			return rest != "" && rest[0] != '\\'
		}
		return rest[:2] != `\u` || hexWhole(rest, 2)
	}
	return true
}

// hexWhole tells whether four digits stand at in[i], or something else.
func hexWhole(in string, i int) bool {
	return i+4 <= len(in)
}

// writeValid writes s with U+FFFD for each byte that is not UTF-8, as writeString
// does.
func writeValid(b *strings.Builder, s string) {
	if utf8.ValidString(s) {
		b.WriteString(s)
		return
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		b.WriteRune(r)
		i += n
	}
}
