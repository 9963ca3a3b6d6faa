package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// writer is a tool whose arguments are shown as the model writes them.
type writer struct{ name string }

func (w writer) Spec() tool.Spec {
	return tool.Spec{Name: w.name, StreamArgs: w.name != "plain",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"n":{"type":"integer"}}}`)}
}

func (writer) Call(_ context.Context, in tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: string(in.Arguments)}, nil
}

// shown is what a step and the run of its calls showed: the whole stream was
// checked against the protocol.
type shown struct {
	Output
	done []toolrun.Done
	err  error
	// lines are the packets, as decode gives them.
	lines []string
	// texts are the joined pieces by call and key.
	texts map[string]string
}

// perform runs a step with tools that stream, then its calls, as the loop does.
func perform(t *testing.T, ctx context.Context, m llm.Model, choice llm.Choice) shown {
	t.Helper()
	log, n := journal.New("r_1", 1), 0
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.RunStarted{UserMessageID: "u",
		Responses: []packet.Response{{MessageID: "m", Model: "said"}}})
	emit := packet.NewEmitter(log, 0)
	now := func() time.Time { return time.Unix(0, 0) }
	tools := []tool.Tool{writer{"write"}, writer{"plain"}}
	runner := toolrun.New(toolrun.Config{
		Tools: tools, Refs: toolrun.NewRefs(0), Documents: cite.NewDocuments(nil), Emit: emit,
		Now: now, NewID: func() string { n++; return fmt.Sprintf("c%d", n) },
	})
	var defs []llm.ToolDef
	for _, tool := range tools {
		defs = append(defs, llm.ToolDef{Name: tool.Spec().Name, Parameters: tool.Spec().InputSchema})
	}
	if choice == llm.ChoiceNone {
		defs = nil
	}
	got := shown{texts: map[string]string{}}
	got.Output, got.err = Decode(ctx, Input{
		Model: m, Request: llm.Request{Tools: defs, Choice: choice}, Emit: emit, Blocks: runner,
		Answer: cite.NewAnswer(cite.NewDocuments(nil)), Now: now,
	})
	reason := packet.StopCompleted
	switch {
	case errors.Is(got.err, context.Canceled):
		reason = packet.StopUserCancelled
	case got.err != nil:
		reason = packet.StopError
	case len(got.Calls) > 0 && choice != llm.ChoiceNone:
		var requests []toolrun.Request
		for _, c := range got.Calls {
			requests = append(requests, toolrun.Request{Name: c.Name, Arguments: c.Arguments, CallID: c.ID, Tab: c.Tab})
		}
		got.done = runner.Run(ctx, got.CallTurn, requests)
	}
	if reason == packet.StopCompleted { // a completed answer shows something
		end := packet.At(max(got.NextTurn, got.CallTurn+1), 0)
		emit.Emit(end, packet.MessageStart{})
		emit.Emit(end, packet.MessageDelta{Content: "end"})
		emit.Emit(end, packet.MessageEnd{})
	}
	emit.Emit(packet.At(0, 0), packet.Stop{Reason: reason})
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.Stop{Reason: reason})
	log.Close()
	var packets []packet.Packet
	for last := int64(0); ; {
		entries, err := log.Read(t.Context(), last)
		if err != nil {
			break
		}
		for _, e := range entries {
			packets, last = append(packets, e.Packet), e.Seq
			if d, ok := e.Packet.Obj.(packet.ToolArgsDelta); ok {
				got.texts[d.CallID+"."+d.Key] += d.Delta
			}
			obj, err := packet.EncodeObj(e.Packet.Obj)
			if err != nil {
				t.Fatal(err)
			}
			got.lines = append(got.lines, fmt.Sprintf("%d.%d %s", e.Packet.Placement.TurnIndex,
				e.Packet.Placement.TabIndex, obj))
		}
	}
	packettest.Require(t, packets)
	return got
}

// types are the types of packets of a call in order, repeated ones once.
func (s shown) types(prefix string) string {
	var out []string
	for _, line := range s.lines {
		rest, ok := strings.CutPrefix(line, prefix+` {"type":"`)
		if name, _, _ := strings.Cut(rest, `"`); ok && (len(out) == 0 || out[len(out)-1] != name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

func (s shown) fail(t *testing.T, what string) {
	t.Helper()
	t.Errorf("%s: %v\n%+v\n%s", what, s.err, s.Output, strings.Join(s.lines, "\n"))
}

const wrote = "tool_start tool_args_delta tool_args section_end"

func TestNativeArgumentsAreShownWhereverTheFragmentsAreCut(t *testing.T) {
	const arguments = `{"path":"a.txt","n":3,"text":"say \"é\" \ud83d\ude00\n"}`
	for cut := range len(arguments) + 1 {
		got := perform(t, t.Context(), said{events: []llm.Event{
			llm.Text{Delta: "I write."}, llm.ToolCallDelta{Name: "write", ID: "x"},
			llm.ToolCallDelta{ArgumentsDelta: arguments[:cut]}, llm.ToolCallDelta{ArgumentsDelta: arguments[cut:]},
			llm.Finish{Reason: llm.FinishToolCalls},
		}}, llm.ChoiceAuto)
		if got.texts["c1.path"] != "a.txt" || got.texts["c1.text"] != "say \"é\" 😀\n" || len(got.texts) != 2 {
			got.fail(t, fmt.Sprintf("cut at %d: %q", cut, got.texts))
		}
		if types := got.types("1.0"); types != "tool_start tool_args_delta top_level_branching tool_args section_end" ||
			len(got.done) != 1 || got.done[0].CallID != "c1" {
			got.fail(t, fmt.Sprintf("cut at %d: %s", cut, types))
		}
	}
}

func TestArgumentsInTheTextAreShownWhereverItIsCut(t *testing.T) {
	for _, text := range []string{
		`Now. <tool_call>{"name":"write","arguments":{"path":"a.txt","text":"say \"é\" \ud83d\ude00\n"}}</tool_call>`,
		"Now. <tool_call>\n<function=write>\n<parameter=path>a.txt</parameter>\n<parameter=text>\nsay \"é\" " +
			"😀\n\n</parameter>\n</function>\n</tool_call>",
		"Now. <tool_call>write<arg_key>path</arg_key><arg_value>a.txt</arg_value><arg_key>text</arg_key><arg_value>say \"é\" 😀\n</arg_value></tool_call>",
	} {
		for cut := range len(text) + 1 {
			got := perform(t, t.Context(), said{events: []llm.Event{llm.Text{Delta: text[:cut]},
				llm.Text{Delta: text[cut:]}, llm.Finish{Reason: llm.FinishStop}}}, llm.ChoiceAuto)
			if got.texts["c1.path"] != "a.txt" || got.texts["c1.text"] != "say \"é\" 😀\n" || len(got.texts) != 2 {
				got.fail(t, fmt.Sprintf("cut at %d: %q", cut, got.texts))
			}
			if len(got.done) != 1 || !strings.Contains(got.done[0].Text, `😀`) ||
				got.types("0.0") != "run_started message_start message_delta message_end stop" {
				got.fail(t, fmt.Sprintf("cut at %d", cut))
			}
		}
	}
}

func TestTwoParallelCallsAreShownSideBySide(t *testing.T) {
	a, b := `{"text":"first"}`, `{"text":"second"}`
	events := []llm.Event{llm.ToolCallDelta{Index: 0, Name: "write"}, llm.ToolCallDelta{Index: 1, Name: "write"},
		llm.ToolCallDelta{Index: 2, Name: "plain", ArgumentsDelta: a}}
	for i := range max(len(a), len(b)) {
		for index, s := range []string{a, b} {
			if i < len(s) {
				events = append(events, llm.ToolCallDelta{Index: index, ArgumentsDelta: s[i : i+1]})
			}
		}
	}
	native := perform(t, t.Context(), said{events: append(events, llm.Finish{Reason: llm.FinishToolCalls})},
		llm.ChoiceAuto)
	text := perform(t, t.Context(), said{events: []llm.Event{
		llm.Text{Delta: `<tool_call>{"name":"write","arguments":` + a +
			`}</tool_call><tool_call>{"name":"write","arguments":` + b + `}</tool_call>`},
		llm.Text{Delta: `<tool_call>{"name":"plain","arguments":` + a + `}</tool_call>`},
		llm.Finish{Reason: llm.FinishStop},
	}}, llm.ChoiceAuto)
	for name, got := range map[string]shown{"native": native, "text": text} {
		if len(got.done) != 3 || got.texts["c1.text"] != "first" || got.texts["c2.text"] != "second" ||
			len(got.texts) != 2 {
			got.fail(t, name)
		}
		if got.types("0.1") != wrote || got.types("0.2") != "tool_start tool_args section_end" {
			got.fail(t, name)
		}
		if !slices.Contains(got.lines, `0.0 {"type":"top_level_branching","turn_index":0,"tabs":[0,1,2]}`) {
			got.fail(t, name)
		}
	}
}

// TestAnOpenCallIsClosedWhenItsStepEndsEarly ends steps in the middle of a call.
func TestAnOpenCallIsClosedWhenItsStepEndsEarly(t *testing.T) {
	half := map[string][]llm.Event{
		"native": {llm.ToolCallDelta{Name: "write", ArgumentsDelta: `{"text":"hal`}},
		"text":   {llm.Text{Delta: `<tool_call>{"name":"write","arguments":{"text":"hal`}},
	}
	for name, events := range half {
		ctx, cancel := context.WithCancel(t.Context())
		got := perform(t, ctx, stopping{said{events: events}, cancel}, llm.ChoiceAuto)
		if got.texts["c1.text"] != "hal" || got.types("0.0") != "run_started tool_start tool_args_delta section_end "+
			"stop" || !slices.Contains(got.lines, `0.0 {"type":"section_end","outcome":"cancelled","duration_ms":0}`) {
			got.fail(t, name+" stopped")
		}
		got = perform(t, t.Context(), said{events: events,
			err: llm.NewError(packet.CodeModelInterrupted, "", errors.New("EOF"))}, llm.ChoiceAuto)
		if got.texts["c1.text"] != "hal" || !slices.Contains(got.lines,
			`0.0 {"type":"section_end","outcome":"interrupted","duration_ms":0}`) {
			got.fail(t, name+" broke off")
		}
		got = perform(t, t.Context(), said{events: append(events, llm.Finish{Reason: llm.FinishLength})},
			llm.ChoiceAuto)
		if len(got.done) != 1 || got.done[0].Arguments != `{"text":"hal"}` { // mended, as calls that are cut off are
			got.fail(t, name+" cut off")
		}
	}
}

// stopping is a model whose asker gives up after its last event.
type stopping struct {
	said
	stop func()
}

func (s stopping) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range s.said.Stream(ctx, r) {
			if !yield(e, err) {
				return
			}
		}
		s.stop()
		yield(nil, ctx.Err())
	}
}

func TestACallThatComesBothWaysHasOneBlock(t *testing.T) {
	text := llm.Text{Delta: `<tool_call>{"name":"write","arguments":{"text":"x"}}</tool_call>`}
	same, other := llm.ToolCallDelta{Name: "write", ArgumentsDelta: `{ "text": "x" }`},
		llm.ToolCallDelta{Name: "write", ArgumentsDelta: `{"text":"y"}`}
	for name, c := range map[string]struct {
		events []llm.Event
		runs   []string
	}{
		"text first":             {[]llm.Event{text, same}, []string{`{"text":"x"}`}},
		"native first":           {[]llm.Event{same, text}, []string{`{"text":"x"}`}},
		"another one natively":   {[]llm.Event{text, other}, []string{`{"text":"x"}`, `{"text":"y"}`}},
		"another one in text":    {[]llm.Event{other, text}, []string{`{"text":"y"}`, `{"text":"x"}`}},
		"said twice in the text": {[]llm.Event{text, text, same}, []string{`{"text":"x"}`}},
	} {
		got := perform(t, t.Context(), said{events: append(c.events, llm.Finish{Reason: llm.FinishToolCalls})},
			llm.ChoiceAuto)
		var ran []string
		for _, d := range got.done {
			ran = append(ran, d.Arguments)
		}
		if !slices.Equal(ran, c.runs) || got.texts["c1.text"] != c.runs[0][9:10] {
			got.fail(t, name)
		}
	}
}

func TestTextAndReasoningBetweenCallsHaveTheirOwnTurns(t *testing.T) {
	got := perform(t, t.Context(), said{events: []llm.Event{
		llm.Text{Delta: `One.<tool_call>{"name":"write","arguments":{"text":"a"}}</tool_call>`},
		llm.Text{Delta: "Two."}, llm.Reasoning{Delta: "hm"},
		llm.Text{Delta: `<tool_call>{"name":"write","arguments":{"text":"b"}}</tool_call>Three.`},
		llm.ToolCallDelta{Index: 7, Name: "plain", ArgumentsDelta: `{}`}, llm.Finish{Reason: llm.FinishStop},
	}}, llm.ChoiceAuto)
	if len(got.done) != 3 || got.types("1.0") != "tool_start tool_args_delta top_level_branching tool_args section_end" || got.types("1.1") != wrote || got.CallTurn != 1 || got.NextTurn != 5 {
		got.fail(t, "turns")
	}
}

func TestReasoningClosesBeforeTheNextPieceOfAnArgument(t *testing.T) {
	got := perform(t, t.Context(), said{events: []llm.Event{
		llm.ToolCallDelta{Name: "write", ArgumentsDelta: `{"text":"a`}, llm.Reasoning{Delta: "hm"},
		llm.ToolCallDelta{ArgumentsDelta: `b"}`}, llm.Reasoning{Delta: "so"}, llm.Finish{Reason: llm.FinishStop},
	}}, llm.ChoiceAuto)
	if got.texts["c1.text"] != "ab" || len(got.done) != 1 ||
		got.types("2.0") != "reasoning_start reasoning_delta reasoning_done" {
		got.fail(t, "order")
	}
}

func TestACallThatIsNoneAfterAllIsClosedAsFailed(t *testing.T) {
	got := perform(t, t.Context(), said{events: []llm.Event{
		llm.Text{Delta: `<tool_call>{"name":"write","arguments":{"text":"a","path"`},
		llm.Finish{Reason: llm.FinishLength},
	}}, llm.ChoiceAuto)
	if len(got.Calls) != 0 || got.Malformed != 1 ||
		!slices.Contains(got.lines, `0.0 {"type":"section_end","outcome":"error","duration_ms":0}`) ||
		got.CallTurn != 1 {
		got.fail(t, "malformed")
	}
	const loop = `<tool_call>{"name":"write","arguments":{"text":"a"}}</tool_call>`
	got = perform(t, t.Context(), said{events: []llm.Event{llm.Text{Delta: loop + loop + loop},
		llm.Finish{Reason: llm.FinishStop}}}, llm.ChoiceAuto)
	if len(got.done) != 1 || got.types("0.2") != "tool_start tool_args_delta section_end" {
		got.fail(t, "a model in a loop")
	}
	got = perform(t, t.Context(), said{events: []llm.Event{
		llm.ToolCallDelta{Name: "write", ArgumentsDelta: `{"text":"a`},
		llm.ToolCallDelta{Name: "_all", ArgumentsDelta: `"}`}, llm.Finish{Reason: llm.FinishStop},
	}}, llm.ChoiceAuto)
	if len(got.done) != 1 || got.done[0].Name != "write_all" || got.done[0].CallID == "c1" {
		got.fail(t, "a name that goes on")
	}
}

func TestNothingIsShownEarlyUnderNoneOrOfToolsThatDoNotWantIt(t *testing.T) {
	for choice, events := range map[llm.Choice][]llm.Event{
		llm.ChoiceNone: {llm.ToolCallDelta{Name: "write", ArgumentsDelta: `{"text":"a"}`},
			llm.Text{Delta: `<tool_call>{"name":"write","arguments":{"text":"b"}}</tool_call>`}},
		llm.ChoiceAuto: {llm.ToolCallDelta{Name: "plain", ArgumentsDelta: `{"text":"a"}`},
			llm.Text{Delta: `<tool_call>{"name":"plain","arguments":{"text":"b"}}</tool_call>`}},
	} {
		got := perform(t, t.Context(), said{events: append(events, llm.Finish{Reason: llm.FinishStop})}, choice)
		if len(got.texts) != 0 || len(got.Calls) != 2 || got.Calls[0].ID+got.Calls[1].ID != "" {
			got.fail(t, string(choice))
		}
	}
}

func TestAStepMakesSoManyCallsAndNoMore(t *testing.T) {
	var native []llm.Event
	var text strings.Builder
	for i := range 3000 {
		native = append(native, llm.ToolCallDelta{Index: i, Name: "nothing"},
			llm.ToolCallDelta{Index: i, ArgumentsDelta: fmt.Sprintf(`{"n":%d}`, i)})
		fmt.Fprintf(&text, `<tool_call>{"name":"write","arguments":{"text":"%d"}}</tool_call>`, i)
	}
	for name, events := range map[string][]llm.Event{"native": native, "text": {llm.Text{Delta: text.String()}}} {
		got := perform(t, t.Context(), said{events: append(events, llm.Finish{Reason: llm.FinishStop})}, llm.ChoiceAuto)
		if len(got.done) != MaxCalls || got.Excess != 3000-MaxCalls {
			t.Errorf("%s: %d calls ran, %d were too many", name, len(got.done), got.Excess)
		}
	}
}
