package window

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

var recall = llm.ToolDef{Name: "recall_result", Description: "Shows it."}

// cycle is a call with its result.
func cycle(id, result string) []llm.Message {
	return []llm.Message{
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "read", Arguments: "{}"}}},
		{Role: llm.RoleTool, ToolCallID: id, ToolName: "read", Text: result},
	}
}

func texts(messages []llm.Message) (out []string) {
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			out = append(out, m.Text)
		}
	}
	return out
}

func TestOldResultsGiveWayBeforeExchanges(t *testing.T) {
	big := strings.Repeat("abc", 300)
	history := slices.Concat([]llm.Message{{Role: llm.RoleUser, Text: "one"}}, cycle("1", big), cycle("2", big),
		[]llm.Message{{Role: llm.RoleAssistant, Text: "ok"}, {Role: llm.RoleUser, Text: "two"}}, cycle("3", big))
	fitted, err := Fit(Ask{History: history, Latest: 6, Recall: &recall, ContextTokens: 1100})
	if err != nil || fitted.Dropped != 0 || fitted.LeftOut != 1 {
		t.Fatalf("%+v, %v", fitted, err)
	}
	want := []string{"[r1: result of read, 900 characters, left out to save room. recall_result shows it.]", big, big}
	if got := texts(fitted.Messages); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if history[2].Text != big {
		t.Error("the history that came in was changed")
	}
}

func TestTheLastCyclesResultsAreShortenedOnlyWhenNothingElseHelps(t *testing.T) {
	big, small := strings.Repeat("x", 6000)+"END", "small"
	history := slices.Concat([]llm.Message{{Role: llm.RoleUser, Text: "one"},
		{Role: llm.RoleAssistant, Text: strings.Repeat("abc", 200)}, {Role: llm.RoleUser, Text: "two"}},
		[]llm.Message{{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "read"},
			{ID: "2", Name: "read"}}},
			{Role: llm.RoleTool, ToolCallID: "1", ToolName: "read", Text: big},
			{Role: llm.RoleTool, ToolCallID: "2", ToolName: "read", Text: small}})
	fitted, err := Fit(Ask{History: history, Latest: 2, Recall: &recall, ContextTokens: 1200})
	if err != nil || fitted.Dropped != 2 || fitted.LeftOut != 1 {
		t.Fatalf("%+v, %v", fitted, err)
	}
	got := texts(fitted.Messages)
	if !strings.HasPrefix(got[0], "xxx") || !strings.HasSuffix(got[0], "END") || got[1] != small {
		t.Errorf("got %q", got)
	}
	if want := "[r1: result of read, 6,003 characters; those from offset "; !strings.Contains(got[0], want) {
		t.Errorf("no %q in %q", want, got[0])
	}
	if fitted, err = Fit(Ask{History: history, Latest: 2, ContextTokens: 3200}); err != nil || fitted.Dropped != 0 ||
		fitted.LeftOut != 0 {
		t.Errorf("where all fits something was left out: %+v, %v", fitted, err)
	}
}

func TestAResultBeyondWhatIsEverSentIsCappedAndNamed(t *testing.T) {
	fitted, err := Fit(Ask{History: slices.Concat([]llm.Message{{Role: llm.RoleUser, Text: "q"}},
		cycle("1", strings.Repeat("é", MaxShownRunes+7))), Recall: &recall})
	if err != nil || fitted.LeftOut != 0 || fitted.Capped != 1 || !fitted.Partial() {
		t.Fatalf("%d left out, %d capped, %v", fitted.LeftOut, fitted.Capped, err)
	}
	text := texts(fitted.Messages)[0]
	if want := "\n[r1: result of read, 100,007 characters; those from offset 100,000 to 100,007 are left out to save " +
		"room. recall_result shows them.]"; !strings.HasSuffix(text, want) {
		t.Errorf("ends with %q", text[len(text)-200:])
	}
}

func TestEarlierCyclesGiveWayWhenTheirCallsAloneAreTooMuch(t *testing.T) {
	history := []llm.Message{{Role: llm.RoleUser, Text: "q"}}
	for i := range 20 {
		c := cycle(fmt.Sprint(i), "done")
		c[0].ToolCalls[0].Arguments = strings.Repeat("abc", 100)
		history = append(history, c...)
	}
	fitted, err := Fit(Ask{History: history, ContextTokens: 800})
	if err != nil || fitted.Dropped == 0 || fitted.Messages[0].Text != "q" ||
		fitted.Messages[len(fitted.Messages)-1].ToolCallID != "19" {
		t.Errorf("%d dropped, %v", fitted.Dropped, err)
	}
}

func TestResultsOfOneCycleThatAreTooManyAreLeftOutAltogether(t *testing.T) {
	history := []llm.Message{{Role: llm.RoleUser, Text: "q"}, {Role: llm.RoleAssistant}}
	for i := range 40 {
		id := fmt.Sprint(i)
		history[1].ToolCalls = append(history[1].ToolCalls, llm.ToolCall{ID: id, Name: "read", Arguments: "{}"})
		history = append(history, llm.Message{Role: llm.RoleTool, ToolCallID: id, ToolName: "read",
			Text: strings.Repeat("abc", 300)})
	}
	fitted, err := Fit(Ask{History: history, Recall: &recall, ContextTokens: 6000})
	if err != nil || len(fitted.Messages) != 42 || fitted.LeftOut != 40 {
		t.Fatalf("%d messages, %d left out, %v", len(fitted.Messages), fitted.LeftOut, err)
	}
	got := texts(fitted.Messages)
	if !strings.HasSuffix(got[0], "left out to save room. recall_result shows it.]") ||
		!strings.HasPrefix(got[39], "abc") {
		t.Errorf("first %q, last %q", got[0], got[39])
	}
}

// TestWhatIsSentFitsAndKeepsEachCallWithItsResult holds for any history: what is
// sent fits, it has the latest message, each call has its one result, the handle in
// each line that stands for a result is that result's, and what is not shortened is
// what it was.
func TestWhatIsSentFitsAndKeepsEachCallWithItsResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ask := drawAsk(t)
		fitted, err := Fit(ask)
		if err != nil {
			if !errors.Is(err, ErrTooLong) {
				t.Fatal(err)
			}
			return
		}
		tools := ask.Tools
		if fitted.Partial() && ask.Recall != nil {
			tools = append(slices.Clone(tools), *ask.Recall)
		}
		used := Tokens(ask.System) + toolTokens(tools)
		for _, m := range fitted.Messages {
			if m.Role != llm.RoleSystem {
				used += m.Tokens(ask.Sees)
			}
		}
		if budget := ask.ContextTokens - ask.ContextTokens/replyShare; used > budget {
			t.Fatalf("%d tokens in a budget of %d", used, budget)
		}
		open, latest := map[string]bool{}, false
		for _, m := range fitted.Messages {
			latest = latest || m.Role == llm.RoleUser && m.Text == ask.History[ask.Latest].Text
			if m.Role != llm.RoleTool {
				if len(open) > 0 {
					t.Fatalf("calls without results: %v", open)
				}
				for _, c := range m.ToolCalls {
					open[c.ID] = true
					if before := argumentsOf(ask.History, c.ID); c.Arguments != before &&
						(!json.Valid([]byte(c.Arguments)) || Tokens(c.Arguments) >= Tokens(before)) {
						t.Fatalf("arguments %q became %q", before, c.Arguments)
					}
				}
				continue
			}
			if !open[m.ToolCallID] {
				t.Fatalf("a result without its call: %q", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			original := resultOf(ask.History, m.ToolCallID)
			if m.Text != original.Text && !strings.Contains(m.Text, "["+original.Handle+": result of ") {
				t.Fatalf("%q stands for %s", m.Text, original.Handle)
			}
		}
		if !latest {
			t.Fatal("the latest message is not sent")
		}
	})
}

func resultOf(history []llm.Message, callID string) Result {
	n := 0
	for _, m := range history {
		if m.Role == llm.RoleTool {
			if m.ToolCallID == callID {
				return Results(history)[n]
			}
			n++
		}
	}
	return Result{}
}

func argumentsOf(history []llm.Message, callID string) string {
	for _, m := range history {
		for _, c := range m.ToolCalls {
			if c.ID == callID {
				return c.Arguments
			}
		}
	}
	return ""
}

func drawAsk(t *rapid.T) Ask {
	ask := Ask{System: "Be brief.", ContextTokens: rapid.IntRange(300, 6000).Draw(t, "window")}
	if rapid.Bool().Draw(t, "recall") {
		ask.Recall = &recall
	}
	size := rapid.IntRange(1, 3000)
	for q := range rapid.IntRange(1, 3).Draw(t, "questions") {
		ask.Latest = len(ask.History)
		ask.History = append(ask.History, llm.Message{Role: llm.RoleUser, Text: fmt.Sprintf("question %d", q)})
		for range rapid.IntRange(0, 4).Draw(t, "cycles") {
			m := llm.Message{Role: llm.RoleAssistant}
			var results []llm.Message
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := fmt.Sprintf("c%d.%d", len(ask.History), len(results))
				m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "read", Arguments: drawArguments(t, size)})
				results = append(results, llm.Message{Role: llm.RoleTool, ToolCallID: id, ToolName: "read",
					Text: strings.Repeat(rapid.SampledFrom([]string{"a", "é"}).Draw(t, "letter"),
						size.Draw(t, "size"))})
			}
			ask.History = append(append(ask.History, m), results...)
			if rapid.IntRange(0, 5).Draw(t, "told") == 0 {
				ask.History = append(ask.History, llm.Message{Role: llm.RoleUser, Text: NoTools})
			}
		}
		if rapid.Bool().Draw(t, "answered") {
			ask.History = append(ask.History, llm.Message{Role: llm.RoleAssistant,
				Text: strings.Repeat("word ", size.Draw(t, "words")/5)})
		}
	}
	return ask
}

// drawArguments are mostly none, else an object with long texts or what is no object.
func drawArguments(t *rapid.T, size *rapid.Generator[int]) string {
	long := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "\"\n", "<1>"}).Draw(t, "piece"), size.Draw(t, "long"))
	switch rapid.IntRange(0, 5).Draw(t, "arguments") {
	case 0:
		return string(encoded(map[string]any{"text": long, "name": "short", "list": []string{long}}))
	case 1:
		return long
	}
	return "{}"
}

func TestLongArgumentsOfTheLastCycleAreCutAndNotTheTurn(t *testing.T) {
	text := strings.Repeat("line of a file\n", 2000)
	arguments := string(encoded(map[string]any{"path": "notes.md", "content": text, "mode": 420}))
	history := []llm.Message{
		{Role: llm.RoleUser, Text: "q"},
		{Role: llm.RoleAssistant, Text: "I write.",
			ToolCalls: []llm.ToolCall{{ID: "a", Name: "write", Arguments: arguments},
				{ID: "b", Name: "clock", Arguments: `{"zone":"UTC"}`}}},
		{Role: llm.RoleTool, ToolCallID: "a", ToolName: "write", Text: "done"},
		{Role: llm.RoleTool, ToolCallID: "b", ToolName: "clock", Text: "noon"},
	}
	fitted, err := Fit(Ask{History: history, ContextTokens: 2000})
	if err != nil || fitted.Cut != 1 || fitted.Dropped+fitted.LeftOut != 0 {
		t.Fatalf("%+v, %v", fitted, err)
	}
	var got struct {
		Path, Content string
		Mode          int
	}
	calls := fitted.Messages[1].ToolCalls
	if err := json.Unmarshal([]byte(calls[0].Arguments), &got); err != nil {
		t.Fatal(err)
	}
	if got.Path != "notes.md" || got.Mode != 420 || !strings.HasPrefix(got.Content, "line of a file\n") ||
		!strings.HasSuffix(got.Content, "file\n") ||
		!strings.Contains(got.Content, "characters left out to save room") {
		t.Errorf("got %+v", got)
	}
	if n := Tokens(calls[0].Arguments); n < 700 {
		t.Errorf("only %d tokens are kept", n)
	}
	if calls[1] != history[1].ToolCalls[1] || history[1].ToolCalls[0].Arguments != arguments {
		t.Error("what came in was changed")
	}
}

func TestATextIsCutAtATokenAndNeverInACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "tokens")
		for _, part := range []string{Prefix(text, n), suffix(text, n)} {
			if Tokens(part) > n || utf8.ValidString(text) && !utf8.ValidString(part) {
				t.Fatalf("%q of %q takes %d tokens", part, text, Tokens(part))
			}
			if Tokens(text) <= n && part != text {
				t.Fatalf("%q is cut to %q and would fit %d tokens", text, part, n)
			}
		}
	})
}

func TestNumbersAreGroupedByThrees(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 41200: "41,200", 1234567: "1,234,567"} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) is %q, want %q", n, got, want)
		}
	}
}
