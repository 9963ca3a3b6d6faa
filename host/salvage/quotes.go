package salvage

// This file decides where a string ends. Models forget to escape quotes inside
// strings, so a quote ends its string only when what follows it can follow a
// value at that place: the closing brackets that are open, a comma with a new
// entry behind it, or the end. In well-formed input that is every unescaped
// quote, so the rule costs well-formed calls nothing.

// answer is yes, no, or unknown until more input comes.
type answer uint8

const (
	no answer = iota
	yes
	unknown
)

const (
	// maxGap is how much whitespace a decision looks across.
	maxGap = 64
	// maxKey is how long a key a decision looks across.
	maxKey = 128
)

// nesting is the stack of open brackets: '{' before a key, ':' in the value of a
// key, '[' and '('.
type nesting []byte

func (n nesting) top() byte {
	if len(n) == 0 {
		return 0
	}
	return n[len(n)-1]
}

func closerOf(open byte) byte {
	switch open {
	case '{', ':':
		return '}'
	case '[':
		return ']'
	case '(':
		return ')'
	}
	return 0
}

// ends tells whether the quote that stands just before in[i] ends its string.
func (n nesting) ends(in string, i int, final bool) answer {
	j, a := nextToken(in, i, final)
	if a != no {
		return a
	}
	if n.top() == '{' {
		return decide(in[j] == ':' || in[j] == ',' || in[j] == '}' || in[j] == '=')
	}
	for depth := len(n); ; {
		if depth == 0 {
			return yes
		}
		open, c := n[depth-1], in[j]
		switch {
		case c == closerOf(open):
			depth--
			if depth == 0 {
				return yes
			}
			if j, a = nextToken(in, j+1, final); a != no {
				return a
			}
		case c == ',':
			return entryFollows(in, j+1, open, final)
		case c == '/' && j+1 >= len(in) && !final:
			return unknown
		case c == '/' && j+1 < len(in) && (in[j+1] == '/' || in[j+1] == '*'):
			return yes // a comment
		case c == ';':
			return decide(depth < len(n))
		case c == '<':
			return markupFollows(in, j, final)
		case (c == ']' || c == '}') && open != '(':
			return n.outerCloses(in, j, depth, final)
		case c == '"' && open == ':' && depth == len(n):
			return keyFollows(in, j, final) // the comma is missing
		case c == '{' && open == '[' && depth < len(n): // between objects, too
			k, a := nextToken(in, j+1, final)
			if a != no {
				return a
			}
			return keyFollows(in, k, final)
		default:
			return no
		}
	}
}

func decide(b bool) answer {
	if b {
		return yes
	}
	return no
}

// nextToken returns the place of the next byte that is not whitespace. Its answer
// is no when there is one, else it is the decision: yes at the end of the input
// and after a long gap, unknown when more may come.
func nextToken(in string, i int, final bool) (int, answer) {
	for start := i; ; i++ {
		switch {
		case i >= len(in) && final, i-start > maxGap:
			return i, yes
		case i >= len(in):
			return i, unknown
		case !blank(in[i]):
			return i, no
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// outerCloses decides at a closing bracket that fits no innermost but an outer
// one, whose inner closers are missing: the end must follow.
func (n nesting) outerCloses(in string, j, depth int, final bool) answer {
	for depth > 0 && closerOf(n[depth-1]) != in[j] {
		depth--
	}
	if depth == 0 {
		return no
	}
	k, a := nextToken(in, j+1, final)
	if a != no {
		return a
	}
	if in[k] == '<' {
		return markupFollows(in, k, final)
	}
	return decide(depth > 1 && closerOf(n[depth-2]) == in[k])
}

// markupFollows decides at a '<' after a quote: a closing tag or token ends the
// string.
func markupFollows(in string, j int, final bool) answer {
	if j+1 >= len(in) {
		if final {
			return no
		}
		return unknown
	}
	c := in[j+1]
	return decide(c == '/' || c == '|' || c == 0xEF)
}

// entryFollows decides after a comma: does a new entry of the container follow?
func entryFollows(in string, i int, open byte, final bool) answer {
	j, a := nextToken(in, i, final)
	if a != no {
		return a
	}
	c := in[j]
	switch open {
	case '{', ':':
		return keyFollows(in, j, final)
	case '(':
		if c == ')' || c == '*' {
			return yes
		}
		if letter(c) {
			return wordThen(in, j, '=', final)
		}
	case '[':
		if c == ']' || c == 't' || c == 'f' || c == 'n' || c == 'T' || c == 'F' || c == 'N' {
			return yes
		}
		if letter(c) { // the next call of a list
			return wordThen(in, j, '(', final)
		}
	}
	return decide(c == '"' || c == '\'' || c == '{' || c == '[' || c == '-' || c == 0xE2 || c >= '0' && c <= '9')
}

// keyFollows decides whether a key and its colon stand at in[j].
func keyFollows(in string, j int, final bool) answer {
	c := in[j]
	switch {
	case c == '}' || c == 0xE2 || c == '/':
		return yes
	case letter(c):
		return wordThen(in, j, ':', final)
	case c != '"' && c != '\'':
		return no
	}
	for k := j + 1; ; k++ {
		switch {
		case k-j > maxKey:
			return yes
		case k >= len(in) && final:
			return yes
		case k >= len(in):
			return unknown
		case in[k] == c:
			m, a := nextToken(in, k+1, final)
			if a != no {
				return a
			}
			return decide(in[m] == ':' || c == '\'' && (in[m] == ',' || in[m] == '}'))
		}
	}
}

// wordThen decides whether a word and then the byte want stand at in[j].
func wordThen(in string, j int, want byte, final bool) answer {
	k := j
	for k < len(in) && nameByte(in[k]) && in[k] != ':' && k-j < maxKey {
		k++
	}
	m, a := nextToken(in, k, final)
	switch {
	case a == unknown:
		return unknown
	case a == yes:
		return decide(final && m >= len(in))
	}
	return decide(in[m] == want)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// nameByte tells whether c may stand in the name of a tool.
func nameByte(c byte) bool {
	return letter(c) || c >= '0' && c <= '9' || c == '.' || c == '-' || c == ':' || c == '/'
}
