package toolrun

import (
	"context"
	"fmt"
	"sync"
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
			done := h.Inside("call_0", h.config.Emit).Run(ctx, 5,
				[]Request{{Name: "one", Arguments: `{"n":1}`}, {Name: "one", Arguments: `{"n":2}`}})
			return tool.Result{Text: done[1].Text}, nil
		}
		r := h.With(local{tool.Spec{Name: "agent"}, agent}, local{tool.Spec{Name: "other"}, agent})
		done := r.Run(t.Context(), 4, []Request{{Name: "agent"}, {Name: "one"}, {Name: "other"},
			{Name: "one", Arguments: `{"n":3}`}})
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
	h := newHarness(func(c *Config) { c.HoldWrites = true },
		echo(tool.Spec{Name: "w", Labels: []string{tool.LabelWrites}}))
	done := h.Inside("call_0", h.config.Emit).Run(t.Context(), 0, []Request{{Name: "w"}})
	if done[0].Outcome != packet.OutcomeDenied || done[0].Text != "denied: comparing" || done[0].Held {
		t.Errorf("%+v", done[0])
	}
}

func TestAReporterThatIsNoRunnersHasNoPlace(t *testing.T) {
	if _, ok := PlaceOf(nil); ok {
		t.Error("it has one")
	}
}

// TestCallsAreToldWhatThePathAndThoseBesideThemTouch has one call of private data beside one
// of none, and then two.
func TestCallsAreToldWhatThePathAndThoseBesideThemTouch(t *testing.T) {
	var mu sync.Mutex
	told := map[string][]string{}
	note := func(name string, labels ...string) tool.Tool {
		return local{tool.Spec{Name: name, Labels: labels},
			func(_ context.Context, in tool.Invocation) (tool.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				told[in.CallID] = in.Met
				return tool.Result{Text: "ok"}, nil
			}}
	}
	h := newHarness(nil, note("mail", tool.LabelPrivateData, tool.LabelEgress),
		note("page", tool.LabelUntrustedContent), note("plain"))
	var before []string
	r := h.After(func() []string { return before })
	run := func(names ...string) (got [][]string) {
		var requests []Request
		for _, name := range names {
			requests = append(requests, Request{Name: name})
		}
		for _, d := range r.Run(t.Context(), 0, requests) {
			got = append(got, told[d.CallID])
		}
		return got
	}
	private, strange := tool.LabelPrivateData, tool.LabelUntrustedContent
	for _, tc := range []struct {
		before, calls []string
		want          string
	}{
		{nil, []string{"plain"}, "[[]]"},
		{nil, []string{"mail"}, "[[]]"},
		{[]string{strange}, []string{"mail"}, fmt.Sprint([][]string{{strange}})},
		{nil, []string{"mail", "plain", "page"}, fmt.Sprint([][]string{{strange}, {private, strange}, {private}})},
		{nil, []string{"mail", "mail"}, fmt.Sprint([][]string{{private}, {private}})},
	} {
		before = tc.before
		if got := fmt.Sprint(run(tc.calls...)); got != tc.want {
			t.Errorf("after %v, %v are told %s, want %s", tc.before, tc.calls, got, tc.want)
		}
	}
	h.Run(t.Context(), 1, []Request{{Name: "plain"}}) // a runner that nobody tells still runs
}
