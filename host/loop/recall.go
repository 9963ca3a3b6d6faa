package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/pattern"
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
	ID:    tool.OwnID(tool.RecallResult),
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
func (l *runner) recall(ctx context.Context, in tool.Invocation) (tool.Result, error) {
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
		return wrong("The result %s has %s characters; an offset is from 0 to %d.", r.Handle, window.Grouped(all),
			max(all-1, 0)), nil
	}
	room := recallTokens
	if tokens := l.contextTokens(); tokens > 0 {
		room = min(room, tokens/recallShare)
	}
	if args.Pattern != "" {
		return l.passages(ctx, r, args.Offset, args.Pattern, room)
	}
	rest := r.Text[byteAt(r.Text, args.Offset):]
	part := window.Prefix(rest, room)
	end := args.Offset + utf8.RuneCountInString(part)
	head := fmt.Sprintf("[%s: result of %s, %s characters, from offset %d to %d.", r.Handle, r.Tool,
		window.Grouped(all), args.Offset, end)
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
		return wrong("There is no result %q. The results are r1 to %s; the last are: %s.", headOf(asked, 20),
			results[len(results)-1].Handle, strings.Join(names, ", "))
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
func (l *runner) passages(
	ctx context.Context, r window.Result, offset int, expr string, room int,
) (tool.Result, error) {
	if utf8.RuneCountInString(expr) > maxPatternRunes {
		return wrong("The pattern is longer than %d characters. Look for something shorter.", maxPatternRunes), nil
	}
	p, ok := compile(expr)
	if !ok {
		return wrong("The pattern is too complex. Look for a few words, without counted repeats."), nil
	}
	found, err := matches(ctx, p, r.Text, byteAt(r.Text, offset))
	cut := errors.Is(err, pattern.ErrTooMuch)
	switch {
	case err != nil && !cut:
		return tool.Result{}, err
	case len(found) == 0 && cut:
		return wrong("The search took too long and was ended. Look for a few words, without repeats."), nil
	case len(found) == 0:
		return tool.Result{Text: fmt.Sprintf("[%s: result of %s: nothing from offset %d on matches %q.]", r.Handle,
			r.Tool, offset, expr)}, nil
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
	head := fmt.Sprintf("[%s: result of %s: the passages around %d of %d matches of %q.", r.Handle, r.Tool, shown,
		len(found), expr)
	if shown < len(found) {
		head += fmt.Sprintf(" Those that follow: offset %d.", utf8.RuneCountInString(r.Text[:found[shown][0]]))
	} else if cut {
		head += " There may be more: the search took too long and was ended."
	}
	return tool.Result{Text: head + "]" + b.String()}, nil
}

// maxInstructions is how large a pattern may be, in instructions of RE2, where it is
// more than words: each can cost ten milliseconds in the largest result.
const maxInstructions = 120

// compile reads a pattern; what is no regular expression is meant as it stands. It
// returns false for one that is too complex.
func compile(expr string) (*pattern.Pattern, bool) {
	tree, err := syntax.Parse("(?i)"+expr, syntax.Perl)
	if err != nil || regexp.QuoteMeta(expr) == expr {
		p, err := pattern.Compile("(?i)" + regexp.QuoteMeta(expr))
		return p, err == nil
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxInstructions {
		return nil, false
	}
	p, err := pattern.Compile("(?i)" + expr)
	return p, err == nil
}

const (
	// maxMatches is how many matches are counted.
	maxMatches = 1000
	// searchWork bounds a search, in readings of each character.
	searchWork = 4
)

// matches are the places, in bytes, that are not empty. With an error they are those
// before it.
func matches(ctx context.Context, p *pattern.Pattern, text string, from int) (found [][]int, err error) {
	for m, err := range p.All(ctx, text, from, searchWork*len(text)) {
		if err != nil {
			return found, err
		}
		if m[0] < m[1] {
			found = append(found, m[:2])
		}
		if len(found) == maxMatches {
			break
		}
	}
	return found, nil
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
