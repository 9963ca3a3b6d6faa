package fold

import "unicode"

// ignorable tells whether a character is invisible: it says where a word may be
// broken or how it is to be drawn, and belongs to no word.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// optional tells whether people leave the mark on base out: accents, the points of
// Hebrew and the vowels of Arabic. The marks of Indic scripts, of Thai and its
// neighbours and of kana make another word and stay.
func optional(base, mark rune) bool {
	switch base {
	case 'и', 'у':
		return mark != '\u0306' // й and ў are letters of their own
	case 'і':
		return mark != '\u0308' // and so is ї
	}
	return unicode.In(mark, unicode.Mn, unicode.Me) && unicode.In(base, accented...)
}

// accented are the scripts whose marks can be left out.
var accented = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Common,
}

// spellings are the letters that are also written otherwise and that Unicode does
// not take apart. Keys are in lower case.
var spellings = map[rune]string{
	'ß': "ss", 'ı': "i", 'ȷ': "j", 'æ': "ae", 'œ': "oe", 'ø': "o",
	'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ŧ': "t",
	'ĸ': "k", 'ŋ': "n", 'ƒ': "f", 'ς': "σ",
	// Arabic: the stretching line, Persian and Urdu keyboards, endings that are written without care.
	'ـ': "", 'ی': "ي", 'ى': "ي", 'ک': "ك", 'ة': "ه", 'ہ': "ه", 'ھ': "ه", 'ٱ': "ا",
	// Digits of other scripts come as digits; see init.
	'’': "'", '‘': "'", '‛': "'", 'ʼ': "'", 'ʻ': "'", 'ʹ': "'", '′': "'", '´': "'", '`': "'", '‵': "'", 'ꞌ': "'",
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '﹘': "-", '˗': "-", '⁃': "-",
	'׳': "'", '״': "\"", '־': "-",
}

// Digits of all scripts are the digits of ASCII.
func init() {
	for _, r := range unicode.Nd.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c++ {
			if c > '9' {
				spellings[c] = string('0' + (c-rune(r.Lo))%10)
			}
		}
	}
}
