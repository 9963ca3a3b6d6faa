package toolrun

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// The runner's rules that no other test here is named after.

func TestAToolsOwnLimitHoldsAndItsCallsAllRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside peak
		var others atomic.Int64
		slow := local{tool.Spec{Name: "slow", Concurrency: 2},
			func(context.Context, tool.Invocation) (tool.Result, error) {
				inside.enter()
				time.Sleep(time.Second)
				inside.leave()
				return tool.Result{Text: "x"}, nil
			}}
		other := local{tool.Spec{Name: "other"}, func(context.Context, tool.Invocation) (tool.Result, error) {
			others.Add(1)
			return tool.Result{Text: "x"}, nil
		}}
		h := newHarness(nil, slow, other)
		var requests []Request
		for i := range 6 {
			requests = append(requests, Request{Name: "slow", Arguments: fmt.Sprintf(`{"n":%d}`, i)},
				Request{Name: "other", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
		}
		for i, d := range h.Run(t.Context(), 0, requests) {
			if d.Outcome != packet.OutcomeOK || d.Name != requests[i].Name {
				t.Errorf("%d: %+v", i, d)
			}
		}
		if most := inside.most.Load(); most != 2 || others.Load() != 6 {
			t.Errorf("%d of slow at once, %d of other; want 2 and 6", most, others.Load())
		}
	})
}

func TestAStopReachesTheCallsThatWaitForTheirToolsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newHarness(nil, local{tool.Spec{Name: "f", Concurrency: 1},
			func(ctx context.Context, _ tool.Invocation) (tool.Result, error) {
				<-ctx.Done()
				return tool.Fail(tool.FailureFailed, "stopped", "stopped"), nil
			}})
		go func() { synctest.Wait(); cancel() }()
		for _, d := range h.Run(ctx, 0, []Request{{Name: "f", Arguments: `{"n":1}`}, {Name: "f", Arguments: `{"n":2}`},
			{Name: "f", Arguments: `{"n":3}`}}) {
			if d.Outcome != packet.OutcomeCancelled {
				t.Errorf("%+v", d)
			}
		}
	})
}

func TestTheOutcomeSaysHowACallEnded(t *testing.T) {
	for kind, want := range map[tool.FailureKind]packet.Outcome{
		"": packet.OutcomeOK, tool.FailureInput: packet.OutcomeError, tool.FailureDenied: packet.OutcomeDenied,
		tool.FailureQuota:   packet.OutcomeError,
		tool.FailureTimeout: packet.OutcomeTimeout, tool.FailureUnavailable: packet.OutcomeError,
		tool.FailureTrap:     packet.OutcomeError,
		tool.FailureTooLarge: packet.OutcomeError, tool.FailureFailed: packet.OutcomeError,
	} {
		h := newHarness(nil, local{tool.Spec{Name: "f"}, func(context.Context, tool.Invocation) (tool.Result, error) {
			if kind == "" {
				return tool.Result{}, nil
			}
			return tool.Fail(kind, "For a person.", "For the model."), nil
		}})
		d := h.Run(t.Context(), 0, []Request{{Name: "f"}})[0]
		if d.Outcome != want || d.Failed() != (want != packet.OutcomeOK) {
			t.Errorf("%q: %+v", kind, d)
		}
		all := strings.Join(h.packets(), "\n")
		if kind != "" && (d.Text != "For the model." ||
			!strings.Contains(all, fmt.Sprintf(`"kind":%q,"message":"For a person."`, kind))) || kind == "" &&
			strings.Contains(all, "tool_error") {
			t.Errorf("%q: %q\n%s", kind, d.Text, all)
		}
	}
}

func TestVeryManyLargeResultsAreKeptInPart(t *testing.T) {
	h := newHarness(nil, local{tool.Spec{Name: "f", Concurrency: 1},
		func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: strings.Repeat("x", MaxResultRunes)}, nil
		}})
	var requests []Request
	for i := range 30 {
		requests = append(requests, Request{Name: "f", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	whole, cut, kept := 0, 0, 0
	for _, d := range h.Run(t.Context(), 0, requests) {
		kept += len(d.Text)
		switch {
		case len(d.Text) == MaxResultRunes:
			whole++
		case strings.HasSuffix(d.Text, "[The result was cut: 100000 of 400000 characters are kept. Ask for less.]"):
			cut++
		}
	}
	if whole+cut != 30 || whole != maxKeptBytes/MaxResultRunes+1 ||
		kept > maxKeptBytes+MaxResultRunes+30*(leastResultRunes+100) {
		t.Errorf("%d whole, %d cut, %d bytes", whole, cut, kept)
	}
}

func TestANameWithoutEndIsCut(t *testing.T) {
	h := newHarness(nil)
	done := h.Run(t.Context(), 0, []Request{{Name: strings.Repeat("é", 100_000), Arguments: "{}"}})
	if len(done) != 1 || done[0].Name != strings.Repeat("é", maxNameRunes) || !done[0].Failed() {
		t.Errorf("%d calls, a name of %d bytes", len(done), len(done[0].Name))
	}
}
