package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

const (
	// recallTokens bounds what one call of recall_result shows, in tokens; it is no
	// more than the recallShare of the window, an eighth.
	recallTokens = 3000
	recallShare  = 8
	// maxPatternRunes is the longest pattern, in characters.
	maxPatternRunes = 200
	// around is how many characters are shown on each side of a match at most.
	around = 200
	// handlesNamed is how many results a model is told of that asked for one that does
	// not exist.
	handlesNamed = 20
)

var recallSpec = tool.Spec{
	Name:  tool.RecallResult,
	Title: "Look up an earlier result",
	Description: "Shows an earlier tool result, or a part of one, that was left out of the conversation to save room. " +
		"A line such as [r3: result of ..., left out to save room.] names its handle. " +
		"Give a pattern to see only the passages around its matches.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"handle":{"type":"string","description":"The handle of the result, such as r3."},` +
		`"offset":{"type":"integer","description":"The first character to show, from 0."},` +
		`"pattern":{"type":"string","description":"Words or a regular expression (RE2) to look for, without regard to case."}},` +
		`"required":["handle"]}`),
}

// recallDef is recall_result as a model is told of it.
var recallDef = definition(recallSpec)

// recall shows a part of an earlier result: recall_result.
func (l *runner) recall(_ context.Context, in tool.Invocation) (tool.Result, error) {
	args, err := arguments[struct {
		Handle, Pattern string
		Offset          int
	}](in)
	if err != nil {
		return tool.Result{}, err
	}
	results := window.Results(l.history)
	i := slices.IndexFunc(results, func(r window.Result) bool { return r.Handle == handleIn(args.Handle) })
	if i < 0 {
		return noHandle(args.Handle, results), nil
	}
	r := results[i]
	all := utf8.RuneCountInString(r.Text)
	if args.Offset < 0 || args.Offset >= max(all, 1) {
		return wrong("The result %s has %s characters; an offset is from 0 to %d.", r.Handle, window.Grouped(all), max(all-1, 0)), nil
	}
	room := recallTokens
	if tokens := l.contextTokens(); tokens > 0 {
		room = min(room, tokens/recallShare)
	}
	if args.Pattern != "" {
		return l.passages(r, args.Offset, args.Pattern, room), nil
	}
	rest := r.Text[byteAt(r.Text, args.Offset):]
	part := window.Prefix(rest, room)
	end := args.Offset + utf8.RuneCountInString(part)
	head := fmt.Sprintf("[%s: result of %s, %s characters, from offset %d to %d.", r.Handle, r.Tool, window.Grouped(all), args.Offset, end)
	if end < all {
		head += fmt.Sprintf(" It goes on at offset %d.", end)
	}
	return tool.Result{Text: head + "]\n" + part}, nil
}

// handleIn reads a handle as models write them: r3, R3, 3 or [r3].
func handleIn(text string) string {
	text = strings.ToLower(strings.Trim(strings.TrimSpace(text), "[]"))
	if strings.HasPrefix(text, "r") {
		return text
	}
	return "r" + text
}

// noHandle names the results that there are.
func noHandle(asked string, results []window.Result) tool.Result {
	if len(results) == 0 {
		return wrong("There is no result %q: no tool has returned one yet.", headOf(asked, 20))
	}
	var names []string
	for _, r := range results[max(0, len(results)-handlesNamed):] {
		names = append(names, fmt.Sprintf("%s (%s)", r.Handle, r.Tool))
	}
	if more := len(results) - len(names); more > 0 {
		return wrong("There is no result %q. The results are r1 to %s; the last are: %s.", headOf(asked, 20), results[len(results)-1].Handle, strings.Join(names, ", "))
	}
	return wrong("There is no result %q. The results are: %s.", headOf(asked, 20), strings.Join(names, ", "))
}

// headOf is the first n characters of a text, for sentences.
func headOf(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// byteAt is where the character with that offset begins.
func byteAt(text string, offset int) int {
	for i := range text {
		if offset == 0 {
			return i
		}
		offset--
	}
	return len(text)
}

// passages shows what stands around the matches of a pattern from an offset on, as
// many as there is room for.
func (l *runner) passages(r window.Result, offset int, pattern string, room int) tool.Result {
	if utf8.RuneCountInString(pattern) > maxPatternRunes {
		return wrong("The pattern is longer than %d characters. Look for something shorter.", maxPatternRunes)
	}
	re, ok := compile(pattern)
	if !ok {
		return wrong("The pattern is too complex. Look for a few words, without counted repeats.")
	}
	found := matches(re, r.Text, byteAt(r.Text, offset))
	if len(found) == 0 {
		return tool.Result{Text: fmt.Sprintf("[%s: result of %s: nothing from offset %d on matches %q.]", r.Handle, r.Tool, offset, pattern)}
	}
	var b strings.Builder
	shown, near := 0, min(around, room)
	for shown < len(found) {
		from, to, n := passage(r.Text, found[shown:], near)
		text := r.Text[from:to]
		if shown > 0 && window.Tokens(b.String())+window.Tokens(text) > room {
			break
		}
		fmt.Fprintf(&b, "\n[offset %d]\n%s", utf8.RuneCountInString(r.Text[:from]), window.Prefix(text, room))
		shown += n
	}
	head := fmt.Sprintf("[%s: result of %s: the passages around %d of %d matches of %q.", r.Handle, r.Tool, shown, len(found), pattern)
	if shown < len(found) {
		head += fmt.Sprintf(" Those that follow: offset %d.", utf8.RuneCountInString(r.Text[:found[shown][0]]))
	}
	return tool.Result{Text: head + "]" + b.String()}
}

// maxInstructions is how large a pattern may be, in instructions of RE2, where it is
// more than words. A search cannot be stopped, and each instruction can cost ten
// milliseconds in the largest result.
const maxInstructions = 120

// compile reads a pattern; what is no regular expression is meant as it stands. It
// returns false for one that is too complex.
func compile(pattern string) (*regexp.Regexp, bool) {
	words := regexp.MustCompile("(?i)" + regexp.QuoteMeta(pattern))
	tree, err := syntax.Parse("(?i)"+pattern, syntax.Perl)
	if err != nil || regexp.QuoteMeta(pattern) == pattern {
		return words, true
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxInstructions {
		return nil, false
	}
	re, err := regexp.Compile("(?i)" + pattern)
	return re, err == nil
}

// maxMatches is how many matches are counted.
const maxMatches = 1000

// matches are the places, in bytes, that are not empty.
func matches(re *regexp.Regexp, text string, from int) [][]int {
	found := re.FindAllStringIndex(text[from:], maxMatches)
	found = slices.DeleteFunc(found, func(m []int) bool { return m[0] == m[1] })
	for _, m := range found {
		m[0], m[1] = m[0]+from, m[1]+from
	}
	return found
}

// longPassage is the length in bytes at which a passage takes in no further match.
const longPassage = 1500

// passage is what stands around the first of the matches, near characters on each
// side, and around those after it that stand so close that their passages meet; n is
// how many.
func passage(text string, found [][]int, near int) (from, to, n int) {
	from, to = back(text, found[0][0], near), forward(text, found[0][1], near)
	for n = 1; n < len(found) && to-from < longPassage && back(text, found[n][0], near) <= to; n++ {
		to = forward(text, found[n][1], near)
	}
	return from, to, n
}

// back is where the text begins that is shown before a place.
func back(text string, at, near int) int {
	for range near {
		if at == 0 {
			break
		}
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

// forward is where the text ends that is shown behind a place.
func forward(text string, at, near int) int {
	for range near {
		if at == len(text) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
