package window

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// leastArgumentsTokens is what of the arguments of each call is kept at least, in
// tokens.
const leastArgumentsTokens = 60

// shortenArguments takes the middle out of what the last cycle's calls were called
// with, as much as is needed: all that are larger than a common size come down to it.
// The tools had them whole.
func (f *fitting) shortenArguments() {
	if f.fits() || f.cycle >= len(f.messages) {
		return
	}
	calls := slices.Clone(f.messages[f.cycle].ToolCalls)
	order, room := make([]int, len(calls)), f.budget-f.used
	for i, c := range calls {
		order[i] = i
		room += Tokens(c.Arguments)
	}
	slices.SortFunc(order, func(a, b int) int { return Tokens(calls[a].Arguments) - Tokens(calls[b].Arguments) })
	for k, at := range order {
		if level := max(room/(len(order)-k), leastArgumentsTokens); Tokens(calls[at].Arguments) > level {
			if short := shortArguments(calls[at].Arguments, level); Tokens(short) < Tokens(calls[at].Arguments) {
				calls[at].Arguments = short
				f.cut++
			}
		}
		room -= Tokens(calls[at].Arguments)
	}
	f.change(f.cycle, func(m *llm.Message) { m.ToolCalls = calls })
}

// shortArguments is an object of at most about so many tokens: the same fields, with
// the middle of their texts left out, or a line where that is still too much.
func shortArguments(arguments string, tokens int) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{"malformed_arguments": encoded(arguments)}
	}
	// Texts grow when they are written as JSON, so a first cut may not be enough.
	for level := tokens; level >= leastArgumentsTokens/2; level /= 2 {
		if short := shortFields(fields, level); Tokens(short) <= tokens {
			return short
		}
	}
	return string(encoded(map[string]string{"left_out": fmt.Sprintf("%s characters of arguments, to save room",
		Grouped(utf8.RuneCountInString(arguments)))}))
}

// shortFields brings the fields that are larger than a common size down to it.
func shortFields(fields map[string]json.RawMessage, tokens int) string {
	fields = maps.Clone(fields)
	names := slices.Sorted(maps.Keys(fields))
	slices.SortStableFunc(names, func(a, b string) int { return len(fields[a]) - len(fields[b]) })
	room := tokens
	for _, name := range names {
		room -= Tokens(name) + 2
	}
	for k, name := range names {
		if level := max(room/(len(names)-k), 0); Tokens(string(fields[name])) > level {
			fields[name] = shortValue(fields[name], level)
		}
		room -= Tokens(string(fields[name]))
	}
	return string(encoded(fields))
}

// shortValue is a text of at most about so many tokens in the place of a value, with
// its beginning, its end and between them how much is missing.
func shortValue(value json.RawMessage, tokens int) json.RawMessage {
	const line = 20 // tokens of what stands between
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	tokens = max(tokens-line, 0)
	head := Prefix(text, tokens*2/3)
	tail := suffix(text[len(head):], tokens-tokens*2/3)
	missing := utf8.RuneCountInString(text) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return encoded(fmt.Sprintf("%s[… %s characters left out to save room …]%s", head, Grouped(missing), tail))
}

// encoded writes texts and what was decoded as JSON, which cannot fail.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}
