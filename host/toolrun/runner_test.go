package toolrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// local is a tool in Go.
type local struct {
	spec tool.Spec
	call func(context.Context, tool.Invocation) (tool.Result, error)
}

func (l local) Spec() tool.Spec { return l.spec }
func (l local) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	return l.call(ctx, in)
}

// echo answers with its arguments.
func echo(spec tool.Spec) local {
	return local{spec, func(_ context.Context, in tool.Invocation) (tool.Result, error) {
		return tool.Result{Text: string(in.Arguments)}, nil
	}}
}

// peak counts those that are inside at once, and the most of them.
type peak struct{ now, most atomic.Int64 }

func (p *peak) enter() {
	n := p.now.Add(1)
	for old := p.most.Load(); n > old && !p.most.CompareAndSwap(old, n); old = p.most.Load() {
	}
}

func (p *peak) leave() { p.now.Add(-1) }

type harness struct {
	*Runner
	log *journal.Log
}

func newHarness(change func(*Config), tools ...tool.Tool) harness {
	log := journal.New("r_1", 1)
	var ids atomic.Int64
	config := Config{
		Tools: tools, Refs: NewRefs(0), Documents: cite.NewDocuments(nil), Emit: packet.NewEmitter(log, 0),
		Now: time.Now, NewID: func() string { return fmt.Sprintf("call_%d", ids.Add(1)) },
	}
	if change != nil {
		change(&config)
	}
	return harness{New(config), log}
}

// packets returns what was emitted, each as "tab json".
func (h harness) packets() []string {
	h.log.Close()
	var out []string
	for last := int64(0); ; {
		entries, err := h.log.Read(context.Background(), last)
		if err != nil {
			return out
		}
		for _, e := range entries {
			data, _ := packet.EncodeObj(e.Packet.Obj)
			out = append(out, fmt.Sprintf("%d %s", e.Packet.Placement.TabIndex, data))
			last = e.Seq
		}
	}
}

func (h harness) contains(t *testing.T, pieces ...string) {
	t.Helper()
	all := strings.Join(h.packets(), "\n")
	for _, p := range pieces {
		if !strings.Contains(all, p) {
			t.Errorf("no %s in:\n%s", p, all)
		}
	}
}

func TestCallsOfOneToolMergeIntoTheFirst(t *testing.T) {
	h := newHarness(nil, echo(tool.Spec{Name: "s", Merge: "queries", Cites: true}), echo(tool.Spec{Name: "other"}))
	done := h.Run(t.Context(), 3, []Request{
		{Name: "s", Arguments: `{"queries":["a","b"]}`}, {Name: "other", Arguments: `{}`},
		{Name: "s", Arguments: `{"queries":["b", "c"]}`}, {Name: "s", Arguments: `{"queries":"d"}`},
		{Name: "s", Arguments: `{"queries":["e"],"limit":1}`},
	})
	if len(done) != 3 {
		t.Fatalf("got %d calls, want 3: %+v", len(done), done)
	}
	if done[0].Text != `{"queries":["a","b","c","d"]}` {
		t.Errorf("merged: %s", done[0].Text)
	}
	if done[2].Text != `{"limit":1,"queries":["e"]}` {
		t.Errorf("a call that differs elsewhere was merged: %s", done[2].Text)
	}
	h.contains(t, `"type":"top_level_branching","turn_index":3,"tabs":[0,1,4]`)
}

func TestRefsAreDealtInRangesAboveTheHighest(t *testing.T) {
	var got []tool.Refs
	spec := tool.Spec{Name: "s", Cites: true, Concurrency: 1}
	h := newHarness(func(c *Config) { c.Refs = NewRefs(250) },
		local{spec, func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			got = append(got, in.Refs)
			return tool.Result{}, nil
		}})
	h.Run(t.Context(), 0, []Request{{Name: "s", Arguments: "{}"}, {Name: "s", Arguments: "{}"}})
	if len(got) != 2 || got[0].Start+got[1].Start != 251+351 || got[0].Count != 100 {
		t.Errorf("got %+v", got)
	}
}

func TestDocumentsOutsideTheRangeAreDroppedAndNamed(t *testing.T) {
	known := packet.Document{ID: "old", Ref: 7, Title: "Old"}
	h := newHarness(func(c *Config) {
		c.Refs, c.Documents = NewRefs(100), cite.NewDocuments([]packet.Document{known})
	}, local{tool.Spec{Name: "s", Cites: true}, func(_ context.Context, in tool.Invocation) (tool.Result, error) {
		if in.Context.Citations["old"] != 7 {
			return tool.Result{}, errors.New("the known document was not told")
		}
		return tool.Result{Text: "x", Documents: []tool.Document{
			{ID: "new", Ref: in.Refs.Start, Title: "New"}, {ID: "old", Ref: 7, Title: "Old"},
			{ID: "liar", Ref: 7, Title: "Liar"}, {ID: "far", Ref: 999, Title: "Far"},
		}}, nil
	}})
	done := h.Run(t.Context(), 0, []Request{{Name: "s", Arguments: "{}"}})
	if len(done[0].Documents) != 2 {
		t.Errorf("kept %+v", done[0].Documents)
	}
	if _, ok := h.config.Documents.Get(101); !ok {
		t.Error("the new document cannot be cited")
	}
	h.contains(t, `"code":"documents_dropped"`, `\"Liar\", \"Far\"`)
}

func TestFailureCostsOnlyItsOwnCall(t *testing.T) {
	fail := func(name string, call func(context.Context, tool.Invocation) (tool.Result, error)) local {
		return local{tool.Spec{Name: name, InputSchema: json.RawMessage(`{"properties":{"q":{"type":"array","items":{"type":"string"}}},"required":["q"]}`)}, call}
	}
	h := newHarness(nil,
		fail("panics", func(context.Context, tool.Invocation) (tool.Result, error) { panic("boom") }),
		fail("errors", func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Result{}, errors.New("secret")
		}),
		fail("denied", func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Fail(tool.FailureDenied, "Not granted.", "denied"), nil
		}),
		echo(tool.Spec{Name: "good"}))
	const q = `{"q":["x"]}`
	done := h.Run(t.Context(), 0, []Request{
		{Name: "panics", Arguments: q}, {Name: "errors", Arguments: q}, {Name: "denied", Arguments: q},
		{Name: "missing", Arguments: "{}"}, {Name: "errors", Arguments: "no object"},
		{Name: "good", Arguments: `{"a":1}`},
	})
	want := []packet.Outcome{"error", "error", "denied", "error", "error", "ok"}
	for i, d := range done {
		if d.Outcome != want[i] {
			t.Errorf("%s: %s, want %s", d.Name, d.Outcome, want[i])
		}
		if d.Text == "" || strings.Contains(d.Text, "boom") || strings.Contains(d.Text, "secret") {
			t.Errorf("%s: text %q", d.Name, d.Text)
		}
	}
	if !strings.Contains(done[3].Text, "panics, errors, denied, good") {
		t.Errorf("an unknown name does not name the tools: %s", done[3].Text)
	}
	if !strings.Contains(done[4].Text, `{"q":["text"]}`) {
		t.Errorf("no example of right: %s", done[4].Text)
	}
	ends := 0
	for _, p := range h.packets() {
		if strings.Contains(p, "section_end") {
			ends++
		}
	}
	if ends != 6 {
		t.Errorf("%d section_end, want 6", ends)
	}
}

func TestCallsBeyondTheLimitWaitAndAllRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside peak
		var ran atomic.Int64
		h := newHarness(func(c *Config) { c.Parallel = 2 },
			local{tool.Spec{Name: "f"}, func(context.Context, tool.Invocation) (tool.Result, error) {
				inside.enter()
				time.Sleep(time.Second)
				inside.leave()
				ran.Add(1)
				return tool.Result{Text: "x"}, nil
			}})
		requests := make([]Request, 7)
		for i := range requests {
			requests[i] = Request{Name: "f", Arguments: fmt.Sprintf(`{"n":%d}`, i)}
		}
		h.Run(t.Context(), 0, requests)
		if most := inside.most.Load(); most != 2 || ran.Load() != 7 {
			t.Errorf("%d at once, %d ran; want 2 and 7", most, ran.Load())
		}
	})
}

func TestStopEndsRunningAndWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newHarness(func(c *Config) { c.Parallel = 1 },
			local{tool.Spec{Name: "f"}, func(ctx context.Context, _ tool.Invocation) (tool.Result, error) {
				<-ctx.Done()
				return tool.Fail(tool.FailureFailed, "stopped", "stopped"), nil
			}})
		go func() { synctest.Wait(); cancel() }()
		done := h.Run(ctx, 0, []Request{{Name: "f", Arguments: `{"n":1}`}, {Name: "f", Arguments: `{"n":2}`}})
		for _, d := range done {
			if d.Outcome != packet.OutcomeCancelled || d.Text == "" {
				t.Errorf("got %+v", d)
			}
		}
	})
}

func TestWritesAreHeldWhileModelsAreCompared(t *testing.T) {
	h := newHarness(func(c *Config) { c.HoldWrites = true },
		echo(tool.Spec{Name: "w", Labels: []string{tool.LabelWrites}}))
	done := h.Run(t.Context(), 0, []Request{{Name: "w", Arguments: "{}"}})
	if done[0].Outcome != packet.OutcomeDenied || done[0].Text != "denied: comparing" || !done[0].Held {
		t.Errorf("got %+v", done[0])
	}
	if all := strings.Join(h.packets(), "\n"); !strings.Contains(all, `"held":true`) {
		t.Errorf("no packet says that the call is held: %s", all)
	}
	h.Run(t.Context(), 1, []Request{{Name: "w", Arguments: "["}})
	if all := strings.Join(h.packets(), "\n"); strings.Count(all, `"held":true`) != 1 {
		t.Errorf("a call that could not run anyway is held: %s", all)
	}
}

func TestWhatACallShowsAfterItsEndIsDropped(t *testing.T) {
	var kept tool.Reporter
	h := newHarness(nil, local{tool.Spec{Name: "f"}, func(_ context.Context, in tool.Invocation) (tool.Result, error) {
		kept = in.Report
		in.Report.Output("stdout", "in time")
		return tool.Result{Text: "x"}, nil
	}})
	h.Run(t.Context(), 0, []Request{{Name: "f", Arguments: ""}})
	kept.Output("stdout", "too late")
	all := h.packets()
	if !strings.Contains(all[len(all)-1], "section_end") {
		t.Errorf("last packet: %s", all[len(all)-1])
	}
}

func TestAResultThatIsTooLongIsCutAndSaysSo(t *testing.T) {
	h := newHarness(nil, local{tool.Spec{Name: "f"}, func(context.Context, tool.Invocation) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat("é", MaxResultRunes+5)}, nil
	}})
	done := h.Run(t.Context(), 0, []Request{{Name: "f", Arguments: "{}"}})
	if !strings.Contains(done[0].Text, "400000 of 400005 characters") {
		t.Errorf("ends with %q", done[0].Text[len(done[0].Text)-90:])
	}
}

func TestArgumentsAreMendedOrTheModelIsTaughtTheSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"q":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"}},"required":["q"]}`)
	h := newHarness(nil, echo(tool.Spec{Name: "f", InputSchema: schema}))
	done := h.Run(t.Context(), 0, []Request{
		{Name: "f", Arguments: `{'q': "one", "n": "3",}`}, {Name: "f", Arguments: `{"n":1}`},
		{Name: "f", Arguments: "nothing like an object"},
	})
	if done[0].Outcome != packet.OutcomeOK || done[0].Text != `{"n":3,"q":["one"]}` {
		t.Errorf("not mended: %+v", done[0])
	}
	for _, d := range done[1:] {
		if d.Outcome != packet.OutcomeError || !strings.Contains(d.Text, `{"q":["text"]}`) ||
			!strings.Contains(d.Text, `"properties"`) {
			t.Errorf("not taught: %+v", d)
		}
	}
}

// TestWhatAModelIsToldOfArgumentsIsBounded: a tool may list a schema of 256 KB.
func TestWhatAModelIsToldOfArgumentsIsBounded(t *testing.T) {
	enum := strings.Repeat(`"`+strings.Repeat("e", 1000)+`",`, 250)
	schema := `{"type":"object","properties":{"kind":{"enum":[` + enum +
		`"z"]},"count":{"type":"integer"}},"required":["kind","count"]}`
	h := newHarness(nil, echo(tool.Spec{ID: "p/t", Name: "t", InputSchema: json.RawMessage(schema)}))
	done := h.Run(t.Context(), 0, []Request{{Name: "t", Arguments: `{"kind":1}`}})
	if len(done[0].Text) > 8<<10 || !strings.Contains(done[0].Text, "(shortened)") ||
		!strings.Contains(done[0].Text, "count is missing") {
		t.Errorf("%d bytes: %.300s", len(done[0].Text), done[0].Text)
	}
	example := `{"type":"object","properties":{"kind":{"enum":["` + strings.Repeat("e", 3000) +
		`"]},"n":{}},"required":["kind","n"]}`
	h = newHarness(nil, echo(tool.Spec{Name: "t", InputSchema: json.RawMessage(example)}))
	if done := h.Run(t.Context(), 0, []Request{{Name: "t", Arguments: `{}`}}); strings.Contains(done[0].Text,
		"An example") {
		t.Errorf("an example of %d bytes: %.200s", len(done[0].Text), done[0].Text)
	}
}

// TestACallTellsWhichToolItWas, by the identity; an unknown name has none.
func TestACallTellsWhichToolItWas(t *testing.T) {
	h := newHarness(nil, echo(tool.Spec{ID: "p/t", Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}))
	done := h.Run(t.Context(), 0, []Request{{Name: "t"}, {Name: "u"}})
	if done[0].ToolID != "p/t" || done[0].Name != "t" || done[1].ToolID != "" {
		t.Errorf("got %+v", done)
	}
	packets := strings.Join(h.packets(), "\n")
	if !strings.Contains(packets, `"tool":"t","tool_id":"p/t"`) || strings.Count(packets, "tool_id") != 1 {
		t.Errorf("got %s", packets)
	}
}
