package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// windowed is a model of which only its window matters.
type windowed int

func (w windowed) Info() llm.Info { return llm.Info{ContextTokens: int(w)} }
func (windowed) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(func(llm.Event, error) bool) {}
}

// recalled is what recall_result shows of results.
func recalled(t *testing.T, w windowed, arguments string, results ...string) tool.Result {
	t.Helper()
	l := &runner{Setup: Setup{Model: w}}
	for _, text := range results {
		l.history = append(l.history, llm.Message{Role: llm.RoleTool, ToolName: "read", Text: text})
	}
	r, err := l.recall(t.Context(), tool.Invocation{Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecallShowsAPartAndSaysHowToGoOn(t *testing.T) {
	long := strings.Repeat("abcdefghij", 2000)
	for name, tc := range map[string]struct {
		window          windowed
		arguments, want string
	}{
		"the beginning": {0, `{"handle":"r2"}`,
			"[r2: result of read, 20,000 characters, from offset 0 to 9000. It goes on at offset 9000.]\nabcd"},
		"the next part": {0, `{"handle":"r2","offset":9000}`,
			"from offset 9000 to 18000. It goes on at offset 18000.]"},
		"the end":                     {0, `{"handle":"r2","offset":18000}`, "from offset 18000 to 20000.]\n"},
		"an eighth of a small window": {800, `{"handle":"r2"}`, "from offset 0 to 300. It goes on"},
		"no room for less than the least": {0, `{"handle":"r1"}`,
			"[r1: result of read, 3 characters, from offset 0 to 3.]\né漢x"},
	} {
		if got := recalled(t, tc.window, tc.arguments, "é漢x", long); got.Failure != nil ||
			!strings.Contains(got.Text, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got.Failure, tc.want)
		}
	}
}

func TestRecallNamesTheResultsThereAre(t *testing.T) {
	many := make([]string, 30)
	for name, tc := range map[string]struct {
		results []string
		want    string
	}{
		"none": {nil, `There is no result "r77": no tool has returned one yet.`},
		"two":  {many[:2], `There is no result "r77". The results are: r1 (read), r2 (read).`},
		"many": {many, `There is no result "r77". The results are r1 to r30; the last are: r11 (read), r12`},
	} {
		got := recalled(t, 0, `{"handle":"r77"}`, tc.results...)
		if got.Failure == nil || got.Failure.Kind != tool.FailureInput || !strings.HasPrefix(got.Text, tc.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRecallShowsThePassagesAroundMatches(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "Entry %d was written at noon.\n", i)
	}
	text := b.String()
	for name, tc := range map[string]struct {
		window           windowed
		arguments        string
		want, without    string
		passages, longer int
	}{
		"without regard to case": {arguments: `{"handle":"r1","pattern":"ENTRY 77 "}`,
			want: "around 1 of 1 matches", passages: 1},
		"a regular expression": {arguments: `{"handle":"r1","pattern":"entry (77|300) "}`,
			want: "around 2 of 2 matches", passages: 2},
		"what is no expression": {arguments: `{"handle":"r1","pattern":"(noon"}`,
			want: `nothing from offset 0 on matches "(noon"`},
		"from an offset on": {arguments: `{"handle":"r1","pattern":"entry (77|300) ","offset":6000}`,
			want: "around 1 of 1 matches", without: "Entry 77 ", passages: 1},
		"no more than there is room": {window: 2000, arguments: `{"handle":"r1","pattern":"entry \\d*50 "}`,
			want: "around 1 of 4 matches of \"entry \\\\d*50 \". Those that follow: offset 4540.", passages: 1},
		"a pattern that is too long": {arguments: `{"handle":"r1","pattern":"` + strings.Repeat("x", 201) + `"}`,
			want: "longer than 200 characters"},
		"a pattern that is too slow": {arguments: `{"handle":"r1","pattern":"(a?){300}b"}`, want: "too complex"},
		"many words": {arguments: `{"handle":"r1","pattern":"` + strings.Repeat("word ", 39) + `"}`,
			want: "nothing from offset 0 on"},
		"an empty match is none": {arguments: `{"handle":"r1","pattern":"z*"}`, want: "nothing from offset 0 on"},
		"a match behind empty ones": {arguments: `{"handle":"r1","pattern":"(entry 399)*"}`,
			want: "around 1 of 1 matches", passages: 1},
		"matches that read on": {arguments: `{"handle":"r1","pattern":"noon(?s:.*#)?"}`,
			want: "the search took too long and was ended", passages: 1},
		"only empty ones, too many": {arguments: `{"handle":"r1","pattern":"(e(?s:.*#))*"}`,
			want: "The search took too long"},
		"many that stand together": {arguments: `{"handle":"r1","pattern":"noon"}`, want: " of 400 matches",
			passages: 4},
	} {
		got := recalled(t, tc.window, tc.arguments, text)
		if !strings.Contains(got.Text, tc.want) || tc.without != "" && strings.Contains(got.Text, tc.without) ||
			strings.Count(got.Text, "\n[offset ") < tc.passages {
			t.Errorf("%s: %.300q", name, got.Text)
		}
		if n := window.Tokens(got.Text); n > recallTokens+200 {
			t.Errorf("%s: %d tokens", name, n)
		}
	}
}

func FuzzRecall(f *testing.F) {
	f.Add("r1", 0, "", "a result")
	f.Add("[R1]", 3, "re(s|z)ult", "a résult, a result")
	f.Add("1", -1, "(", "\xff\x00")
	f.Add("rr1", 1<<40, strings.Repeat("a*", 90), strings.Repeat("漢", 4000))
	f.Fuzz(func(t *testing.T, handle string, offset int, pattern, text string) {
		arguments, err := json.Marshal(map[string]any{"handle": handle, "offset": offset, "pattern": pattern})
		if err != nil {
			t.Fatal(err)
		}
		got := recalled(t, 0, string(arguments), strings.ToValidUTF8(text, "?"))
		if got.Text == "" || !utf8.ValidString(got.Text) || window.Tokens(got.Text) > recallTokens+2000 {
			t.Fatalf("%+v", got)
		}
	})
}
