package llm

import "unicode/utf8"

// Tokens estimates how many tokens a text takes, on the high side for what people
// write and for what tools return. See Count.
func Tokens(text string) int {
	var c Count
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			c.add(weights[b], c.last, rune(b))
			c.last = rune(b)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		c.After(r)
		i += size
	}
	return c.Tokens()
}

// Count estimates tokens a character at a time, in sixths of one:
//
//   - three letters or blanks take one, but a capital letter within a word takes one of
//     its own, as in names of programs and in data written as letters;
//   - each digit takes one, since many models have no longer pieces of numbers, and two
//     other signs of ASCII take one;
//   - each other character takes one, those of scripts that are rare in what models
//     were made from two, and those beyond the basic plane, such as emoji, three.
//
// The zero value is that of no text.
type Count struct {
	sixths int
	// first and last are the characters at the ends, 0 for none.
	first, last rune
}

const (
	aThird, aHalf, one = 2, 3, 6
)

// weights are those of ASCII, in sixths.
var weights = func() (w [utf8.RuneSelf]int) {
	for b := range w {
		switch r := rune(b); {
		case isLower(r) || isUpper(r) || r == ' ' || r == '\n' || r == '\t':
			w[b] = aThird
		case isDigit(r):
			w[b] = one
		default:
			w[b] = aHalf
		}
	}
	return w
}()

func isLower(r rune) bool { return r >= 'a' && r <= 'z' }
func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// weight is what a character takes, in sixths.
func weight(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return weights[r]
	case r >= 0x10000:
		return 3 * one
	case r >= 0x0900 && r < 0x2000, r == 0x200D, r >= 0xFE00 &&
		r <= 0xFE0F: // from Devanagari to Greek Extended; what joins emoji
		return 2 * one
	}
	return one
}

// add counts a character of that weight, or what it takes more with another before it.
func (c *Count) add(weight int, before, r rune) {
	c.sixths += weight
	if isUpper(r) && (isLower(before) || isDigit(before)) {
		c.sixths += one - aThird
	}
}

// After adds a character at the end of the text.
func (c *Count) After(r rune) {
	c.add(weight(r), c.last, r)
	if c.first == 0 {
		c.first = r
	}
	c.last = r
}

// Before adds a character at the beginning of the text.
func (c *Count) Before(r rune) {
	c.sixths += weight(r)
	c.add(0, r, c.first)
	if c.last == 0 {
		c.last = r
	}
	c.first = r
}

// Tokens is how many the text takes.
func (c *Count) Tokens() int { return (c.sixths + one - 1) / one }
