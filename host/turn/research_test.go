package turn

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// agentRun is an answer in which an agent searches once.
func agentRun() []*llmtest.Reply {
	return []*llmtest.Reply{
		llmtest.Answer().ToolCall("a", tool.ResearchAgent, `{"task":"How is fuel counted?"}`),
		llmtest.Answer().Text("I look.").ToolCall("b", "internal_search", `{"queries":["fuel"]}`),
		llmtest.Answer().Text("By instruction [1]."),
		llmtest.Answer().Text("By instruction [1]."),
	}
}

func TestCallsInsideAnAgentAreRecorded(t *testing.T) {
	f := newFixture(t)
	f.server.Add(agentRun()...)
	ack := f.send(Send{Text: "How is fuel counted?", Tools: []string{tool.ResearchAgent, "internal_search"}})
	f.read(ack.Run)
	calls, err := f.store.ToolCalls(t.Context(), f.owner, ack.Run)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, c.Tool+" "+c.Plugin+" "+c.Outcome)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"internal_search search ok", "research_agent  ok"}) {
		t.Errorf("recorded: %q", got)
	}
	m := f.message(ack, 0)
	if len(m.Steps) != 2 || len(m.Steps[0].Calls) != 1 || m.Text != "By instruction [[1]]." || len(m.Citations) != 1 {
		t.Errorf("stored: %+v", m)
	}
}

// TestARunWithAnAgentThatACrashCutsOffAnywhereIsRecovered stores the beginnings of
// such a run as crashes leave them and starts again: the run ends within the protocol,
// and what the agent said and called is no part of the answer.
func TestARunWithAnAgentThatACrashCutsOffAnywhereIsRecovered(t *testing.T) {
	f := newFixture(t)
	f.server.Add(agentRun()...)
	packets := f.read(f.send(Send{Text: "How is fuel counted?", Tools: []string{tool.ResearchAgent, "internal_search"}}).Run)
	for n := range packets {
		begun, err := f.store.BeginRun(t.Context(), f.owner, store.BeginRun{Text: "q", Models: []string{"local"}})
		if err != nil {
			t.Fatal(err)
		}
		var entries []store.PacketEntry
		for _, p := range packets[:n] {
			p.Run = begun.Run.ID
			data, err := p.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, store.PacketEntry{Seq: p.Seq, JSON: data})
		}
		if err := f.store.AppendPackets(t.Context(), begun.Run.ID, 1, entries); err != nil {
			t.Fatal(err)
		}
		if err := f.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.read(begun.Run.ID)
		m, err := f.store.Message(t.Context(), f.owner, begun.Responses[0].ID)
		if err != nil || !strings.HasPrefix("By instruction [[1]].", m.Text) {
			t.Fatalf("cut after %d: %+v, %v", n, m, err)
		}
		for _, step := range m.Steps {
			if len(step.Calls) > 1 || len(step.Calls) != len(step.Results) || len(step.Calls) > 0 && step.Calls[0].Name != tool.ResearchAgent {
				t.Fatalf("cut after %d: %+v", n, step)
			}
		}
	}
}
