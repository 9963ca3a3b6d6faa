// Package line makes one readable line of what a person or a model wrote: a title, a name.
//
// A text comes in; a line without characters that nobody sees goes out, and a shorter one
// that no character is cut in. It must not know what the line is for.
package line

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// Clean returns text as one line: runs of blanks are one blank, and control characters,
// marks that turn the direction of writing and characters that nobody sees are gone, but
// for the joiners inside of words and emoji. What holds nothing to be seen is "".
func Clean(text string) string {
	var b strings.Builder
	gap, seen := false, false
	var joiner rune // waits for what it joins
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' || blank(r):
			gap, joiner = seen, 0
			continue
		case r == '\u200C' || r == '\u200D':
			if !gap && seen {
				joiner = r
			}
			continue
		case hidden(r):
			continue
		}
		if gap {
			b.WriteByte(' ')
		}
		if joiner != 0 {
			b.WriteRune(joiner)
		}
		gap, joiner, seen = false, 0, true
		b.WriteRune(r)
	}
	return b.String()
}

// blank tells whether a character is drawn as nothing and counts as a letter: the fillers
// of Hangul and the blank of Braille.
func blank(r rune) bool {
	return r == '\u115F' || r == '\u1160' || r == '\u3164' || r == '\uFFA0' || r == '\u2800'
}

// hidden tells whether a character only steers how others are drawn. Selectors of a
// variant stay: they choose between a sign and its picture.
func hidden(r rune) bool {
	if unicode.Is(unicode.Variation_Selector, r) || r >= 0xE0020 && r <= 0xE007F { // tags of flags
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point)
}

// Cut returns text with at most that many characters as a person counts them, cut at a
// blank where there is one in the second half, and with an ellipsis where it was cut.
func Cut(text string, most int) string {
	if uniseg.GraphemeClusterCount(text) <= most {
		return text
	}
	end, blankAt, state := 0, 0, -1
	for n, rest := 0, text; ; n++ {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if cluster == " " && n > most/2 {
			blankAt = end
		}
		if n == most-1 {
			break
		}
		end += len(cluster)
	}
	if blankAt > 0 {
		end = blankAt
	}
	return strings.TrimRight(text[:end], " ,;:.") + "…"
}
