package salvage

import (
	"slices"
	"strings"
)

// gemmaFollower follows { … } in Gemma's notation and tells the strings at its top
// level that stand between special tokens.
type gemmaFollower struct {
	schema schema
	pos    int
	state  argumentState
	key    string
	told   bool
	seen   []string
	quote  string
	out    func(key, delta string)
}

func (f *gemmaFollower) read(in string) {
	for f.step(in) {
	}
}

func (f *gemmaFollower) step(in string) bool {
	switch f.state {
	case inTold:
		return f.text(in)
	case atEnd, silent:
		return false
	}
	for f.pos < len(in) && (blank(in[f.pos]) || f.state == atKey && in[f.pos] == ',') {
		f.pos++
	}
	if f.pos >= len(in) {
		return false
	}
	c := in[f.pos]
	switch f.state {
	case atOpening:
		return f.move(c == '{', 1, atKey)
	case atKey:
		if c == '}' {
			return f.move(true, 1, atEnd)
		}
		from, to, next, a := keyAt(in, f.pos, c)
		if a != yes {
			return a == no && f.move(false, 0, silent)
		}
		f.key = in[from:to]
		f.told = f.schema.tells(f.key) && !slices.Contains(f.seen, f.key)
		return f.move(true, next-f.pos, atColon)
	case atColon:
		return f.move(c == ':', 1, atValue)
	case atValue:
		return f.value(in)
	}
	return f.move(c == ',' || c == '}', 1, decideState(c == ',', atKey, atEnd))
}

// move passes n bytes into a state, or falls silent.
func (f *gemmaFollower) move(right bool, n int, next argumentState) bool {
	if f.state = silent; right {
		f.pos += n
		f.state = next
	}
	return right
}

func (f *gemmaFollower) value(in string) bool {
	rest := in[f.pos:]
	for _, q := range gemmaQuotes {
		if strings.HasPrefix(rest, q) {
			if f.told {
				f.seen = append(f.seen, f.key)
			}
			f.quote = q
			return f.move(true, len(q), inTold)
		}
		if strings.HasPrefix(q, rest) {
			return false
		}
	}
	j, a := scalarAt(in, f.pos)
	if a == yes {
		return f.move(true, j-f.pos, behindValue)
	}
	return a == no && f.move(false, 0, silent)
}

// sure returns how much of rest belongs to the string that is open, whatever comes:
// not what may be the start of a token that ends it or the call, and no brackets,
// which are no part of a string that is not ended.
func (f *gemmaFollower) sure(rest string) int {
	n := len(rest)
	if k := strings.LastIndexByte(rest, '<'); k >= 0 {
		_, partial := startsWithAny(rest[k:], []string{f.quote, gemmaClosers[0], gemmaClosers[1]})
		if partial {
			n = k
		}
	}
	return len(strings.TrimRight(rest[:n], "}] \t\r\n"))
}

// text tells the string that is open, as far as that is sure.
func (f *gemmaFollower) text(in string) bool {
	rest := in[f.pos:]
	n := strings.Index(rest, f.quote)
	whole := n >= 0
	if !whole {
		n = wholeRunes(rest[:f.sure(rest)])
	}
	if n > 0 && f.told {
		f.out(f.key, valid(rest[:n]))
	}
	f.pos += n
	if whole {
		f.pos += len(f.quote)
		f.state = behindValue
	}
	return whole
}
