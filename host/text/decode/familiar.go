package decode

import "unicode"

// familiar counts the characters of ASCII, of East Asia's punctuation and kana, and of
// one alphabet in units that were read in some order. It is 0 where they are too few
// or too many others are none that a text has: units in the wrong order are like that.
func familiar(text string, unit int) int {
	all, known, ascii, bad := 0, 0, 0, 0
	blocks := map[rune]int{} // by the high byte of a unit
	for _, r := range text {
		all++
		switch {
		case odd(r):
			bad++
		case r < 0x80:
			ascii++
		case 0x3000 <= r && r <= 0x30ff, 0xff01 <= r && r <= 0xff60:
			known++
		case r < 0x2000 && r >= 0x200 && r>>8 != 0x1e: // beyond Latin
			blocks[r>>8]++
		}
	}
	strange := 0
	for _, n := range blocks {
		if n*3 > all {
			known += n
		} else {
			strange += n
		}
	}
	if bad*20 > all || bad > 0 && all < 8 || ascii == 0 && all < 4 || strange*8 > all {
		return 0
	}
	if unit == 2 && (known+ascii)*8 <= all {
		return 0
	}
	return max(known+ascii, 1)
}

// oddities counts the characters that no text has.
func oddities(text string) int {
	n := 0
	for _, r := range text {
		if odd(r) {
			n++
		}
	}
	return n
}

func odd(r rune) bool {
	return r == '\uFFFD' || control(r) || r >= 0x80 &&
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cf)
}
