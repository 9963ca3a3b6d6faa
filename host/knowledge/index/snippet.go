package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
)

// MaxSnippet is the longest snippet, in code points, ellipses included.
const MaxSnippet = 240

// Snippet is a short extract of a passage without markup, around the part where
// most words of the question stand close together.
type Snippet struct {
	Text       string
	Highlights []Span // the words of the question in Text, in order
}

// Span is a range of code points.
type Span struct{ Start, End int }

// match is a word of the question in a text, in bytes.
type match struct{ start, end, term int }

func (a analysis) snippet(s stored, terms []term) Snippet {
	text := strings.Join(strings.Fields(s.Content), " ")
	if !s.Plain {
		text = extract.PlainLine(s.Content)
	}
	matches := a.matches(text, terms)
	start, end := window(text, matches)
	lead, tail := "", ""
	if start > 0 {
		lead = "… "
	}
	if end < len(text) {
		tail = " …"
	}
	out := Snippet{Text: lead + text[start:end] + tail}
	shift := utf8.RuneCountInString(lead)
	for _, m := range matches {
		if m.start >= start && m.end <= end {
			at := shift + utf8.RuneCountInString(text[start:m.start])
			span := Span{at, at + utf8.RuneCountInString(text[m.start:m.end])}
			if n := len(out.Highlights); n > 0 && span.Start < out.Highlights[n-1].End {
				out.Highlights[n-1].End = max(span.End, out.Highlights[n-1].End)
				continue
			}
			out.Highlights = append(out.Highlights, span)
		}
	}
	return out
}

func (a analysis) matches(text string, terms []term) []match {
	wanted := make(map[string]int, len(terms))
	for i, t := range terms {
		wanted[t.stemmed] = i
	}
	_, stemmed := a.both([]byte(text))
	var found []match
	for _, t := range stemmed {
		if i, ok := wanted[string(t.Term)]; ok && t.Start >= 0 && t.End <= len(text) && t.Start < t.End {
			found = append(found, match{t.Start, t.End, i})
		}
	}
	return found
}

// room is what a snippet holds beside its ellipses.
const room = MaxSnippet - 4

// window returns the byte range of text to show: at most room code points, cut
// between words, with the densest matches in its middle.
func window(text string, matches []match) (start, end int) {
	total := utf8.RuneCountInString(text)
	if total <= room {
		return 0, len(text)
	}
	first, last := densest(text, matches)
	// Spend what is left of the room on both sides.
	spare := room - utf8.RuneCountInString(text[first:last])
	start = back(text, first, spare/2)
	end = ahead(text, start, room)
	if end == len(text) {
		start = back(text, end, room)
	}
	return trim(text, start, end, first, last)
}

// densest returns the byte range, at most room code points long, with the most
// different words of the question, then with the most matches; the earliest of
// equals, cut after its last match.
func densest(text string, matches []match) (first, last int) {
	bestDistinct, bestCount := 0, 0
	counts := map[int]int{}
	i := 0
	for j, m := range matches {
		counts[m.term]++
		for i < j && utf8.RuneCountInString(text[matches[i].start:m.end]) > room {
			if counts[matches[i].term]--; counts[matches[i].term] == 0 {
				delete(counts, matches[i].term)
			}
			i++
		}
		if n := j - i + 1; len(counts) > bestDistinct || len(counts) == bestDistinct && n > bestCount {
			bestDistinct, bestCount = len(counts), n
			first, last = matches[i].start, m.end
		}
	}
	if utf8.RuneCountInString(text[first:last]) > room {
		last = ahead(text, first, room)
	}
	return first, last
}

// back and ahead move by at most n code points.
func back(text string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, w := utf8.DecodeLastRuneInString(text[:at])
		at -= w
	}
	return at
}

func ahead(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, w := utf8.DecodeRuneInString(text[at:])
		at += w
	}
	return at
}

// trim moves both ends inwards to white space, but not over the matches from
// first to last. A text without white space, as Chinese has, is cut as it is.
func trim(text string, start, end, first, last int) (int, int) {
	if start > 0 {
		if prev, _ := utf8.DecodeLastRuneInString(text[:start]); !unicode.IsSpace(prev) {
			if n := strings.IndexFunc(text[start:max(first, start)], unicode.IsSpace); n >= 0 {
				start += n
			}
		}
	}
	if end < len(text) {
		if next, _ := utf8.DecodeRuneInString(text[end:]); !unicode.IsSpace(next) {
			if n := strings.LastIndexFunc(text[min(last, end):end], unicode.IsSpace); n >= 0 {
				end = min(last, end) + n
			}
		}
	}
	for start < end && unicode.IsSpace(rune(text[start])) {
		start++
	}
	for end > start && unicode.IsSpace(rune(text[end-1])) {
		end--
	}
	return start, end
}
