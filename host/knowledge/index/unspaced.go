package index

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	banalysis "github.com/blevesearch/bleve/v2/analysis"
)

// southeast are the scripts of Southeast Asia that put no spaces between words and
// that Unicode's rules for words leave to dictionaries.
var southeast = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham,
	unicode.Tai_Viet, unicode.Ahom,
}

// unspaced finds the words of a text: what stands in a script without spaces
// becomes its characters and pairs of them, all else is the other tokenizer's.
type unspaced struct{ banalysis.Tokenizer }

func (u unspaced) Tokenize(text []byte) banalysis.TokenStream {
	var all banalysis.TokenStream
	for at := 0; at < len(text); {
		start := at + index(text[at:], true)
		for _, t := range u.Tokenizer.Tokenize(text[at:start]) {
			t.Start, t.End = t.Start+at, t.End+at
			all = append(all, t)
		}
		at = start + index(text[start:], false)
		all = append(all, grams(text[start:at], start, clusters(text[start:at]), true)...)
	}
	return all
}

// index is where the first character stands that is of these scripts, or is not;
// the length of text for none.
func index(text []byte, of bool) int {
	i := bytes.IndexFunc(text, func(r rune) bool {
		return (r > 0xe00 && unicode.In(r, southeast...) && (unicode.In(r, unicode.L, unicode.M))) == of
	})
	if i < 0 {
		return len(text)
	}
	return i
}

// clusters are where the characters of a run end, each with its marks and what a
// virama stacks below it.
func clusters(run []byte) []int {
	var ends []int
	stacked := false
	for i := 0; i < len(run); {
		r, n := utf8.DecodeRune(run[i:])
		if i > 0 && !stacked && !unicode.Is(unicode.M, r) {
			ends = append(ends, i)
		}
		stacked = r == '\u17d2' || r == '\u1039' || r == '\u1a60'
		i += n
	}
	return append(ends, len(run))
}

// grams are the characters of a run, if they are wanted, and its pairs.
func grams(run []byte, at int, ends []int, single bool) banalysis.TokenStream {
	var out banalysis.TokenStream
	add := func(from, to int, kind banalysis.TokenType) {
		out = append(out, &banalysis.Token{
			Term: run[from:to:to], Start: at + from, End: at + to, Position: len(out) + 1, Type: kind,
		})
	}
	from := 0
	for i, to := range ends {
		if single && to > from {
			add(from, to, banalysis.Single)
		}
		if i+1 < len(ends) {
			add(from, ends[i+1], banalysis.Double)
		}
		from = to
	}
	return out
}

// syllables adds to a Korean word of more than two syllables its pairs, because
// particles and other nouns are written together with it.
type syllables struct{}

func (syllables) Filter(in banalysis.TokenStream) banalysis.TokenStream {
	out := make(banalysis.TokenStream, 0, len(in))
	for _, t := range in {
		out = append(out, t)
		if r, _ := utf8.DecodeRune(t.Term); t.Type == banalysis.AlphaNumeric && unicode.Is(unicode.Hangul, r) {
			if ends := clusters(t.Term); len(ends) > 2 {
				out = append(out, grams(t.Term, t.Start, ends, false)...)
			}
		}
	}
	return out
}
