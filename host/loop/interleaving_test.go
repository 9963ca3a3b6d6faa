package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// timed is an event of a stream and how long it takes to come.
type timed struct {
	after time.Duration
	event llm.Event
}

// slow is a model that streams in fake time: each request gets the next script, and
// what comes after the last is a plain answer.
type slow struct {
	steps [][]timed
	// mu guards what follows: agents inside of calls ask in parallel.
	mu    sync.Mutex
	asked int
	// problem is what was wrong with a history that it was asked with.
	problem string
}

func (*slow) Info() llm.Info { return llm.Info{Name: "slow", NoReasoning: true} }

func (m *slow) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := unanswered(r.Messages); p != "" {
		m.problem = p
	}
	step := []timed{{0, llm.Text{Delta: "The end."}}, {0, llm.Finish{Reason: llm.FinishStop}}}
	if m.asked < len(m.steps) {
		step = m.steps[m.asked]
	}
	m.asked++
	return func(yield func(llm.Event, error) bool) {
		for _, t := range step {
			select {
			case <-time.After(t.after):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			if !yield(t.event, nil) {
				return
			}
		}
	}
}

// unanswered says which call of a history has not exactly one result right behind
// its message.
func unanswered(history []llm.Message) string {
	open := map[string]int{}
	for _, m := range history {
		if m.Role == llm.RoleTool {
			if open[m.ToolCallID]--; open[m.ToolCallID] != 0 {
				return fmt.Sprintf("a result of call %q, which is not open", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("calls without a result before a %s message: %v", m.Role, open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID]++
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls without a result: %v", open)
	}
	return ""
}

// busy is a tool that shows things while time goes by. It ends when it is told to,
// unless it is deaf: then it ends in its own time.
type busy struct {
	spec tool.Spec
	deaf bool
}

func (b busy) Spec() tool.Spec { return b.spec }

func (b busy) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	var args struct{ N int }
	if err := json.Unmarshal(in.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	for i := range args.N {
		in.Report.Output("stdout", fmt.Sprintf("%d\n", i))
		if b.deaf {
			time.Sleep(3 * time.Millisecond)
			continue
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return tool.Fail(tool.FailureFailed, "Stopped.", "stopped"), nil
		}
	}
	if args.N == 3 {
		panic("three")
	}
	return tool.Result{Text: "done"}, nil
}

var busyTools = []tool.Tool{
	busy{spec: tool.Spec{Name: "busy"}},
	busy{spec: tool.Spec{Name: "deaf", Concurrency: 1}, deaf: true},
	busy{spec: tool.Spec{Name: "told", StreamArgs: true, Labels: []string{tool.LabelWrites}}},
	busy{spec: tool.Spec{Name: "last", StopsLoop: true}},
}

// drawStep draws what a model streams in one step.
func drawStep(t *rapid.T) []timed {
	var out []timed
	pause := rapid.IntRange(0, 9)
	add := func(e llm.Event) {
		out = append(out, timed{time.Duration(pause.Draw(t, "pause")) * time.Millisecond, e})
	}
	names := rapid.SampledFrom([]string{"busy", "deaf", "told", "last", "unknown", "think", "research_agent",
		"research_agent"})
	for i := range rapid.IntRange(0, 6).Draw(t, "pieces") {
		name, n := names.Draw(t, "name"), rapid.IntRange(0, 5).Draw(t, "n")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			add(llm.Reasoning{Delta: "Hm. "})
		case 1:
			add(llm.Text{Delta: "Some text. "})
		case 2, 3:
			add(llm.ToolCallDelta{Index: i, Name: name})
			add(llm.ToolCallDelta{Index: i, ArgumentsDelta: `{"thought":"Hm.","task":"Look.","note":"some `})
			add(llm.ToolCallDelta{Index: i, ArgumentsDelta: fmt.Sprintf(`words","n":%d}`, n)})
		case 4:
			add(llm.Text{Delta: fmt.Sprintf(`<tool_call>{"name":%q,"argum`, name)})
			add(llm.Text{Delta: fmt.Sprintf(`ents":{"thought":"Hm.","task":"Look.","note":"in text","n":%d}}</tool_call>`, n)})
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "broken") > 0 {
		add(llm.Finish{Reason: llm.FinishStop})
	}
	return out
}

// TestAStopAtAnyMomentEndsEverything runs loops against streams and tools whose
// steps interleave at random and stops them at a random moment: the run ends, every
// block is closed in order, each call in history has one result, and nothing is left
// running (synctest fails a bubble in which a goroutine stays).
func TestAStopAtAnyMomentEndsEverything(t *testing.T) {
	reasons, agents := map[packet.StopReason]int{}, 0
	rapid.Check(t, func(rt *rapid.T) {
		model := &slow{}
		for range rapid.IntRange(1, 9).Draw(rt, "steps") {
			model.steps = append(model.steps, drawStep(rt))
		}
		stopAfter := time.Duration(rapid.IntRange(0, 150).Draw(rt, "stop after")) * time.Millisecond
		parallel, hold := rapid.IntRange(1, 4).Draw(rt, "parallel"), rapid.Bool().Draw(rt, "hold")
		var packets []packet.Packet
		var result loop.Result
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop := time.AfterFunc(stopAfter, cancel)
			defer stop.Stop()
			packets, result = runLoop(ctx, model, parallel, hold)
		})
		reasons[result.Reason]++
		for _, p := range packets {
			if _, ok := p.Obj.(packet.ResearchAgentStart); ok {
				agents++
			}
		}
		if model.problem != "" {
			rt.Fatal(model.problem)
		}
		packettest.Require(rt, packets, packettest.Stored(0, result.Text))
		for _, s := range result.Steps {
			for _, c := range s.Calls {
				if c.CallID == "" || c.Text == "" || c.Outcome == "" {
					rt.Fatalf("a call without a result: %+v", c)
				}
			}
		}
	})
	t.Logf("ended as %v, with %d agents inside of calls", reasons, agents)
	if agents == 0 {
		t.Error("no agent ran")
	}
}

func runLoop(ctx context.Context, model llm.Model, parallel int, hold bool) ([]packet.Packet, loop.Result) {
	log := journal.New("r_1", 1)
	var n atomic.Int64
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.RunStarted{UserMessageID: "u",
		Responses: []packet.Response{{MessageID: "m", Model: "slow"}}})
	emit, documents := packet.NewEmitter(log, 0), cite.NewDocuments(nil)
	var specs []tool.Spec
	for _, t := range busyTools {
		specs = append(specs, t.Spec())
	}
	result := loop.Run(ctx, loop.Setup{
		Model: model, System: "Be brief.", History: []llm.Message{{Role: llm.RoleUser, Text: "go"}}, Specs: specs,
		Runner: toolrun.New(toolrun.Config{
			Tools: busyTools, Refs: toolrun.NewRefs(0), Documents: documents, Emit: emit, Parallel: parallel,
			HoldWrites: hold,
			Now:        time.Now, NewID: func() string { return fmt.Sprintf("c%d", n.Add(1)) },
		}),
		Research: true, Documents: documents, Emit: emit, Now: time.Now,
	})
	emit.Emit(packet.At(0, 0), packet.Stop{Reason: result.Reason})
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.Stop{Reason: result.Reason})
	log.Close()
	var packets []packet.Packet
	for last := int64(0); ; {
		entries, err := log.Read(context.Background(), last)
		if err != nil {
			return packets, result
		}
		for _, e := range entries {
			packets, last = append(packets, e.Packet), e.Seq
		}
	}
}
