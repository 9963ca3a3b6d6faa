package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// anOperator is an operator of no account, for what only operators may do.
var anOperator = identity.New(identity.Account{ID: "u_operator", Roles: []identity.Role{identity.Operator}},
	identity.Command)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for a run to go on or to end: more than any machine
// needs, so that a test that waits in vain says what it saw.
const patience = 2 * time.Minute

// models are named models; the first is the default.
type models []llm.Model

func (m models) Get(name string) (llm.Model, bool) {
	for _, model := range m {
		if model.Info().Name == name {
			return model, true
		}
	}
	return nil, false
}

func (m models) Default() string { return m[0].Info().Name }

// search is a citing tool in Go: it finds one document for each query.
type search struct {
	spec tool.Spec
	// gate, where it is set, holds each call until it is closed or the call ends.
	gate chan struct{}
}

func newSearch() *search {
	return &search{spec: tool.Spec{
		Name: "internal_search", Plugin: "search", Title: "Search", Cites: true, Merge: "queries",
		Labels:      []string{tool.LabelPrivateData},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"}}},"required":["queries"]}`),
	}}
}

func (s *search) Spec() tool.Spec { return s.spec }

func (s *search) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return tool.Fail(tool.FailureFailed, "Stopped.", "stopped"), nil
		}
	}
	var args struct{ Queries []string }
	if err := json.Unmarshal(in.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	var result tool.Result
	for i, q := range args.Queries {
		ref := in.Refs.Start + i
		if known, ok := in.Context.Citations["doc:"+q]; ok {
			ref = known
		}
		result.Documents = append(result.Documents,
			tool.Document{ID: "doc:" + q, Ref: ref, Title: q, Snippet: "About " + q, Source: "knowledge"})
		result.Text += fmt.Sprintf(`{"ref":%d,"content":"About %s."}`, ref, q)
	}
	return result, nil
}

// clockTool answers with a word and cites nothing.
type clockTool struct{}

func (clockTool) Spec() tool.Spec { return tool.Spec{Name: "clock", Title: "Clock"} }
func (clockTool) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: "noon"}, nil
}

type fixture struct {
	*Service
	t      *testing.T
	server *llmtest.Server
	// url is where the model is reached that is none of server's; "" for none.
	url    string
	store  *store.Store
	owner  identity.Principal
	search *search
	path   string
	// records is the journal, and seen what it showed of each run while it was live.
	records *journal.Local
	seenMu  sync.Mutex
	seen    map[string][]packet.Packet
	more    chan struct{}
	// stop is the store's failpoint, tools are what is installed; nil for none and for
	// a search and a clock.
	stop  kv.Stop
	tools func() []tool.Tool
	// ids counts the ids of records, where they are not random.
	ids atomic.Int64
	// restarted tells that runs may have ended without anybody seeing them.
	restarted bool
}

// see keeps a packet as it went out.
func (f *fixture) see(p packet.Packet) {
	f.seenMu.Lock()
	defer f.seenMu.Unlock()
	if f.seen == nil {
		f.seen = map[string][]packet.Packet{}
	}
	f.seen[p.Run] = append(f.seen[p.Run], p)
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// sent are the packets of a run as they went out while it was live, up to its stop;
// none of a run that was recovered.
func (f *fixture) sent(run string) []packet.Packet {
	f.t.Helper()
	limit := time.After(patience)
	for {
		f.seenMu.Lock()
		packets := f.seen[run]
		if n := len(packets); n == 0 && f.restarted || n > 0 && packets[n-1].Placement.ModelIndex == nil &&
			packets[n-1].Obj.Type() == (packet.Stop{}).Type() {
			f.seenMu.Unlock()
			return packets
		}
		if f.more == nil {
			f.more = make(chan struct{})
		}
		more := f.more
		f.seenMu.Unlock()
		select {
		case <-more:
		case <-limit:
			f.t.Fatalf("nobody saw the end of run %s", run)
		}
	}
}

// requested are the requests to the model, each as its messages and the tools on offer.
func (f *fixture) requested() (requests [][]string) {
	for _, r := range f.server.Requests() {
		var lines []string
		for _, m := range r.Body.Messages {
			lines = append(lines, fmt.Sprintf("%s %s %+v %s", m.Role, m.Content, m.ToolCalls, m.ToolCallID))
		}
		for _, t := range r.Body.Tools {
			lines = append(lines, fmt.Sprintf("tool %+v", t))
		}
		requests = append(requests, lines)
	}
	return requests
}

// drawn is what a client draws of packets, as text.
func drawn(t *testing.T, packets []packet.Packet) string {
	t.Helper()
	var b strings.Builder
	for _, block := range packettest.Blocks(packets) {
		fmt.Fprintln(&b, block.Place)
		for _, obj := range block.Content {
			data, err := packet.EncodeObj(obj)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %s\n", data)
		}
	}
	return b.String()
}

// openJournal opens the journal in the store of a fixture.
func (f *fixture) openJournal(st *store.Store) *journal.Local {
	f.t.Helper()
	records, err := journal.Open(f.t.Context(), st.DB(), journal.Options{Tick: time.Millisecond})
	if err != nil {
		f.t.Fatal(err)
	}
	f.records = records
	return records
}

// cutOff begins a run as a crash leaves it, with these records on disk. It is live
// once the fixture was opened again.
func (f *fixture) cutOff(in store.BeginRun, records func(store.Begun) []journal.Record) store.Begun {
	f.t.Helper()
	in.Also = func(tx kv.Tx, begun store.Begun) error {
		b, err := f.records.Begin(begun.Run.ID, begun.Run.Epoch, "test", records(begun)...)
		if err != nil {
			return err
		}
		return b.Write(tx)
	}
	begun, err := f.store.Runs().Begin(f.t.Context(), f.owner, in)
	if err != nil {
		f.t.Fatal(err)
	}
	return begun
}

// reopen is a restart.
func (f *fixture) reopen() {
	f.t.Helper()
	f.close()
	f.open()
}

// newFixture is a real store and a real model client that talks to a scripted
// endpoint. It is closed with the test.
func newFixture(t *testing.T, names ...string) *fixture {
	t.Helper()
	server, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, server: server, search: newSearch(), path: filepath.Join(t.TempDir(), "bulkhead.db")}
	f.open(names...)
	t.Cleanup(func() {
		f.close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) open(names ...string) {
	f.t.Helper()
	st, err := store.Open(f.path, store.Options{Stop: f.stop})
	if err != nil {
		f.t.Fatal(err)
	}
	owner, _, err := st.Users().EnsureOwner(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	if len(names) == 0 {
		names = []string{"local"}
	}
	url := f.url
	if url == "" {
		url = f.server.URL()
	}
	var ms models
	for _, name := range names {
		m, err := openai.New(openai.Config{
			Name: name, BaseURL: url, Model: name, APIKey: llm.NewKey("sk-secret"),
			Sleep:      func(context.Context, time.Duration) error { return nil },
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
		if err != nil {
			f.t.Fatal(err)
		}
		ms = append(ms, m)
	}
	f.store, f.owner = st, owner.Principal(identity.Command)
	f.restarted, f.seen = f.Service != nil, nil
	f.Service = New(Config{
		Records: RecordsOf(st), Journal: f.openJournal(st), Models: ms, Observe: f.see,
		Tools: func(context.Context, string) ([]tool.Tool, error) {
			if f.tools != nil {
				return f.tools(), nil
			}
			return []tool.Tool{f.search, clockTool{}}, nil
		},
	})
	if err := f.Recover(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) close() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Service.Close(ctx); err != nil {
		f.t.Errorf("close the runs: %v", err)
	}
	if err := f.records.Close(); err != nil {
		f.t.Error(err)
	}
	if err := f.store.Close(); err != nil {
		f.t.Error(err)
	}
}

func (f *fixture) send(in Send) Ack {
	f.t.Helper()
	ack, err := f.Send(f.t.Context(), f.owner, in)
	if err != nil {
		f.t.Fatal(err)
	}
	return ack
}

// read returns all packets of a run as they went out, which must obey the protocol
// and draw the same once they are stored.
func (f *fixture) read(run string, options ...packettest.Option) []packet.Packet {
	f.t.Helper()
	stored := f.drain(run) // from whichever log there is, to its end
	// The stop was seen, so the outcome is on disk.
	if r, err := f.store.Runs().Get(f.t.Context(), f.owner, run); err != nil || r.Live() {
		f.t.Errorf("the run reads as live after its stop: %+v, %v", r, err)
	}
	f.wait(run)
	packets := f.sent(run)
	if len(packets) == 0 {
		packets = stored
	}
	packettest.Require(f.t, packets, options...)
	stored = f.drain(run)
	packettest.Require(f.t, stored, options...)
	if drawn(f.t, packets) != drawn(f.t, stored) {
		f.t.Errorf("stored:\n%s\nsent:\n%s", packettest.Dump(stored), packettest.Dump(packets))
	}
	return packets
}

// wait returns when a run has ended.
func (f *fixture) wait(run string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	if err := f.Wait(ctx, f.owner, run); err != nil {
		f.t.Errorf("wait for the end of run %s: %v", run, err)
	}
}

func (f *fixture) drain(run string) []packet.Packet {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	cursor, err := f.Open(ctx, f.owner, run, 0, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	var packets []packet.Packet
	for {
		entries, err := cursor.Next(ctx)
		if errors.Is(err, io.EOF) {
			return packets
		}
		if err != nil {
			f.t.Fatalf("the run does not end: %v, after\n%s", err, packettest.Dump(packets))
		}
		for _, e := range entries {
			packets = append(packets, e.Packet)
		}
	}
}

// message returns the stored answer of a run.
func (f *fixture) message(ack Ack, model int) Message {
	f.t.Helper()
	m, err := f.Message(f.t.Context(), f.owner, ack.MessageIDs[model])
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// lines writes packets as "turn.tab json", without what differs between runs.
func lines(t *testing.T, packets []packet.Packet) []string {
	t.Helper()
	var out []string
	for _, p := range packets {
		data, err := packet.EncodeObj(timeless(p.Obj))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for i := 1; i < 10; i++ { // call ids end in a part of the run's id
			text = strings.ReplaceAll(text, fmt.Sprintf("call_%s_%d", p.Run[len(p.Run)-8:], i),
				fmt.Sprintf("call_%d", i))
		}
		out = append(out, fmt.Sprintf("%d.%d %s", p.Placement.TurnIndex, p.Placement.TabIndex, text))
	}
	return out
}

// timeless is a payload without ids of records and without durations.
func timeless(obj packet.Obj) packet.Obj {
	switch o := obj.(type) {
	case packet.SessionCreated:
		o.SessionID = "S"
		return o
	case packet.RunStarted:
		o.UserMessageID = "U"
		o.Responses = slices.Clone(o.Responses)
		for i := range o.Responses {
			o.Responses[i].MessageID = "A"
		}
		return o
	case packet.ReasoningDone:
		o.DurationMS = 0
		return o
	case packet.SectionEnd:
		o.DurationMS = 0
		return o
	}
	return obj
}

func wantLines(t *testing.T, packets []packet.Packet, want ...string) {
	t.Helper()
	got := lines(t, packets)
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("packet %d\n got %s\nwant %s", i+1, g, w)
		}
	}
}

// twoTools is a turn with reasoning, narration and two parallel calls.
func twoTools() []*llmtest.Reply {
	return []*llmtest.Reply{
		llmtest.Answer().Reasoning("I should", " look.").Text("Let me ", "look it up.").
			ToolCall("x1", "internal_search", `{"quer`, `ies":["fuel"]}`).ToolCall("x2", "clock", "{}").Usage(30, 12),
		llmtest.Answer().Text("Fuel is counted [1", "]. It is noon.").Usage(60, 9),
	}
}

func TestATurnWithReasoningNarrationAndTwoParallelCalls(t *testing.T) {
	f := newFixture(t)
	f.server.Add(twoTools()...)
	ack := f.send(Send{Text: "How is fuel counted, and what time is it?"})
	packets := f.read(ack.Run)

	// The two blocks run in parallel; what follows their arguments may come in
	// either order, so it is checked block by block.
	var serial, searched, clocked []packet.Packet
	for _, p := range packets {
		_, isStart := p.Obj.(packet.ToolStart)
		_, isArgs := p.Obj.(packet.ToolArgs)
		_, isBranching := p.Obj.(packet.TopLevelBranching)
		switch {
		case p.Placement.TurnIndex != 2 || isStart || isArgs || isBranching:
			serial = append(serial, p)
		case p.Placement.TabIndex == 0:
			searched = append(searched, p)
		default:
			clocked = append(clocked, p)
		}
	}
	wantLines(t, serial,
		`0.0 {"type":"session_created","session_id":"S","title":"How is fuel counted, and what time is it?"}`,
		`0.0 {"type":"run_started","user_message_id":"U","responses":[{"model_index":0,"message_id":"A","model":"local"}]}`,
		`0.0 {"type":"reasoning_start"}`,
		`0.0 {"type":"reasoning_delta","reasoning":"I should"}`,
		`0.0 {"type":"reasoning_delta","reasoning":" look."}`,
		`0.0 {"type":"reasoning_done","duration_ms":0}`,
		`1.0 {"type":"message_start"}`,
		`1.0 {"type":"message_delta","content":"Let me "}`,
		`1.0 {"type":"message_delta","content":"look it up."}`,
		`1.0 {"type":"message_end"}`,
		`1.0 {"type":"usage","input_tokens":30,"output_tokens":12}`,
		`2.0 {"type":"top_level_branching","turn_index":2,"tabs":[0,1]}`,
		`2.0 {"type":"tool_start","call_id":"call_1","tool":"internal_search","plugin":"search","title":"Search","labels":["private_data"]}`,
		`2.0 {"type":"tool_args","call_id":"call_1","arguments":{"queries":["fuel"]}}`,
		`2.1 {"type":"tool_start","call_id":"call_2","tool":"clock","plugin":"","title":"Clock","labels":[]}`,
		`2.1 {"type":"tool_args","call_id":"call_2","arguments":{}}`,
		`3.0 {"type":"message_start"}`,
		`3.0 {"type":"message_delta","content":"\n\nFuel is counted "}`,
		`3.0 {"type":"citation_info","citation_number":1,"ref":1,"document":{"id":"doc:fuel","ref":1,"title":"fuel","snippet":"About fuel","source":"knowledge"}}`,
		`3.0 {"type":"message_delta","content":"[[1]]. It is noon."}`,
		`3.0 {"type":"message_end"}`,
		`3.0 {"type":"usage","input_tokens":60,"output_tokens":9}`,
		`0.0 {"type":"stop","reason":"completed"}`,
		`0.0 {"type":"stop","reason":"completed"}`,
	)
	wantLines(t, searched,
		`2.0 {"type":"tool_documents","call_id":"call_1","documents":[{"id":"doc:fuel","ref":1,"title":"fuel","snippet":"About fuel","source":"knowledge"}]}`,
		`2.0 {"type":"section_end","outcome":"ok","duration_ms":0}`)
	wantLines(t, clocked, `2.1 {"type":"section_end","outcome":"ok","duration_ms":0}`)

	m := f.message(ack, 0)
	if m.Text != packettest.Text(packets, 0) || m.Status != store.StatusCompleted {
		t.Errorf("stored %q (%s), shown %q", m.Text, m.Status, packettest.Text(packets, 0))
	}
	f.wantHistory(2, "system", "user", "assistant+2", "tool:noon", "tool")
}

// wantHistory checks the shape of the n-th request's messages: roles, the number
// of calls, and that each call has exactly one result.
func (f *fixture) wantHistory(n int, want ...string) {
	f.t.Helper()
	requests := f.server.Requests()
	if len(requests) < n {
		f.t.Fatalf("%d requests, want %d", len(requests), n)
	}
	open := map[string]bool{}
	var got []string
	for _, m := range requests[n-1].Body.Messages {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				f.t.Errorf("a result for %q, which is no open call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		}
		role := m.Role
		if len(m.ToolCalls) > 0 {
			role += fmt.Sprintf("+%d", len(m.ToolCalls))
		}
		got = append(got, role)
	}
	if len(open) > 0 {
		f.t.Errorf("calls without a result: %v", open)
	}
	for i := range want {
		want[i], _, _ = strings.Cut(want[i], ":")
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		f.t.Errorf("history %v, want %v", got, want)
	}
}

func TestTheNextTurnKnowsRefsAndHistory(t *testing.T) {
	f := newFixture(t)
	f.server.Add(twoTools()...)
	first := f.send(Send{Text: "fuel?"})
	f.read(first.Run)
	f.server.Add(
		llmtest.Answer().ToolCall("y", "internal_search", `{"queries":["fuel","meter"]}`),
		llmtest.Answer().Text("See [1] and [3]."))
	second := f.send(Send{SessionID: first.SessionID, Text: "and the meter?"})
	packets := f.read(second.Run)
	if got := packettest.Text(packets, 0); got != "See [[1]] and [[2]]." {
		t.Errorf("got %q", got)
	}
	f.wantHistory(4, "system", "user", "assistant+2", "tool", "tool", "assistant", "user", "assistant+1", "tool")
	if m := f.message(second, 0); len(m.Citations) != 2 || m.Citations[1].Ref != 3 {
		t.Errorf("citations %+v", m.Citations)
	}
}

func TestAStreamCutAtEveryByteEndsRight(t *testing.T) {
	whole := llmtest.Answer().Reasoning("hm").Text("Look", "ing.").ToolCall("x1", "internal_search",
		`{"queries":["a"]}`).ToolCall("x2", "clock", "{}").Usage(1, 2).Stream()
	if len(whole) > 4096 {
		t.Fatalf("the stream has %d bytes", len(whole))
	}
	f := newFixture(t)
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply {
		if r.Last().Role == "tool" {
			return llmtest.Answer().Text("Done [1].")
		}
		var cut int
		if _, err := fmt.Sscanf(r.Last().Content, "cut at %d", &cut); err != nil {
			return llmtest.Status(http.StatusTeapot, err.Error())
		}
		return llmtest.Raw(whole).Cut(cut)
	})
	reasons := make([]packet.StopReason, len(whole)+1)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32) // runs at once, so that they share their commits
	for cut := range reasons {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			reasons[cut] = f.cutAt(cut)
		})
	}
	wg.Wait()
	counts := map[packet.StopReason]int{}
	for _, r := range reasons {
		counts[r]++
	}
	t.Logf("%d bytes: %v", len(whole), counts)
	if counts[packet.StopError] == 0 || counts[packet.StopCompleted] == 0 || len(counts) != 2 {
		t.Errorf("outcomes %v, want completed and error only", counts)
	}
}

// cutAt runs one turn whose first stream is cut, and returns how it ended.
func (f *fixture) cutAt(cut int) packet.StopReason {
	ack, err := f.Send(f.t.Context(), f.owner, Send{Text: fmt.Sprintf("cut at %d", cut)})
	if err != nil {
		f.t.Errorf("cut at %d: %v", cut, err)
		return ""
	}
	packets := f.drain(ack.Run)
	f.wait(ack.Run)
	for _, v := range packettest.Check(packets) {
		f.t.Errorf("cut at %d: %v", cut, v)
	}
	m := f.message(ack, 0)
	if m.Text != packettest.Text(packets, 0) {
		f.t.Errorf("cut at %d: stored %q, shown %q", cut, m.Text, packettest.Text(packets, 0))
	}
	if m.Status == store.StatusError && (m.ErrorMessage == "" || strings.Contains(m.ErrorMessage, "sk-secret")) {
		f.t.Errorf("cut at %d: error message %q", cut, m.ErrorMessage)
	}
	return packet.StopReason(m.Status)
}
