package loop_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// The rules of the loop, one a test, each against a model that says one step after
// another. Those of research_agent stand in research_test.go, of the window in
// host/window, of what needs a store or a provider in host/turn.

// said is what a model says in one step.
type said = []llm.Event

func text(s string) said { return said{llm.Text{Delta: s}, llm.Finish{Reason: llm.FinishStop}} }

// outcome is what came of a run: what was asked, what was emitted, and its result.
type outcome struct {
	loop.Result
	asked   []llm.Request
	packets []packet.Packet
}

// ruled runs a loop on what a model says, each step once, and holds its packets to the
// protocol.
func ruled(t *testing.T, change func(*loop.Setup), tools []tool.Tool, steps ...said) outcome {
	t.Helper()
	out := ruledBy(t, change, tools, steps...)
	if len(out.asked) != len(steps) {
		t.Fatalf("asked %d times, want %d", len(out.asked), len(steps))
	}
	return out
}

// ruledBy runs a loop, maybe on another model, and holds its packets to the protocol.
func ruledBy(t *testing.T, change func(*loop.Setup), tools []tool.Tool, steps ...said) outcome {
	t.Helper()
	var out outcome
	var n atomic.Int64
	log := journal.New("r_1", 1)
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.RunStarted{UserMessageID: "u",
		Responses: []packet.Response{{MessageID: "m", Model: "m"}}})
	emit, documents := packet.NewEmitter(log, 0), cite.NewDocuments(nil)
	setup := loop.Setup{Model: searching{steps, &out.asked, true}, System: "S",
		History: []llm.Message{{Role: llm.RoleUser, Text: "q"}}, Documents: documents, Emit: emit, Now: time.Now,
		Runner: toolrun.New(toolrun.Config{Tools: tools, Refs: toolrun.NewRefs(0), Documents: documents, Emit: emit,
			Now:   time.Now,
			NewID: func() string { return fmt.Sprintf("c%d", n.Add(1)) }})}
	for _, tl := range tools {
		setup.Specs = append(setup.Specs, tl.Spec())
	}
	if change != nil {
		change(&setup)
	}
	out.Result = loop.Run(t.Context(), setup)
	emit.Emit(packet.At(0, 0), packet.Stop{Reason: out.Reason})
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.Stop{Reason: out.Reason})
	log.Close()
	entries, err := log.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out.packets = append(out.packets, e.Packet)
	}
	packettest.Require(t, out.packets, packettest.Stored(0, out.Text))
	return out
}

// choices are the tool choices of the requests.
func (o outcome) choices() (out []llm.Choice) {
	for _, r := range o.asked {
		out = append(out, r.Choice)
	}
	return out
}

// notices are the codes of the notices.
func (o outcome) notices() (out []packet.Code) {
	for _, p := range o.packets {
		if n, ok := p.Obj.(packet.Notice); ok {
			out = append(out, n.Code)
		}
	}
	return out
}

var mail = []tool.Tool{labelled{"mail", tool.LabelPrivateData}}

func TestWithoutALimitThereAreSixCyclesAndTheLastHasNoTools(t *testing.T) {
	o := ruled(t, nil, mail, call("mail"), call("mail"), call("mail"), call("mail"), call("mail"), text("End."))
	if want := slices.Concat(slices.Repeat([]llm.Choice{llm.ChoiceAuto}, loop.DefaultMaxCycles-1),
		[]llm.Choice{llm.ChoiceNone}); !slices.Equal(o.choices(), want) {
		t.Errorf("choices %v", o.choices())
	}
	if last := o.asked[5]; len(last.Tools) != 0 || len(last.Withheld) != 1 {
		t.Errorf("the last request offers %v and withholds %v", last.Tools, last.Withheld)
	}
	if !slices.Equal(o.notices(), []packet.Code{packet.CodeCycleLimit}) {
		t.Errorf("notices %v", o.notices())
	}
}

func TestAForcedToolIsRequiredAloneAndOnce(t *testing.T) {
	o := ruled(t, func(s *loop.Setup) { s.Forced = "page" }, append(mail, labelled{"page", ""}), call("page"),
		text("End."))
	if !slices.Equal(o.choices(), []llm.Choice{llm.ChoiceRequired, llm.ChoiceAuto}) {
		t.Errorf("choices %v", o.choices())
	}
	if first := o.asked[0]; len(first.Tools) != 1 || first.Tools[0].Name != "page" || len(first.Withheld) != 1 ||
		len(o.asked[1].Tools) != 2 {
		t.Errorf("offered %v, then %v", first.Tools, o.asked[1].Tools)
	}
}

func TestAForcedToolThatIsNotUsedIsToldOnceAndThenFree(t *testing.T) {
	o := ruled(t, func(s *loop.Setup) { s.Forced = "mail" }, mail, said{llm.Finish{Reason: llm.FinishStop}},
		text("End."))
	if !slices.Equal(o.choices(), []llm.Choice{llm.ChoiceRequired, llm.ChoiceAuto}) ||
		!slices.Equal(o.notices(), []packet.Code{packet.CodeForcedToolUnused}) {
		t.Errorf("choices %v, notices %v", o.choices(), o.notices())
	}
}

// stopping is a tool after which the model must answer.
type stopping struct{ labelled }

func (s stopping) Spec() tool.Spec {
	spec := s.labelled.Spec()
	spec.StopsLoop, spec.Reminder = true, "Remember."
	return spec
}

func TestAfterAToolThatStopsTheLoopThereAreNoTools(t *testing.T) {
	o := ruled(t, nil, append(mail, stopping{labelled{"final", ""}}), call("final"), text("End."))
	if !slices.Equal(o.choices(), []llm.Choice{llm.ChoiceAuto, llm.ChoiceNone}) || len(o.notices()) != 0 {
		t.Errorf("choices %v, notices %v", o.choices(), o.notices())
	}
}

// TestAReminderStandsLastInTheNextRequestOnly: what is before it is sent again as it
// was, so that what a provider or a server keeps of it can be used.
func TestAReminderStandsLastInTheNextRequestOnly(t *testing.T) {
	o := ruled(t, func(s *loop.Setup) { s.MaxCycles = 4 },
		[]tool.Tool{reminding{labelled{"mail", ""}}, labelled{"page", ""}},
		said{llm.ToolCallDelta{Name: "mail", ArgumentsDelta: "{}"},
			llm.ToolCallDelta{Index: 1, Name: "mail", ArgumentsDelta: "{}"}, llm.Finish{Reason: llm.FinishToolCalls}},
		call("page"), text("End."))
	var got []bool
	var before []llm.Message
	for n, r := range o.asked {
		last := r.Messages[len(r.Messages)-1]
		reminded := last.Note && last.Text == "Remember."
		got = append(got, reminded)
		if n > 0 && (len(r.Messages) < len(before) || !reflect.DeepEqual(r.Messages[:len(before)], before)) {
			t.Errorf("request %d does not begin with the one before", n+1)
		}
		if before = r.Messages; reminded {
			before = before[:len(before)-1]
		}
	}
	if !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("reminded: %v", got)
	}
}

// reminding is a tool with a reminder.
type reminding struct{ labelled }

func (r reminding) Spec() tool.Spec {
	spec := r.labelled.Spec()
	spec.Reminder = "Remember."
	return spec
}

func TestCallsUnderNoneAreNeverRunAndAskedAboutOnce(t *testing.T) {
	one := func(s *loop.Setup) { s.MaxCycles = 1 }
	o := ruled(t, one, mail, call("mail"), call("mail"))
	if o.Reason != packet.StopError || o.Error.Code != packet.CodeEmptyAnswer ||
		len(o.Steps[0].Calls)+len(o.Steps[1].Calls) != 0 {
		t.Errorf("%+v", o.Result)
	}
	if last := o.asked[1].Messages; last[len(last)-1].Text != window.NoTools {
		t.Errorf("the second request ends with %q", last[len(last)-1].Text)
	}
	o = ruled(t, one, mail, said{llm.Text{Delta: `Yes. <tool_call>{"name":"mail","arguments":{}}</tool_call>`},
		llm.Finish{Reason: llm.FinishStop}})
	if o.Reason != packet.StopCompleted || strings.TrimSpace(o.Text) != "Yes." {
		t.Errorf("%+v", o.Result)
	}
}

func TestARepairIsOfferedTwiceCountsAsACycleAndNeverFollowsTheLast(t *testing.T) {
	broken := said{llm.Text{Delta: `<tool_call>{"name":"mail","arg</tool_call>`}, llm.Finish{Reason: llm.FinishStop}}
	o := ruled(t, nil, mail, broken, broken, broken)
	repairs := 0
	for _, m := range o.asked[2].Messages {
		if m.Text == window.RepairCall {
			repairs++
		}
	}
	if repairs != 2 || o.Reason != packet.StopError {
		t.Errorf("%d repairs, %s", repairs, o.Reason)
	}
	o = ruled(t, func(s *loop.Setup) { s.MaxCycles = 2 }, mail, broken, text("End."))
	if !slices.Equal(o.choices(), []llm.Choice{llm.ChoiceAuto, llm.ChoiceNone}) {
		t.Errorf("choices %v", o.choices())
	}
}

func TestEachCallHasOneResultAndNarrationStaysInHistory(t *testing.T) {
	o := ruled(t, nil, mail, said{llm.Text{Delta: "I look."}, llm.ToolCallDelta{Name: "mail", ArgumentsDelta: "{}"},
		llm.ToolCallDelta{Index: 1, Name: "gone"},
		llm.ToolCallDelta{Index: 2, Name: "mail", ArgumentsDelta: "["}, llm.Finish{Reason: llm.FinishToolCalls}},
		text("End."))
	history := o.asked[1].Messages
	if p := unanswered(history[1:]); p != "" || len(history) != 6 || history[2].Text != "I look." ||
		len(history[2].ToolCalls) != 3 {
		t.Errorf("%s: %+v", p, history)
	}
}

func TestEmptyAnswersAreClassified(t *testing.T) {
	for name, tc := range map[string]struct {
		step  said
		code  packet.Code
		retry bool
		says  string
	}{
		"empty": {said{llm.Finish{Reason: llm.FinishStop}}, packet.CodeEmptyAnswer, true,
			"without an answer"},
		"only thoughts": {said{llm.Reasoning{Delta: "hm"}, llm.Finish{Reason: llm.FinishStop}},
			packet.CodeEmptyAnswer, true, "was thinking and ended"},
		"only blanks": {said{llm.Text{Delta: " \n"}, llm.Finish{Reason: llm.FinishStop}},
			packet.CodeEmptyAnswer, true, "without an answer"},
		"out of budget": {said{llm.Finish{Reason: llm.FinishLength}}, packet.CodeOutOfBudget, true,
			"used up its output"},
		"out of budget in a thought": {said{llm.Reasoning{Delta: "hm"}, llm.Finish{Reason: llm.FinishLength}},
			packet.CodeOutOfBudget, true, "while it was thinking"},
		"refused": {said{llm.Finish{Reason: llm.FinishFiltered}}, packet.CodeRefused, false, "declined"},
	} {
		t.Run(name, func(t *testing.T) {
			o := ruled(t, nil, mail, tc.step)
			if o.Reason != packet.StopError || o.Error.Code != tc.code || o.Error.Retryable != tc.retry ||
				!strings.Contains(o.Error.Message, tc.says) {
				t.Errorf("%s %+v", o.Reason, o.Error)
			}
		})
	}
}

func TestUsageIsSummedOverTheSteps(t *testing.T) {
	first := append(said{llm.Usage{InputTokens: 3, OutputTokens: 5, CachedTokens: 7, Cost: 0.5}}, call("mail")...)
	last := append(said{llm.Usage{InputTokens: 30, OutputTokens: 50, CachedTokens: 70, Cost: 0.25}}, text("End.")...)
	if got := ruled(t, nil, mail, first, last).Usage; got != (llm.Usage{InputTokens: 33, OutputTokens: 55,
		CachedTokens: 77, Cost: 0.75}) {
		t.Errorf("%+v", got)
	}
}

func TestCallsBeyondThoseOfOneStepAreToldToBothSides(t *testing.T) {
	var many said
	for i := range 66 {
		many = append(many, llm.ToolCallDelta{Index: i, Name: "mail", ArgumentsDelta: fmt.Sprintf(`{"n":%d}`, i)})
	}
	o := ruled(t, nil, mail, append(many, llm.Finish{Reason: llm.FinishToolCalls}), text("End."))
	if len(o.Steps[0].Calls) != 64 || !slices.Equal(o.notices(), []packet.Code{packet.CodeTooManyCalls}) ||
		!strings.HasSuffix(o.asked[1].Messages[len(o.asked[1].Messages)-1].Text, "Ask for fewer.") {
		t.Errorf("%d calls, notices %v", len(o.Steps[0].Calls), o.notices())
	}
}

func TestAnAnswerThatGoesOnIsAskedToAndKeepsItsQuestion(t *testing.T) {
	o := ruled(t, func(s *loop.Setup) {
		s.Continues = true
		s.History = append(s.History, llm.Message{Role: llm.RoleAssistant, Text: "Half"})
	}, mail, text(" and half."))
	if got := o.asked[0].Messages; len(got) != 4 || got[3].Text != window.GoOn || o.Text != " and half." {
		t.Errorf("%+v, %q", got, o.Text)
	}
}

func TestHeldCallsRunFirstWhenTheirAnswerIsTaken(t *testing.T) {
	o := ruled(t, func(s *loop.Setup) {
		s.Continues, s.Held = true, []toolrun.Request{{Name: "mail", Arguments: `{"n":1}`}}
		s.History = append(s.History, llm.Message{Role: llm.RoleAssistant, Text: "Half"})
	}, mail, text("End."))
	got := o.asked[0].Messages
	if len(got) != 6 || got[3].Text != window.Selected || got[5].Role != llm.RoleTool || len(o.Steps) != 2 ||
		o.Steps[0].Calls[0].Outcome != packet.OutcomeOK {
		t.Errorf("%+v", got)
	}
}
