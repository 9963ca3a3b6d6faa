package step

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// said is a model that streams fixed events; the provider's side of it is
// tested with real servers in turn.
type said struct {
	events []llm.Event
	err    error
}

func (s said) Info() llm.Info { return llm.Info{Name: "said"} }

func (s said) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Event, error] {
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

// decode runs a step and returns its packets, one a line.
func decode(t *testing.T, model said, docs ...packet.Document) (Output, string, error) {
	t.Helper()
	log := journal.New("r_1", 1)
	now := time.Unix(0, 0)
	out, err := Decode(t.Context(), Input{
		Model: model, Emit: packet.NewEmitter(log, 0), Turn: 0,
		Answer: cite.NewAnswer(cite.NewDocuments(docs)), Now: func() time.Time { return now },
	})
	log.Close()
	var lines []string
	for last := int64(0); ; {
		entries, readErr := log.Read(t.Context(), last)
		if readErr != nil {
			break
		}
		for _, e := range entries {
			obj, encodeErr := packet.EncodeObj(e.Packet.Obj)
			if encodeErr != nil {
				t.Fatal(encodeErr)
			}
			lines = append(lines, fmt.Sprintf("%d %s", e.Packet.Placement.TurnIndex, obj))
			last = e.Seq
		}
	}
	return out, strings.Join(lines, "\n"), err
}

func TestStepSplitsReasoningNarrationAndCalls(t *testing.T) {
	out, got, err := decode(t, said{events: []llm.Event{
		llm.Reasoning{Delta: "hm"},
		llm.Text{Delta: "\n"}, llm.Text{Delta: "I look"}, llm.Text{Delta: " it up."},
		llm.ToolCallDelta{Index: 1, ID: "b", Name: "second"},
		llm.ToolCallDelta{Index: 0, ID: "a", Name: "first", ArgumentsDelta: `{"q"`},
		llm.ToolCallDelta{Index: 0, ArgumentsDelta: `:1}`},
		llm.Usage{InputTokens: 3, OutputTokens: 4}, llm.Finish{Reason: llm.FinishToolCalls},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`0 {"type":"reasoning_start"}`,
		`0 {"type":"reasoning_delta","reasoning":"hm"}`,
		`0 {"type":"reasoning_done","duration_ms":0}`,
		`1 {"type":"message_start"}`,
		`1 {"type":"message_delta","content":"I look"}`,
		`1 {"type":"message_delta","content":" it up."}`,
		`1 {"type":"message_end"}`,
		`1 {"type":"usage","input_tokens":3,"output_tokens":4}`,
	}, "\n")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if out.NextTurn != 2 || out.Text != "I look it up." || out.Reasoning != "hm" {
		t.Errorf("got %+v", out)
	}
	if len(out.Calls) != 2 || out.Calls[0] != (Call{Name: "second"}) ||
		out.Calls[1] != (Call{Name: "first", Arguments: `{"q":1}`, Tab: 1}) {
		t.Errorf("calls: %+v", out.Calls)
	}
}

func TestReasoningThatStartsAgainTakesANewTurn(t *testing.T) {
	out, got, _ := decode(t, said{events: []llm.Event{
		llm.Reasoning{Delta: "a"}, llm.Text{Delta: "x"}, llm.Reasoning{Delta: "b"}, llm.Text{Delta: "y"},
		llm.Finish{Reason: llm.FinishStop},
	}})
	for _, line := range []string{
		`2 {"type":"reasoning_start"}`, `3 {"type":"message_start"}`, `3 {"type":"message_delta","content":"\n\ny"}`,
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %s in:\n%s", line, got)
		}
	}
	if out.NextTurn != 4 || out.Shown != "x\n\ny" || out.Text != "xy" {
		t.Errorf("got %+v", out)
	}
}

func TestACitationIsAnnouncedBeforeItsMarker(t *testing.T) {
	out, got, _ := decode(t, said{events: []llm.Event{
		llm.Text{Delta: "So it is [1"}, llm.Text{Delta: "01]."}, llm.Finish{Reason: llm.FinishStop},
	}}, packet.Document{ID: "d", Ref: 101, Title: "T"})
	info, marker := strings.Index(got, "citation_info"), strings.Index(got, "[[1]]")
	if info < 0 || marker < 0 || info > marker {
		t.Errorf("got:\n%s", got)
	}
	if out.Shown != "So it is [[1]]." || out.Text != "So it is [101]." {
		t.Errorf("got %+v", out)
	}
}

func TestMarkedCallsAndThoughtsInTextAreKeptOffTheScreen(t *testing.T) {
	out, got, _ := decode(t, said{events: []llm.Event{
		llm.Text{Delta: "<think>hm</think>\n\nLooking. <tool_"},
		llm.Text{Delta: `call>{"name":"f","arguments":{}}</tool_call>`},
		llm.Finish{Reason: llm.FinishStop},
	}})
	if strings.Contains(got, "tool_call") || strings.Contains(got, "think>") {
		t.Errorf("markup on the screen:\n%s", got)
	}
	if len(out.Calls) != 1 || out.Calls[0] != (Call{Name: "f", Arguments: "{}"}) || out.Reasoning != "hm" {
		t.Errorf("got %+v", out)
	}
}

func TestTheSameCallBothWaysCountsOnce(t *testing.T) {
	out, _, _ := decode(t, said{events: []llm.Event{
		llm.Text{Delta: `<tool_call>{"name":"f","arguments":{}}</tool_call>`},
		llm.ToolCallDelta{Index: 0, Name: "f", ArgumentsDelta: "{}"}, llm.Finish{Reason: llm.FinishToolCalls},
	}})
	if len(out.Calls) != 1 {
		t.Errorf("got %+v", out.Calls)
	}
}

func TestAnErrorClosesTheOpenBlockAndKeepsTheText(t *testing.T) {
	cut := llm.NewError(packet.CodeModelInterrupted, "", errors.New("EOF"))
	out, got, err := decode(t, said{events: []llm.Event{llm.Text{Delta: "half an"}}, err: cut})
	if !errors.Is(err, cut) || out.Text != "half an" {
		t.Errorf("got %v, %+v", err, out)
	}
	if !strings.HasSuffix(got, `0 {"type":"message_end"}`) {
		t.Errorf("got:\n%s", got)
	}
}

func TestAStreamWithoutFinishIsInterrupted(t *testing.T) {
	_, _, err := decode(t, said{events: []llm.Event{llm.Text{Delta: "x"}}})
	var e *llm.Error
	if !errors.As(err, &e) || e.Code != packet.CodeModelInterrupted {
		t.Errorf("got %v", err)
	}
}

func TestBlankTextOpensNoBlock(t *testing.T) {
	out, got, _ := decode(t, said{events: []llm.Event{llm.Text{Delta: " \n"}, llm.Finish{Reason: llm.FinishStop}}})
	if got != "" || out.Text != "" || out.NextTurn != 0 {
		t.Errorf("got %q, %+v", got, out)
	}
}

// endless is a model that never ends by itself.
type endless struct{ event llm.Event }

func (endless) Info() llm.Info { return llm.Info{Name: "endless"} }

func (m endless) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for yield(m.event, nil) {
		}
	}
}

func TestAModelThatNeverStopsIsEnded(t *testing.T) {
	long := strings.Repeat("more ", 20_000)
	for name, event := range map[string]llm.Event{
		"text": llm.Text{Delta: long}, "reasoning": llm.Reasoning{Delta: long},
		"arguments": llm.ToolCallDelta{Name: "t", ArgumentsDelta: long}, "empty pieces of a call": llm.ToolCallDelta{},
	} {
		t.Run(name, func(t *testing.T) {
			log := journal.New("r_1", 1)
			defer log.Close()
			out, err := Decode(t.Context(), Input{
				Model: endless{event}, Emit: packet.NewEmitter(log, 0),
				Answer: cite.NewAnswer(cite.NewDocuments(nil)), Now: time.Now,
			})
			var known *llm.Error
			if !errors.As(err, &known) || known.Code != packet.CodeModelBadResponse || known.Message == "" {
				t.Errorf("got %v", err)
			}
			if said := len(out.Text) + len(out.Reasoning); said > MaxBytes {
				t.Errorf("it said %d bytes", said)
			}
		})
	}
}
