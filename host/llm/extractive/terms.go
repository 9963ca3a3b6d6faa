package extractive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	folding "github.com/bulkhead-host/bulkhead/host/text/fold"
)

// filler are words that carry a question and not its subject.
var filler = set(`a about am an and any anything are as at be been being but by can could did do does doing for from
get give had has have having he her here him his how i if in into is it its just know let like may me might more most
must my need no not of off on one or our out please see she should show so some someone something tell than that the
their them then there these they this those to too up us use used using very want was way we were what what's when where
whether which who whom whose why will with would you your explain describe mean means work works find
der die das ein eine und oder ist sind wie was wer wo warum ich du wir mir im in zu von mit für auf kann man bitte look looks tell happen happens happened
le la les un une des et ou est sont comment que qui quoi je tu nous vous du de dans pour sur avec
el los las una y o es son cómo qué quién dónde por para con en del`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[fold(w)] = true
	}
	return out
}

// unspaced are scripts that do not put spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// wordsOf splits a text into words as they stand: runs of letters, marks and
// digits of any script, joined by single dots, dashes, underscores, slashes and
// apostrophes inside a word.
func wordsOf(text string) []string {
	var out []string
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !isWordRune(runes[i]) {
			i++
			continue
		}
		start := i
		for i < len(runes) && (isWordRune(runes[i]) || joins(runes, i)) {
			i++
		}
		out = append(out, string(runes[start:i]))
	}
	return out
}

// isWordRune takes soft hyphens and the like as parts of the word; folding drops them.
func isWordRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nd, unicode.M, unicode.Cf)
}

// joins tells whether the rune at i holds two parts of one word together.
func joins(runes []rune, i int) bool {
	return strings.ContainsRune(".-_/'’", runes[i]) && i+1 < len(runes) && isWordRune(runes[i+1])
}

// fold makes words comparable, however they are spelled.
func fold(word string) string {
	return folding.String(word)
}

// terms are what a text is compared by: folded words, the parts of compound
// words too, and pairs of characters where a script has no spaces.
func terms(text string) []string {
	var out []string
	for _, word := range wordsOf(text) {
		word = fold(word)
		if first, _ := utf8.DecodeRuneInString(word); unicode.In(first, unspaced...) {
			out = append(out, pairs(word)...)
			continue
		}
		out = append(append(out, word), partsOf(word)...)
	}
	return out
}

// partsOf returns the parts of a compound word, none of a simple one.
func partsOf(word string) []string {
	parts := strings.FieldsFunc(word, func(r rune) bool { return !isWordRune(r) })
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// partWeight is what a part counts of a compound word: "sign-in" is hardly about
// signing.
const partWeight = 0.5

// weighted returns the terms of a text with what each counts, 0 to 1.
func weighted(text string) map[string]float64 {
	out := map[string]float64{}
	for _, word := range wordsOf(text) {
		parts := partsOf(fold(word))
		for _, part := range parts {
			out[part] = max(out[part], partWeight)
		}
		for _, t := range terms(word) {
			if len(parts) == 0 || !slices.Contains(parts, t) {
				out[t] = 1
			}
		}
	}
	return out
}

func pairs(word string) []string {
	runes := []rune(word)
	if len(runes) == 1 {
		return []string{word}
	}
	out := make([]string, 0, len(runes)-1)
	for i := 0; i+1 < len(runes); i++ {
		out = append(out, string(runes[i:i+2]))
	}
	return out
}

// questionTerms are the distinct terms of a question, filler left out unless
// there is nothing else.
func questionTerms(question string) []string {
	var out, all []string
	seen := map[string]bool{}
	for _, t := range terms(question) {
		if seen[t] {
			continue
		}
		seen[t] = true
		all = append(all, t)
		if !filler[t] {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// alike tells how far two terms are the same word, 0 to 1: the same, or with
// different endings. It compares prefixes, which serves most languages that
// inflect at the end.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	short, long := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if short < 3 || long-short > 5 {
		return 0
	}
	if short < 5 {
		if strings.HasPrefix(b, a) && long-short <= 3 && (short == 4 || strings.HasSuffix(b, "s")) {
			return 0.8
		}
		return 0
	}
	n := common(a, b)
	if n >= short-1 || n >= 4 && endings[a[prefixBytes(a, n):]] && endings[b[prefixBytes(b, n):]] {
		return 0.85
	}
	return 0
}

// endings are what English words of one stem differ by.
var endings = map[string]bool{"": true, "e": true, "s": true, "es": true, "ed": true, "ing": true, "er": true,
	"ers": true, "ion": true, "ions": true, "able": true}

// prefixBytes is the length in bytes of the first n runes.
func prefixBytes(s string, n int) int {
	for at := range s {
		if n == 0 {
			return at
		}
		n--
	}
	return len(s)
}

// common counts the runes that a and b begin with alike.
func common(a, b string) int {
	n := 0
	for a != "" && b != "" {
		ra, sa := utf8.DecodeRuneInString(a)
		rb, sb := utf8.DecodeRuneInString(b)
		if ra != rb {
			break
		}
		a, b, n = a[sa:], b[sb:], n+1
	}
	return n
}
