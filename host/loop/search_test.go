package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// searching is a model with a search of its provider's, that says one step after
// another and keeps what it was asked.
type searching struct {
	steps [][]llm.Event
	asked *[]llm.Request
	plain bool
}

func (m searching) Info() llm.Info { return llm.Info{Name: "m", NativeSearch: !m.plain} }

func (m searching) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	*m.asked = append(*m.asked, req)
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range m.steps[len(*m.asked)-1] {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// labelled is a tool that answers with a word.
type labelled struct{ name, label string }

func (t labelled) Spec() tool.Spec {
	return tool.Spec{Name: t.name, Labels: []string{t.label}, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (labelled) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: "word"}, nil
}

func call(name string) []llm.Event {
	return []llm.Event{llm.ToolCallDelta{Name: name, ArgumentsDelta: "{}"}, llm.Finish{Reason: llm.FinishToolCalls}}
}

// TestTheProvidersSearchIsWithdrawnOncePrivateDataAndStrangersMet looks at each
// request: whether the search could still be used.
func TestTheProvidersSearchIsWithdrawnOncePrivateDataAndStrangersMet(t *testing.T) {
	searched := []llm.Event{llm.ServerTool{Name: "web_search"}, llm.ToolCallDelta{Name: "mail", ArgumentsDelta: "{}"},
		llm.Finish{Reason: llm.FinishToolCalls}}
	answer := []llm.Event{llm.Text{Delta: "Done."}, llm.Finish{Reason: llm.FinishStop}}
	for name, tc := range map[string]struct {
		steps   [][]llm.Event
		met     []string
		plain   bool
		barred  bool
		want    []bool
		notices int
	}{
		"private data alone": {steps: [][]llm.Event{call("mail"), answer}, want: []bool{false, false}},
		"strangers alone":    {steps: [][]llm.Event{call("page"), answer}, want: []bool{false, false}},
		"both by tools": {steps: [][]llm.Event{call("mail"), call("page"), call("page"), answer},
			want: []bool{false, false, true, true}, notices: 1},
		"its own search and a tool": {steps: [][]llm.Event{searched, answer}, want: []bool{false, true},
			notices: 1},
		"private data of an old answer": {steps: [][]llm.Event{call("page"), answer},
			met: []string{tool.LabelPrivateData}, want: []bool{false, true}, notices: 1},
		"not allowed from the start": {steps: [][]llm.Event{call("mail"), call("page"), answer}, barred: true,
			want: []bool{true, true, true}},
		"a model without a search": {steps: [][]llm.Event{call("mail"), call("page"), answer}, plain: true,
			want: []bool{false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []llm.Request
			log, n := journal.New("r_1", 1), 0
			emit := packet.NewEmitter(log, 0)
			now := func() time.Time { return time.Unix(0, 0) }
			tools := []tool.Tool{labelled{"mail", tool.LabelPrivateData}, labelled{"page", tool.LabelUntrustedContent}}
			runner := toolrun.New(toolrun.Config{Tools: tools, Refs: toolrun.NewRefs(0),
				Documents: cite.NewDocuments(nil), Emit: emit, Now: now,
				NewID: func() string { n++; return fmt.Sprintf("c%d", n) }})
			history := []llm.Message{{Role: llm.RoleUser, Text: "q"}}
			result := loop.Run(t.Context(), loop.Setup{Model: searching{tc.steps, &asked, tc.plain}, History: history,
				Met: tc.met, Runner: runner, NoServerTools: tc.barred,
				Specs: []tool.Spec{tools[0].Spec(), tools[1].Spec()}, Documents: cite.NewDocuments(nil), Emit: emit,
				Now: now})
			log.Close()
			if result.Reason != packet.StopCompleted {
				t.Fatalf("%+v", result)
			}
			var got []bool
			for _, r := range asked {
				got = append(got, r.NoServerTools)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("withdrawn %v, want %v", got, tc.want)
			}
			if notices := countNotices(t, log); notices != tc.notices {
				t.Errorf("%d notices, want %d", notices, tc.notices)
			}
		})
	}
}

// TestAProviderMaySearchWhereThereIsNoTool: its search is reason enough not to forbid
// tools, and the last cycle forbids it too.
func TestAProviderMaySearchWhereThereIsNoTool(t *testing.T) {
	answer := []llm.Event{llm.Text{Delta: "Done."}, llm.Finish{Reason: llm.FinishStop}}
	for name, tc := range map[string]struct {
		plain, barred bool
		cycles        int
		want          llm.Choice
	}{
		"it may":                   {want: llm.ChoiceAuto},
		"not allowed":              {barred: true, want: llm.ChoiceNone},
		"a model without a search": {plain: true, want: llm.ChoiceNone},
		"in the last cycle":        {cycles: 1, want: llm.ChoiceNone},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []llm.Request
			log := journal.New("r_1", 1)
			loop.Run(t.Context(), loop.Setup{Model: searching{[][]llm.Event{answer}, &asked, tc.plain},
				History:       []llm.Message{{Role: llm.RoleUser, Text: "q"}},
				NoServerTools: tc.barred, MaxCycles: tc.cycles, Documents: cite.NewDocuments(nil),
				Emit: packet.NewEmitter(log, 0), Now: func() time.Time { return time.Unix(0, 0) }})
			log.Close()
			if len(asked) != 1 || asked[0].Choice != tc.want {
				t.Errorf("asked %+v, want the choice %s", asked, tc.want)
			}
		})
	}
}

func countNotices(t *testing.T, log *journal.Log) (n int) {
	t.Helper()
	entries, err := log.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := e.Packet.Obj.(packet.Notice); ok {
			n++
		}
	}
	return n
}

// preparing is a model that knows its window once it was prepared.
type preparing struct {
	searching
	window *int
}

func (m preparing) Info() llm.Info { return llm.Info{Name: "m", ContextTokens: *m.window} }

func (m preparing) Prepare(context.Context) error {
	*m.window = 400
	return nil
}

// TestAModelIsPreparedBeforeItsWindowIsFilled: what it learns of itself counts for
// the first step.
func TestAModelIsPreparedBeforeItsWindowIsFilled(t *testing.T) {
	var asked []llm.Request
	window := 0
	log := journal.New("r_1", 1)
	long := llm.Message{Role: llm.RoleUser, Text: string(make([]byte, 3000))}
	model := preparing{searching{[][]llm.Event{{llm.Text{Delta: "Yes."}, llm.Finish{Reason: llm.FinishStop}}}, &asked,
		true}, &window}
	loop.Run(t.Context(), loop.Setup{Model: model,
		History:   []llm.Message{long, {Role: llm.RoleAssistant, Text: "a"}, {Role: llm.RoleUser, Text: "q"}},
		Documents: cite.NewDocuments(nil), Emit: packet.NewEmitter(log, 0),
		Now: func() time.Time { return time.Unix(0, 0) }})
	log.Close()
	if len(asked) != 1 || len(asked[0].Messages) != 1 || asked[0].Messages[0].Text != "q" {
		t.Errorf("asked %d times with %d messages", len(asked), len(asked[0].Messages))
	}
}
