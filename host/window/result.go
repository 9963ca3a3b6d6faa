package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

const (
	// MaxShownRunes is the most of one result that a model is ever sent, in
	// characters. It may look up the rest.
	MaxShownRunes = 100_000
	// leastResultTokens is what of each result of the last cycle is kept at least, in
	// tokens.
	leastResultTokens = 200
)

// Handle is the short name by which a model knows the nth result of the path of
// messages, from 1, such as "r7". A path only grows at its end, so a handle means
// one result on it for ever.
func Handle(n int) string { return "r" + strconv.Itoa(n) }

// Result is a result of a tool on a path.
type Result struct {
	Handle string
	// Tool is the name by which it was called, and Text all that is kept.
	Tool, Text string
}

// Results returns the results of a history, in the order of their handles.
func Results(history []llm.Message) []Result {
	var out []Result
	for _, m := range history {
		if m.Role == llm.RoleTool {
			out = append(out, Result{Handle: Handle(len(out) + 1), Tool: m.ToolName, Text: m.Text})
		}
	}
	return out
}

// capResults cuts the results that are too large to be sent at all.
func (f *fitting) capResults() {
	n := 0
	for i, m := range f.messages {
		if m.Role != llm.RoleTool {
			continue
		}
		n++
		if len(m.Text) <= MaxShownRunes {
			continue
		}
		if all := utf8.RuneCountInString(m.Text); all > MaxShownRunes {
			f.capped[i] = true
			f.replace(i, headOf(m.Text, MaxShownRunes)+"\n"+f.missing(n, m.ToolName, all, MaxShownRunes, all))
		}
	}
	f.used = 0 // counted from here on
}

// leaveOutResults puts a line in the place of results, the oldest first, up to the
// message at end.
func (f *fitting) leaveOutResults(end int) {
	n := 0
	for i, m := range f.History[:end] {
		if m.Role != llm.RoleTool {
			continue
		}
		n++
		if f.fits() {
			return
		}
		if f.gone[i] {
			continue
		}
		if line := f.leftOut(n, m); Tokens(line) < Tokens(f.messages[i].Text) {
			f.shortened[i] = true
			f.replace(i, line)
		}
	}
}

// shortenLastCycle takes the middle out of the last cycle's results, as much as is
// needed: all that are larger than a common size come down to it.
func (f *fitting) shortenLastCycle() {
	if f.fits() {
		return
	}
	type sized struct{ i, n, tokens int }
	var results []sized
	n, other := 0, f.used
	for i, m := range f.History {
		if m.Role != llm.RoleTool {
			continue
		}
		n++
		if i > f.cycle {
			results = append(results, sized{i, n, Tokens(f.messages[i].Text)})
			other -= Tokens(f.messages[i].Text)
		}
	}
	slices.SortFunc(results, func(a, b sized) int { return a.tokens - b.tokens })
	room := f.budget - other
	for k, r := range results {
		if level := max(room/(len(results)-k), leastResultTokens); r.tokens > level {
			f.shortened[r.i] = true
			f.replace(r.i, f.headAndTail(r.n, f.History[r.i], level))
		}
		room -= Tokens(f.messages[r.i].Text)
	}
}

// leftOut is the line that stands for a result.
func (f *fitting) leftOut(n int, m llm.Message) string {
	return fmt.Sprintf("[%s: result of %s, %s characters, left out to save room.%s]",
		Handle(n), m.ToolName, Grouped(utf8.RuneCountInString(m.Text)), f.hint("it"))
}

// missing is the line that stands for the characters from one offset to another.
func (f *fitting) missing(n int, name string, all, from, to int) string {
	return fmt.Sprintf("[%s: result of %s, %s characters; those from offset %s to %s are left out to save room.%s]",
		Handle(n), name, Grouped(all), Grouped(from), Grouped(to), f.hint("them"))
}

// hint says how to look something up, where that is possible.
func (f *fitting) hint(what string) string {
	if f.Recall == nil {
		return ""
	}
	return fmt.Sprintf(" %s shows %s.", f.Recall.Name, what)
}

// headAndTail is a result of at most about tokens tokens: two thirds of its
// beginning, a third of its end, and between them what is missing.
func (f *fitting) headAndTail(n int, m llm.Message, tokens int) string {
	const line = 80 // tokens of the line between
	tokens = max(tokens-line, 0)
	head := Prefix(m.Text, tokens*2/3)
	tail := suffix(m.Text[len(head):], tokens-tokens*2/3)
	all := utf8.RuneCountInString(m.Text)
	return head + "\n" + f.missing(n, m.ToolName, all, utf8.RuneCountInString(head), all-utf8.RuneCountInString(tail)) +
		"\n" + tail
}

// headOf is the first n characters of a text.
func headOf(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Prefix is the longest beginning of a text that takes at most so many tokens.
func Prefix(text string, tokens int) string {
	var c llm.Count
	for i, r := range text {
		if c.After(r); c.Tokens() > tokens {
			return text[:i]
		}
	}
	return text
}

// suffix is the longest end of a text that takes at most so many tokens.
func suffix(text string, tokens int) string {
	var c llm.Count
	for end := len(text); end > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:end])
		if c.Before(r); c.Tokens() > tokens {
			return text[end:]
		}
		end -= size
	}
	return text
}

// Grouped writes a number that is not negative with commas, as "41,200".
func Grouped(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
