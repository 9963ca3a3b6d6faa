package answer_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/answer"
)

// said is a model that gives these events, and then err where it is not nil.
type said struct {
	events []llm.Event
	err    error
}

func (said) Info() llm.Info { return llm.Info{Name: "said"} }

func (s said) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, e := range s.events {
			if !yield(e, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

func TestOnlyWhatIsForAPersonIsRead(t *testing.T) {
	m := said{events: []llm.Event{llm.Reasoning{Delta: "Hm."}, llm.Text{Delta: "High "},
		llm.Text{Delta: `<tool_call>{"name":"clock","arguments":{}}</tool_call>`}, llm.Text{Delta: "tide."},
		llm.Usage{InputTokens: 3, OutputTokens: 5}, llm.Finish{Reason: llm.FinishLength}}}
	got, err := answer.Read(t.Context(), m, llm.Request{}, 100)
	if err != nil || got.Text != "High tide." || !got.Truncated || got.Usage.InputTokens != 3 ||
		got.Usage.OutputTokens != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestALongAnswerIsCutOff(t *testing.T) {
	m := said{events: []llm.Event{llm.Text{Delta: strings.Repeat("x", 50)}, llm.Text{Delta: strings.Repeat("y", 50)}}}
	if got, err := answer.Read(t.Context(), m, llm.Request{}, 10); err != nil || !got.Truncated ||
		strings.Contains(got.Text, "y") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAFailureLeavesNoHalfAnswer(t *testing.T) {
	broken := errors.New("broken off")
	m := said{events: []llm.Event{llm.Text{Delta: "High"}}, err: broken}
	if got, err := answer.Read(t.Context(), m, llm.Request{}, 100); !errors.Is(err, broken) || got.Text != "" {
		t.Errorf("%+v, %v", got, err)
	}
}
