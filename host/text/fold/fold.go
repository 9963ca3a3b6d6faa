// Package fold makes the spellings of a word equal, so that what was written one
// way is found when it is asked for another way.
//
// A text comes in; out go its folded form and, for each part of that, where it
// stands in the text. It must not know who searches, nor what for. The result is
// for comparing only and is never shown.
package fold

import (
	"unicode/utf8"
)

// Text is a folded text.
type Text struct {
	// Folded is in lower case and composed, without marks that are often left out,
	// invisible characters and variants of a character's form.
	Folded []byte
	// from and to are the bytes of the source that each byte of Folded stands for;
	// nil where they are the same.
	from, to []int32
}

// String folds s. It is safe for concurrent use.
func String(s string) string { return string(Of([]byte(s)).Folded) }

// Letters folds s as String does but keeps its letters with their accents: for who
// must not take Peña for Pena. It is safe for concurrent use.
func Letters(s string) string {
	w := writer{letters: true}
	w.fold([]byte(s))
	return string(w.Folded)
}

// Of folds text, which is at most 2 GiB of UTF-8. It is safe for concurrent use,
// and neither changes text nor keeps it.
func Of(text []byte) Text {
	if out, plain := lowerASCII(text); plain {
		return Text{Folded: out}
	}
	n := len(text)
	w := writer{Text: Text{Folded: make([]byte, 0, n), from: make([]int32, 0, n), to: make([]int32, 0, n)}}
	w.fold(text)
	return w.Text
}

// Span returns the range of the source that the bytes start to end of Folded stand
// for. A range of none of its bytes, or beyond it, gives 0, 0.
func (t Text) Span(start, end int) (from, to int) {
	switch {
	case start < 0 || start >= end || end > len(t.Folded):
		return 0, 0
	case t.from == nil:
		return start, end
	}
	return int(t.from[start]), int(t.to[end-1])
}

// lowerASCII returns text in lower case where it is ASCII.
func lowerASCII(text []byte) (lower []byte, plain bool) {
	lower = make([]byte, len(text))
	for i, c := range text {
		switch {
		case c >= utf8.RuneSelf:
			return nil, false
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '`':
			c = '\''
		}
		lower[i] = c
	}
	return lower, true
}
