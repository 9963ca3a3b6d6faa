package extractive

import (
	"strings"
	"unicode"
)

// abbreviations are words after whose dot a sentence goes on.
var abbreviations = set(`e.g i.e etc vs cf mr mrs ms dr prof st no fig approx incl resp ca z.b d.h u.a bzw usw`)

// sentences splits a paragraph. It never splits inside `code`, and not after an
// abbreviation, an initial or a number before a lower-case word.
func sentences(text string) []string {
	var out []string
	runes := []rune(text)
	start, code := 0, false
	for i := 0; i < len(runes); i++ {
		if runes[i] == '`' {
			code = !code
		}
		if code || !ends(runes[i]) {
			continue
		}
		after := i + 1 // closing quotes and brackets belong to the sentence
		for after < len(runes) && (ends(runes[after]) || closes(runes[after])) {
			after++
		}
		if breaks(runes, start, i, after) {
			out = appendSentence(out, runes[start:after])
			start = after
		}
		i = after - 1
	}
	return appendSentence(out, runes[start:])
}

func appendSentence(out []string, runes []rune) []string {
	if s := strings.TrimSpace(string(runes)); s != "" {
		return append(out, s)
	}
	return out
}

func ends(r rune) bool { return strings.ContainsRune(".!?…。！？؟।", r) }

func closes(r rune) bool { return strings.ContainsRune(`"'”’»)]*_」』`, r) }

// wide tells whether r ends a sentence without a space after it.
func wide(r rune) bool { return strings.ContainsRune("。！？", r) }

// breaks tells whether a sentence that began at start ends with the rune at i,
// when the text goes on at after.
func breaks(runes []rune, start, i, after int) bool {
	if wide(runes[i]) || after == len(runes) {
		return true
	}
	if !unicode.IsSpace(runes[after]) {
		return false
	}
	next := after
	for next < len(runes) && (unicode.IsSpace(runes[next]) || strings.ContainsRune("\"'“‘«(*_[`", runes[next])) {
		next++
	}
	if next < len(runes) && unicode.IsLower(runes[next]) && runes[next-1] != '`' {
		return false
	}
	if runes[i] != '.' {
		return true
	}
	from := i
	for from > start && !unicode.IsSpace(runes[from-1]) && runes[from-1] != '(' {
		from--
	}
	word := strings.ToLower(string(runes[from:i]))
	return !abbreviations[word] && (len([]rune(word)) != 1 || !unicode.IsLetter([]rune(word)[0]))
}
