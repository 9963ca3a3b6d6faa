package loop_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// narrow is a model whose window is smaller than anybody knows.
type narrow struct {
	searching
	// takes is how many tokens it takes, and refused counts what was too long.
	takes   int
	refused *int
	// late says that it writes something before it refuses.
	late bool
}

func (m narrow) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	if req.Tokens(false) <= m.takes {
		return m.searching.Stream(ctx, req)
	}
	*m.refused++
	return func(yield func(llm.Event, error) bool) {
		if m.late && !yield(llm.Text{Delta: "Half"}, nil) {
			return
		}
		yield(nil, llm.NewError(packet.CodeContextTooLong, "That is too long for me.", nil))
	}
}

// long is a tool with a long result.
type long struct{ labelled }

func (long) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: strings.Repeat("word ", 600)}, nil
}

func TestAWindowThatIsSmallerThanKnownIsLearnedFromTheEndpoint(t *testing.T) {
	reads := []tool.Tool{long{labelled{"read", ""}}}
	for name, tc := range map[string]struct {
		takes, refused int
		late           bool
		reason         packet.StopReason
		notices        []packet.Code
	}{
		"all fits": {takes: 9000, reason: packet.StopCompleted},
		"once too long": {takes: 1900, refused: 1, reason: packet.StopCompleted,
			notices: []packet.Code{packet.CodeResultsLeftOut}},
		"twice too long": {takes: 600, refused: 2, reason: packet.StopCompleted,
			notices: []packet.Code{packet.CodeResultsLeftOut}},
		"too long to the end": {takes: 100, refused: 4, reason: packet.StopError,
			notices: []packet.Code{packet.CodeResultsLeftOut}},
		"after something was said": {takes: 1900, refused: 1, late: true, reason: packet.StopError},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			var asked []llm.Request
			steps := [][]llm.Event{call("read"), call("read"), text("End.")}
			o := ruledBy(t, func(s *loop.Setup) {
				s.Model = narrow{searching{steps, &asked, true}, tc.takes, &refused, tc.late}
			}, reads)
			if o.Reason != tc.reason || refused != tc.refused || !slices.Equal(o.notices(), tc.notices) {
				t.Errorf("%s, refused %d times, notices %v", o.Reason, refused, o.notices())
			}
			if tc.reason == packet.StopError && o.Error != nil && o.Error.Message != "That is too long for me." {
				t.Errorf("%+v", o.Error)
			}
		})
	}
}

// sized is a model with a window of that size.
type sized struct {
	searching
	window int
}

func (m sized) Info() llm.Info { return llm.Info{Name: "m", ContextTokens: m.window} }

// TestAQuestionThatAloneIsTooLongIsSaidToBe: everything else can give way.
func TestAQuestionThatAloneIsTooLongIsSaidToBe(t *testing.T) {
	var asked []llm.Request
	o := ruledBy(t, func(s *loop.Setup) {
		s.Model = sized{searching{nil, &asked, true}, 300}
		s.History[0].Text = strings.Repeat("word ", 400)
	}, mail)
	if o.Error == nil || o.Error.Code != packet.CodeContextTooLong || len(asked) != 0 {
		t.Errorf("%+v", o.Result)
	}
}

// TestThePersonsQuestionIsNeverLeftOut: not even behind what the loop itself tells the
// model.
func TestThePersonsQuestionIsNeverLeftOut(t *testing.T) {
	var asked []llm.Request
	broken := said{llm.Text{Delta: strings.Repeat("words ", 200) + `<tool_call>{"name":"mail","arg</tool_call>`},
		llm.Finish{Reason: llm.FinishStop}}
	ruledBy(t, func(s *loop.Setup) {
		s.Model = sized{searching{[][]llm.Event{broken, broken, text("End.")}, &asked, true}, 900}
		s.History[0].Text = "The question."
	}, mail)
	for i, r := range asked {
		if !slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Text == "The question." }) {
			t.Errorf("request %d has no question", i)
		}
	}
	if last := asked[len(asked)-1].Messages; last[len(last)-1].Text != window.RepairCall {
		t.Errorf("the last request ends with %q", last[len(last)-1].Text)
	}
}
