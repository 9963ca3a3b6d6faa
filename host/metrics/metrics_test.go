package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// text is what a Prometheus server reads.
func text(s *Set) string {
	var b bytes.Buffer
	s.Write(&b)
	return b.String()
}

// holds checks that the text has each line.
func holds(t *testing.T, all string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(all, line+"\n") {
			t.Errorf("%q is missing in\n%s", line, all)
		}
	}
}

// log hands packets of one run to a set, in order.
type log struct {
	set *Set
	run string
	seq int64
}

func (l *log) add(place packet.Placement, obj packet.Obj) {
	l.seq++
	l.set.Observe(packet.Packet{Run: l.run, Epoch: 1, Seq: l.seq, Placement: place, Obj: obj})
}

func TestRunIsCounted(t *testing.T) {
	now := time.Unix(1000, 0)
	s := New(func() time.Time { return now })
	l := &log{set: s, run: "r_1"}
	model := func(turn, tab int) packet.Placement { return packet.At(turn, tab).ForModel(0) }
	l.add(packet.At(0, 0), packet.RunStarted{})
	holds(t, text(s), "bulkhead_runs_live 1")
	now = now.Add(2 * time.Second)
	l.add(model(0, 0), packet.MessageStart{})
	l.add(model(0, 0), packet.MessageDelta{Content: "a secret"})
	l.add(model(0, 0), packet.MessageDelta{Content: "more"})
	l.add(model(1, 0), packet.ToolStart{CallID: "c1", Tool: "internal_search", Plugin: "search"})
	l.add(model(1, 1), packet.ToolStart{CallID: "c2", Tool: "made up \"by\" the model"})
	l.add(model(1, 1), packet.SectionEnd{Outcome: packet.OutcomeError})
	l.add(model(1, 0), packet.SectionEnd{Outcome: packet.OutcomeOK, DurationMS: 40, Fuel: 900,
		HostCalls: []packet.HostCall{
			{Capability: "knowledge", Decision: "allow", Bytes: 70, Summary: "a secret"},
			{Capability: "http", Decision: "deny"}}})
	l.add(model(1, 0), packet.Usage{InputTokens: 5, OutputTokens: 6})
	l.add(model(0, 0), packet.Stop{Reason: packet.StopCompleted})
	now = now.Add(3 * time.Second)
	l.add(packet.At(0, 0), packet.Stop{Reason: packet.StopCompleted})
	all := text(s)
	holds(t, all,
		"bulkhead_runs_live 0",
		`bulkhead_runs_total{reason="completed"} 1`,
		"bulkhead_run_seconds_sum 5",
		"bulkhead_first_text_seconds_count 1",
		"bulkhead_first_text_seconds_sum 2",
		"bulkhead_model_steps_total 1",
		`bulkhead_model_tokens_total{direction="out"} 6`,
		`bulkhead_tool_calls_total{plugin="search",tool="internal_search",outcome="ok"} 1`,
		`bulkhead_tool_calls_total{plugin="none",tool="other",outcome="error"} 1`,
		`bulkhead_tool_call_seconds_bucket{plugin="search",le="0.05"} 1`,
		`bulkhead_fuel_total{plugin="search"} 900`,
		`bulkhead_host_calls_total{capability="knowledge",decision="allow"} 1`,
		`bulkhead_host_calls_total{capability="http",decision="deny"} 1`,
		`bulkhead_host_call_bytes_total{capability="knowledge"} 70`,
		"bulkhead_packets_total 11")
	if strings.Contains(all, "secret") || strings.Contains(all, "made up") {
		t.Error("the metrics hold a text of the conversation")
	}
}

func TestNobodyOutsideCanAddSeries(t *testing.T) {
	s := New(nil)
	for i := range 100 {
		s.Request(fmt.Sprintf("METHOD%d", i), 200, time.Millisecond)
		l := &log{set: s, run: fmt.Sprint("r_", i)}
		l.add(packet.At(0, 0).ForModel(0), packet.ToolStart{Tool: fmt.Sprint("tool", i)})
		l.add(packet.At(0, 0).ForModel(0), packet.SectionEnd{Outcome: packet.OutcomeError})
		l.add(packet.At(0, 0), packet.Stop{Reason: packet.StopError})
	}
	holds(t, text(s), `bulkhead_http_requests_total{method="other",status="2xx"} 100`,
		`bulkhead_tool_calls_total{plugin="none",tool="other",outcome="error"} 100`)
}

func TestLabelNeedsNoQuoting(t *testing.T) {
	if got, want := series("x", []string{"a", "b\"\\\n{é", "c", "d"}), `bulkhead_x{a="b___{__",c="d"}`; got != want {
		t.Errorf("series is %s, want %s", got, want)
	}
}
