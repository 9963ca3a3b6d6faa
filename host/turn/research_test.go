package turn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/journal"
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
	log, err := f.records.Open(t.Context(), ack.Run)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := range log.Records() {
		if c, ok := r.Fact.(journal.CallDone); ok {
			got = append(got, fmt.Sprint(c.Name, " ", c.Parent != "", " ", c.Outcome))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"internal_search true ok", "research_agent false ok"}) {
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
	ack := f.send(Send{Text: "How is fuel counted?", Tools: []string{tool.ResearchAgent, "internal_search"}})
	f.read(ack.Run)
	log, err := f.records.Open(t.Context(), ack.Run)
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.Collect(log.Records())
	for n := range whole {
		if n < 3 { // these begin the run, in one
			continue
		}
		begun := f.cutOff(store.BeginRun{Text: "q", Models: []string{"local"}},
			func(store.Begun) []journal.Record { return whole[:n] })
		f.reopen()
		f.read(begun.Run.ID)
		m, err := f.Message(t.Context(), f.owner, begun.Responses[0].ID)
		if err != nil || !strings.HasPrefix("By instruction [[1]].", m.Text) {
			t.Fatalf("cut after %d: %+v, %v", n, m, err)
		}
		for _, step := range m.Steps {
			if len(step.Calls) > 1 || len(step.Calls) != len(step.Results) || len(step.Calls) > 0 &&
				step.Calls[0].Name != tool.ResearchAgent {
				t.Fatalf("cut after %d: %+v", n, step)
			}
		}
	}
}
