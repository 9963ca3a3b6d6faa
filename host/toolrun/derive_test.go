package toolrun

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// TestCallsOfTheLoopsOwnToolsTakeNoSlot runs an agent that calls the tool which
// another call, that waits for a slot, has the only place of: with a slot of its own
// the agent and the call would wait for each other.
func TestCallsOfTheLoopsOwnToolsTakeNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(func(c *Config) { c.Parallel = 1 }, echo(tool.Spec{Name: "one", Concurrency: 1}))
		agent := func(ctx context.Context, in tool.Invocation) (tool.Result, error) {
			place, ok := PlaceOf(in.Report)
			if !ok || place.TurnIndex != 4 {
				t.Errorf("the call stands at %v", place)
			}
			done := h.Inside(h.Emit).Run(ctx, 5, []Request{{Name: "one", Arguments: `{"n":1}`}, {Name: "one", Arguments: `{"n":2}`}})
			return tool.Result{Text: done[1].Text}, nil
		}
		r := h.With(local{tool.Spec{Name: "agent"}, agent}, local{tool.Spec{Name: "other"}, agent})
		done := r.Run(t.Context(), 4, []Request{{Name: "agent"}, {Name: "one"}, {Name: "other"}, {Name: "one", Arguments: `{"n":3}`}})
		for _, d := range done {
			if d.Outcome != packet.OutcomeOK {
				t.Errorf("%+v", d)
			}
		}
	})
}

func TestAToolOfTheLoopsOwnHidesOneOfTheSameName(t *testing.T) {
	h := newHarness(nil, echo(tool.Spec{Name: "think", Concurrency: 1, Plugin: "other"}))
	own := h.With(local{tool.Spec{Name: "think"}, func(context.Context, tool.Invocation) (tool.Result, error) {
		return tool.Result{Text: "own"}, nil
	}})
	if done := own.Run(t.Context(), 0, []Request{{Name: "think"}}); done[0].Text != "own" || done[0].Plugin != "" {
		t.Errorf("%+v", done[0])
	}
	if done := h.Run(t.Context(), 1, []Request{{Name: "think"}}); done[0].Text != "{}" || done[0].Plugin != "other" {
		t.Errorf("the runner that it came from has changed: %+v", done[0])
	}
	if done := own.Run(t.Context(), 2, []Request{{Name: "thin"}}); done[0].Text != `There is no tool named "thin". The tools are: think.` {
		t.Errorf("%q", done[0].Text)
	}
}

func TestAHeldCallOfAnAgentDoesNotWait(t *testing.T) {
	h := newHarness(func(c *Config) { c.HoldWrites = true }, echo(tool.Spec{Name: "w", Labels: []string{tool.LabelWrites}}))
	done := h.Inside(h.Emit).Run(t.Context(), 0, []Request{{Name: "w"}})
	if done[0].Outcome != packet.OutcomeDenied || done[0].Text != "denied: comparing" || done[0].Held {
		t.Errorf("%+v", done[0])
	}
}

func TestAReporterThatIsNoRunnersHasNoPlace(t *testing.T) {
	if _, ok := PlaceOf(nil); ok {
		t.Error("it has one")
	}
}
