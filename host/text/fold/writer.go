package fold

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// writer collects the folded characters with their places.
type writer struct {
	Text
	letters bool // accents and spellings of letters are kept
	digit   bool // the last character written is a digit
	base    rune // the last character that is no mark, in lower case; 0 before the first
}

func (w *writer) fold(text []byte) {
	var segments norm.Iter
	for segments.Init(norm.NFKC, text); !segments.Done(); {
		start := segments.Pos()
		segment := segments.Next()
		w.segment(segment, text[start:], start, segments.Pos())
	}
}

// segment folds a composed character with its marks, which stands at start to end
// of the source; source begins there.
func (w *writer) segment(composed, source []byte, start, end int) {
	if r, _ := utf8.DecodeRune(source); w.digit && unicode.Is(unicode.No, r) {
		// 10² is not 102.
		w.write([]byte{' '}, start, start)
	}
	if len(composed) == 1 {
		if lower, ok := lowerASCII(composed); ok {
			w.base = rune(lower[0])
			w.write(lower, start, end)
			return
		}
	}
	kept := make([]byte, 0, 2*len(composed))
	for _, r := range string(norm.NFD.Bytes(composed)) {
		if ignorable(r) {
			continue
		}
		if unicode.Is(unicode.M, r) {
			if !w.letters && optional(w.base, r) {
				continue
			}
		} else {
			w.base = unicode.ToLower(r)
		}
		if spelling, ok := spellings[unicode.ToLower(r)]; ok && !(w.letters && unicode.IsLetter(r)) {
			kept = append(kept, spelling...)
			continue
		}
		kept = utf8.AppendRune(kept, unicode.ToLower(r))
	}
	w.write(norm.NFC.Bytes(kept), start, end)
}

func (w *writer) write(folded []byte, start, end int) {
	if len(folded) == 0 {
		return
	}
	for range folded {
		w.from, w.to = append(w.from, int32(start)), append(w.to, int32(end))
	}
	w.Folded = append(w.Folded, folded...)
	last, _ := utf8.DecodeLastRune(folded)
	w.digit = unicode.IsDigit(last)
}
