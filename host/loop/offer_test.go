package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

func named(specs []tool.Spec) (out []string) {
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

var office = []tool.Spec{
	{Name: "calendar_read", Description: "Reads the entries of a day."},
	{Name: "readCalendarRules", Description: "Reads how meetings repeat."},
	{Name: "mail_send", Title: "Send a mail", Description: "Sends a message to somebody."},
	{Name: "files_list", Description: "Names the files of a folder."},
}

func TestToolsAreRankedByWhatTheyDo(t *testing.T) {
	c := newCatalogue(office)
	for query, want := range map[string][]string{
		"read my calendar": {"calendar_read", "readCalendarRules"},
		"Mail":             {"mail_send"},
		"files":            {"files_list"},
		"FILES_LIST":       {"files_list"},
		"nothing":          nil,
		"":                 nil,
	} {
		if got := named(c.best(query, 8)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	if got := named(c.best("read calendar", 1)); len(got) != 1 {
		t.Errorf("more than asked for: %v", got)
	}
}

func TestWordsAreInLowerCaseWithoutPluralsAndSigns(t *testing.T) {
	if got := wordsOf("readCalendar_rules, HTTP2 class Maße"); !slices.Equal(got,
		[]string{"read", "calendar", "rule", "http2", "class", "masse"}) {
		t.Errorf("%q", got)
	}
	if got := wordsOf("Cafe\u0301 cafés ka\u00adlender"); !slices.Equal(got, []string{"cafe", "cafe", "kalender"}) {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		for _, w := range wordsOf(text) {
			if w == "" || strings.ContainsFunc(w, func(r rune) bool {
				return !unicode.IsLetter(r) &&
					!unicode.IsDigit(r) && !unicode.IsMark(r)
			}) {
				t.Fatalf("%q in the words of %q", w, text)
			}
		}
	})
}

func many(n int) (specs []tool.Spec) {
	for i := range n {
		specs = append(specs, tool.Spec{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("word ", 30),
			InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return specs
}

func TestASmallSetOfToolsIsOfferedWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		tools, window int
		whole         bool
	}{
		"forty":                  {MaxOffered, 0, true},
		"forty-one":              {MaxOffered + 1, 0, false},
		"ten in a large window":  {10, 8192, true},
		"ten in a small window":  {10, 1000, false},
		"none in a small window": {0, 100, true},
	} {
		if o := newOffer(many(tc.tools), tc.window, ""); (o.catalogue == nil) != tc.whole {
			t.Errorf("%s: whole is not %v", name, tc.whole)
		}
	}
}

// TestWhatIsOfferedOfManyToolsFitsItsBudget: whatever was found, used or named.
func TestWhatIsOfferedOfManyToolsFitsItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		specs, size := many(rapid.IntRange(41, 120).Draw(t, "tools")),
			rapid.SampledFrom([]int{0, 600, 3000, 30_000}).Draw(t, "window")
		names := rapid.SliceOf(rapid.SampledFrom(append(named(specs), "gone")))
		l := &runner{Setup: Setup{Model: windowed(size), Specs: specs, Named: names.Draw(t, "named"), Forced: "tool_7"},
			offer: newOffer(specs, size, "")}
		l.offer.found = names.Draw(t, "found")
		for _, name := range names.Draw(t, "used") {
			l.history = append(l.history, llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{Name: name}}})
		}
		got, cost := named(l.offered()), 0
		if got[len(got)-1] != tool.FindTools || got[0] != "tool_7" && !slices.Contains(got, "tool_7") {
			t.Fatalf("%v", got)
		}
		got = got[:len(got)-1]
		for _, s := range specs {
			if slices.Contains(got, s.Name) {
				cost += window.ToolTokens(definition(s))
			}
		}
		if len(got) > MaxOffered || size > 0 && cost > size/offerShare {
			t.Fatalf("%d tools of %d tokens", len(got), cost)
		}
		if !slices.IsSortedFunc(got, func(a, b string) int {
			return slices.Index(named(specs),
				a) - slices.Index(named(specs), b)
		}) {
			t.Fatalf("out of order: %v", got)
		}
	})
}
