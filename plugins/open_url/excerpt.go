package main

import (
	"fmt"
	"strings"
	"unicode"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// The caps on what the model reads, in characters.
const (
	maxPage  = 15_000
	maxTotal = 150_000
)

// source is where documents of this tool live.
const source = "web"

// present gives a page its ref and cuts it to at most n characters around what
// is looked for. It returns false when no ref is left.
func present(c *pdk.Call, asked string, p page, query string, n int) (result, bool) {
	id := p.URL
	if c.Context.Citations[asked] != 0 {
		id = asked // the conversation knows it by the address that was given
	}
	title := p.Title
	if title == "" {
		title = hostOf(p.URL)
	}
	text, cut := excerpt(p.Text, query, n)
	ref := c.Cite(pdk.Document{ID: id, Title: title, URL: id, Snippet: snippet(text), Source: source,
		UpdatedAt: p.Date})
	if ref == 0 {
		return result{}, false
	}
	r := result{Ref: ref, Title: title, Source: source, URL: p.URL, UpdatedAt: p.Date, Content: text,
		Note: strings.TrimSpace(p.Note + " " + cut)}
	if p.Truncated {
		r.Note = strings.TrimSpace(r.Note + fmt.Sprintf(" The page is larger than %d MiB; what follows was not read.",
			maxBytes>>20))
	}
	return r, true
}

// snippet is the first of the text that is no heading, for a person.
func snippet(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if letters(line) > 30 && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "|") &&
			!strings.HasPrefix(line, "```") {
			return oneLine(line, 240)
		}
	}
	return oneLine(text, 240)
}

// piece is a line or a part of a long one.
type piece struct {
	text  string
	runes int
	score float64
}

// excerpt returns at most n characters of a text: those around what is looked
// for, or the first. The note says which part it is, "" for the whole.
func excerpt(text, query string, n int) (part, note string) {
	total := len([]rune(text))
	if total <= n {
		return text, ""
	}
	pieces := cutPieces(text, max(n/10, 1))
	score(pieces, query)
	from, to := window(pieces, n)
	var b strings.Builder
	before := 0
	for i, p := range pieces {
		if i < from {
			before += p.runes
		} else if i < to {
			b.WriteString(p.text)
		}
	}
	part = strings.TrimRight(b.String(), "\n")
	last := before + len([]rune(part))
	return part, fmt.Sprintf("Characters %d to %d of %d are shown. Call open_url again with a query about another "+
		"part to read that.", before+1, last, total)
}

// cutPieces cuts a text at its lines, and lines that are longer than most at
// words where it can.
func cutPieces(text string, most int) []piece {
	var out []piece
	for line := range strings.Lines(text) {
		runes := []rune(line)
		for len(runes) > most {
			at := most
			for at > most*3/4 && !unicode.IsSpace(runes[at-1]) {
				at--
			}
			if at <= most*3/4 {
				at = most
			}
			out = append(out, piece{text: string(runes[:at]), runes: at})
			runes = runes[at:]
		}
		out = append(out, piece{text: string(runes), runes: len(runes)})
	}
	return out
}

// score counts the words of the query in each piece; a word that is rare on the
// page counts for more.
func score(pieces []piece, query string) {
	words := queryWords(query)
	lower := make([]string, len(pieces))
	for i, p := range pieces {
		lower[i] = strings.ToLower(p.text)
	}
	for _, w := range words {
		found := 0
		for _, text := range lower {
			if strings.Contains(text, w) {
				found++
			}
		}
		if len(pieces) > 20 && 5*found > len(pieces) {
			continue // it is everywhere and tells nothing
		}
		for i, text := range lower {
			if found > 0 && strings.Contains(text, w) {
				pieces[i].score += 1 / float64(found)
			}
		}
	}
}

// queryWords are the words of a query that can tell one part from another; of
// scripts without spaces, pairs of characters.
func queryWords(query string) []string {
	seen := map[string]bool{}
	var words []string
	add := func(w string) {
		if !seen[w] && len(words) < 64 {
			seen[w] = true
			words = append(words, w)
		}
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(query),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(w)
		if unicode.In(runes[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
			for i := 0; i+1 < len(runes); i++ {
				add(string(runes[i : i+2]))
			}
			continue
		}
		if len(runes) > 2 && !strings.HasPrefix(w, "http") && w != "www" {
			add(w)
		}
	}
	return words
}

// window returns the run of pieces, at most n characters, that says most about
// the query; of runs that say as much, the one in which it stands in the middle,
// and without a query the first.
func window(pieces []piece, n int) (from, to int) {
	best, bestFrom, bestTo := -1.0, 0, 0
	runes, sum := 0, 0.0
	for end := 0; end < len(pieces); end++ {
		runes += pieces[end].runes
		sum += pieces[end].score
		for runes > n {
			runes -= pieces[from].runes
			sum -= pieces[from].score
			from++
		}
		if sum > best+1e-9 {
			best, bestFrom, bestTo = sum, from, end+1
		}
	}
	if best <= 0 {
		return fit(pieces, 0, n)
	}
	// The window ends at the last hit; drop what comes before the first one and
	// set the hits in the middle.
	first := bestFrom
	for pieces[first].score == 0 {
		first++
	}
	used := 0
	for _, p := range pieces[first:bestTo] {
		used += p.runes
	}
	lead := (n - used) / 2
	for first > 0 && pieces[first-1].runes <= lead {
		first--
		lead -= pieces[first].runes
	}
	from, to = fit(pieces, first, n)
	// At the end of the text there is room before.
	for left := n - size(pieces[from:to]); from > 0 && pieces[from-1].runes <= left; {
		from--
		left -= pieces[from].runes
	}
	return from, to
}

// fit returns the pieces from one on that have n characters.
func fit(pieces []piece, from, n int) (int, int) {
	to := from
	for to < len(pieces) && n >= pieces[to].runes {
		n -= pieces[to].runes
		to++
	}
	return from, to
}

func size(pieces []piece) int {
	n := 0
	for _, p := range pieces {
		n += p.runes
	}
	return n
}
