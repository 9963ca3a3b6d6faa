package salvage

import "strings"

// literal reads one value the way models write them: JSON, Python literals, and
// what lies between: single or typographic quotes, unquoted keys, trailing or
// missing commas, comments, raw newlines and unescaped quotes in strings, missing
// closing brackets. It reads each byte once and never fails: what cannot be part
// of a value ends it.
type literal struct {
	in string
	i  int
	// stack is what is open, for the rule that ends strings.
	stack nesting
	// python says that backslashes follow Python's rules.
	python bool
	// cut says that the input ended inside the value, broken that it ended where no
	// closing bracket or quote makes it whole: behind a key.
	cut, broken bool
}

// maxDepth bounds nesting; what is deeper is null.
const maxDepth = 512

// parseLiteral reads the value that in begins with and returns what follows it.
func parseLiteral(in string) (v value, rest string, cut bool) {
	l := &literal{in: in}
	v = l.value()
	return v, in[l.i:], l.cut
}

// wholeLiteral reads in as exactly one value.
func wholeLiteral(in string) (value, bool) {
	v, rest, cut := parseLiteral(in)
	return v, v.kind != absent && !cut && strings.TrimSpace(rest) == ""
}

func (l *literal) space() {
	for l.i < len(l.in) {
		c := l.in[l.i]
		switch {
		case blank(c):
			l.i++
		case c == 0xC2 && strings.HasPrefix(l.in[l.i:], "\u00a0"):
			l.i += 2
		case c == '/' && l.comment("//", "\n"), c == '/' && l.comment("/*", "*/"), c == '#' && len(l.stack) > 0 &&
			l.comment("#", "\n"):
		default:
			return
		}
	}
}

func (l *literal) comment(open, end string) bool {
	rest := l.in[l.i:]
	if !strings.HasPrefix(rest, open) {
		return false
	}
	n := strings.Index(rest, end)
	if n < 0 || n > maxComment {
		n = min(len(rest), maxComment) - len(end)
	}
	l.i += max(n+len(end), len(open))
	return true
}

func (l *literal) peek() byte {
	if l.i < len(l.in) {
		return l.in[l.i]
	}
	return 0
}

func (l *literal) value() value {
	l.space()
	if len(l.stack) >= maxDepth {
		l.i, l.cut = len(l.in), true
		return value{kind: null}
	}
	c := l.peek()
	switch {
	case l.i >= len(l.in):
		l.cut = true
		return value{}
	case c == '{':
		return l.object()
	case c == '[' || c == '(':
		return l.list(c)
	case c == '"' || c == '\'' || l.smartQuote():
		return l.strings()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return l.number()
	case letter(c):
		return l.word()
	case c == '<':
		return l.placeholder()
	}
	return value{}
}

func (l *literal) smartQuote() bool {
	rest := l.in[l.i:]
	return strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "”") || strings.HasPrefix(rest, "‘")
}

// object reads { … }: an object, or a Python set as a list.
func (l *literal) object() value {
	l.i++
	l.stack = append(l.stack, '{')
	depth := len(l.stack)
	v := value{kind: object}
	set := value{kind: list}
	for l.entry('}') {
		l.stack[depth-1] = '{'
		before := l.i
		key := l.key()
		l.space()
		if c := l.peek(); c == ':' || c == '=' {
			l.i++
			l.stack[depth-1] = ':'
			item := l.entryValue()
			v.keys, v.items = append(v.keys, key.str), append(v.items, item)
		} else if key.kind != absent {
			l.broken = l.broken || l.i >= len(l.in) && len(set.items) == 0
			set.items = append(set.items, key)
		}
		if l.i == before {
			l.i++ // a byte that belongs to nothing
		}
	}
	l.stack = l.stack[:depth-1]
	if len(v.keys) == 0 && len(set.items) > 0 {
		return set
	}
	return v
}

// entryValue reads the value behind a key.
func (l *literal) entryValue() value {
	item := l.value()
	if item.kind == absent {
		item.kind = null
		l.broken = l.broken || l.i >= len(l.in)
	}
	return item
}

// key reads what stands before a colon, or an element of a set.
func (l *literal) key() value {
	if c := l.peek(); letter(c) {
		from := l.i
		for l.i < len(l.in) && (nameByte(l.in[l.i]) && l.in[l.i] != ':' || l.in[l.i] == '$') {
			l.i++
		}
		word := l.in[from:l.i]
		l.space()
		if l.peek() == ':' || l.peek() == '=' {
			return stringValue(word)
		}
		l.i = from
	}
	return l.value()
}

func (l *literal) list(open byte) value {
	l.i++
	l.stack = append(l.stack, open)
	depth := len(l.stack)
	v := value{kind: list}
	for l.entry(closerOf(open)) {
		before := l.i
		if item := l.value(); item.kind != absent {
			v.items = append(v.items, item)
		}
		if l.i == before {
			l.i++
		}
	}
	l.stack = l.stack[:depth-1]
	return v
}

// entry moves to the next entry of a container, past commas. It tells whether
// there is one; it consumes the closing bracket. The closing bracket of an outer
// container ends this one too.
func (l *literal) entry(closer byte) bool {
	for {
		l.space()
		if l.i >= len(l.in) {
			l.cut = true
			return false
		}
		c := l.in[l.i]
		switch c {
		case closer:
			l.i++
			return false
		case ',', ';':
			l.i++
		case '}', ']', ')':
			if l.outer(c) {
				l.cut = true
				return false
			}
			l.i++
		case '<':
			if l.i+1 < len(l.in) && (l.in[l.i+1] == '/' || l.in[l.i+1] == '|' || l.in[l.i+1] == 0xEF) {
				l.cut, l.i = true, len(l.in)
				return false
			}
			return true
		default:
			return true
		}
	}
}

// outer tells whether c closes a container further out.
func (l *literal) outer(c byte) bool {
	for _, open := range l.stack[:len(l.stack)-1] {
		if closerOf(open) == c {
			return true
		}
	}
	return false
}

// number reads digits and keeps them, without what JSON does not allow.
func (l *literal) number() value {
	from := l.i
	for l.i < len(l.in) && (nameByte(l.in[l.i]) && l.in[l.i] != ':' || l.in[l.i] == '+') {
		l.i++
	}
	raw := l.in[from:l.i]
	if n, ok := jsonNumber(raw); ok {
		return value{kind: number, str: n}
	}
	if raw == "-Infinity" || raw == "-inf" {
		return value{kind: null}
	}
	l.bare()
	return stringValue(strings.TrimSpace(l.in[from:l.i]))
}

// jsonNumber turns a number as people write it into one that JSON allows.
func jsonNumber(raw string) (string, bool) {
	s := strings.ReplaceAll(strings.TrimPrefix(raw, "+"), "_", "")
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	whole, rest := strings.TrimLeft(s[:digits], "0"), s[digits:]
	if whole == "" {
		whole = "0"
	}
	if digits == 0 && !strings.HasPrefix(rest, ".") {
		return "", false
	}
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		n := 1
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		fraction, rest = rest[:n], rest[n:]
		if n == 1 {
			if digits == 0 {
				return "", false
			}
			fraction = ".0"
		}
	}
	if rest != "" && !exponent(rest) {
		return "", false
	}
	return sign + whole + fraction + rest, true
}

func exponent(s string) bool {
	if s[0]|0x20 != 'e' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// word reads a name: a constant of JSON or Python, a prefixed Python string, a
// call, or text without quotes.
func (l *literal) word() value {
	from := l.i
	for l.i < len(l.in) && nameByte(l.in[l.i]) && l.in[l.i] != ':' {
		l.i++
	}
	w := l.in[from:l.i]
	if c := l.peek(); (c == '"' || c == '\'') && len(w) <= 2 {
		return l.strings()
	}
	switch w {
	case "true", "True", "TRUE":
		return value{kind: boolean, str: "true"}
	case "false", "False", "FALSE":
		return value{kind: boolean, str: "false"}
	case "null", "None", "undefined", "nil", "NaN", "nan", "Infinity", "NULL":
		return value{kind: null}
	}
	if l.peek() == '(' && len(l.stack) > 0 {
		call := l.arguments()
		if w == "dict" {
			return call.keywords
		}
		if len(call.positional) == 1 && len(call.keywords.keys) == 0 {
			return call.positional[0] // str(x), list(x), datetime("…")
		}
		return stringValue(l.in[from:l.i])
	}
	l.bare()
	return stringValue(strings.TrimSpace(l.in[from:l.i]))
}

// bare moves over text without quotes, to the end of the entry.
func (l *literal) bare() {
	for l.i < len(l.in) && !strings.ContainsRune(",}])\n", rune(l.in[l.i])) {
		l.i++
	}
}

// placeholder reads <something> as text.
func (l *literal) placeholder() value {
	from := l.i
	l.bare()
	return stringValue(strings.TrimSpace(l.in[from:l.i]))
}
