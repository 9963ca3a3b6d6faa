package decode

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// signs are what Windows-1252 text has beside letters.
const signs = "€‚„…‘’“”•–—™£§©«®°±²³·»¿¡\u00a0µ½¼¾ºª¶¹¢¥¨´¸×÷¬†‡‰‹›"

// latin reads Windows-1252, which holds ISO-8859-1's letters, where that gives words:
// letters of other scripts in other encodings become runs of signs and capitals.
func latin(data []byte, _ string) (Text, bool) {
	t := through("windows-1252", charmap.Windows1252, data)
	t.Assumed = true
	high, run, longest := 0, 0, 0
	var before rune
	for i, r := range t.Text {
		if r < utf8.RuneSelf {
			run, before = 0, r
			continue
		}
		high++
		if run++; run > longest {
			longest = run
		}
		after, _ := utf8.DecodeRuneInString(t.Text[i+utf8.RuneLen(r):])
		switch {
		case unicode.IsLetter(r):
			// Hardly a word has ÿ or þ by itself: this is a stray byte.
			if (r == 'ÿ' || r == 'þ') && !unicode.IsLetter(before) && !unicode.IsLetter(after) {
				return t, false
			}
		case !strings.ContainsRune(signs, r),
			strings.ContainsRune("±²³¹¿¡¥¢£¶¼½¾", r) && unicode.IsLetter(before) && unicode.IsLetter(after):
			return t, false
		}
		before = r
	}
	return t, longest <= 3 && high*4 <= max(len(data), 8)
}

// alphabets are encodings of whole alphabets. They give each other's words with the
// wrong letters capital.
var alphabets = []struct {
	name     string
	encoding encoding.Encoding
	script   *unicode.RangeTable
}{
	{"windows-1251", charmap.Windows1251, unicode.Cyrillic},
	{"koi8-r", charmap.KOI8R, unicode.Cyrillic},
	{"ibm866", charmap.CodePage866, unicode.Cyrillic},
	{"windows-1253", charmap.Windows1253, unicode.Greek},
	{"iso-8859-5", charmap.ISO8859_5, unicode.Cyrillic},
	{"iso-8859-2", charmap.ISO8859_2, unicode.Latin},
	{"windows-1250", charmap.Windows1250, unicode.Latin},
}

// singleByte reads the other encodings of one byte for a character: alphabets by the
// shape of their words, the rest by what chardet says of their language.
func singleByte(data []byte, _ string) (Text, bool) {
	for _, a := range alphabets {
		t := through(a.name, a.encoding, data)
		if t.Assumed = true; t.Replaced == 0 && shaped(t.Text, a.script) {
			return t, true
		}
	}
	guess, err := chardet.NewTextDetector().DetectBest(data[:min(len(data), 64<<10)])
	if err != nil || guess.Confidence < 40 || guess.Charset == "ISO-8859-1" {
		return Text{}, false
	}
	e, name := charset.Lookup(guess.Charset)
	if e == nil || strings.HasPrefix(name, "utf-") || name == "replacement" {
		return Text{}, false
	}
	t := through(name, e, data)
	t.Assumed = true
	return t, t.Replaced == 0 && strings.IndexFunc(t.Text, func(r rune) bool { return r >= 0x80 && r < 0xa0 }) < 0
}

// shaped tells whether a text beyond ASCII is in one script, in words of small letters
// with capitals at their beginning.
func shaped(text string, script *unicode.RangeTable) bool {
	letters, wrong, small, russian := 0, 0, 0, 0
	var before rune
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
		case !unicode.Is(script, r):
			if !strings.ContainsRune("«»„“”–—№…\u00a0", r) {
				wrong++
			}
		default:
			letters++
			if r >= 'А' && r <= 'я' {
				russian++ // most of any Cyrillic text
			}
			if unicode.IsLower(r) {
				small++
			} else if unicode.IsLower(before) {
				wrong++
			}
			if before < utf8.RuneSelf && unicode.IsLetter(before) && script != unicode.Latin {
				wrong++ // no word is of two scripts
			}
		}
		before = r
	}
	if script == unicode.Cyrillic && russian*3 < letters*2 {
		return false
	}
	return letters > 3 && wrong*20 <= letters && small*2 > letters
}
