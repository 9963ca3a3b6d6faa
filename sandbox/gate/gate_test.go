package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/audit/audittest"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

type grants struct {
	mu   sync.Mutex
	held capability.Grants
	err  error
	// asked are the capabilities that single grants were read of.
	asked []string
}

func (g *grants) Grants(context.Context, string) (capability.Grants, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held, g.err
}

func (g *grants) Grant(_ context.Context, _, name string) (capability.Grant, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, name)
	held, found := g.held[name]
	return held, found, g.err
}

func (g *grants) set(held capability.Grants) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = held
}

type asker struct {
	yes   bool
	asked []gate.Question
	then  func()
}

func (a *asker) Ask(_ context.Context, q gate.Question) (bool, error) {
	a.asked = append(a.asked, q)
	if a.then != nil {
		a.then()
	}
	return a.yes, nil
}

type searchArgs struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

// scene is a gate with two real functions and what stands around it.
type scene struct {
	grants *grants
	asker  *asker
	space  *audittest.Space
	log    *audit.Log
	call   *gate.Call
	ran    int
}

func open(t *testing.T, capabilities string) *scene {
	t.Helper()
	m, err := capability.ParseManifest([]byte(`{"manifest":1,"name":"search","version":"1","capabilities":` +
		capabilities + `}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{grants: &grants{held: capability.GrantAll(m)}, asker: &asker{}, space: &audittest.Space{}}
	now := func() time.Time { return time.Unix(1, 0) }
	s.log = audit.New(s.space, now)
	search := gate.Typed[searchArgs]{
		Name: "knowledge_search", Capability: capability.Knowledge,
		Summary: func(a searchArgs) string { return "search " + a.Query },
		Handle: func(_ context.Context, r gate.Request, a searchArgs) (any, error) {
			if r.Right.Capability != capability.Knowledge || r.Attachment != "attached" {
				t.Errorf("the handler gets %+v and %v", r.Right, r.Attachment)
			}
			s.ran++
			switch a.Query {
			case "panic":
				panic("in a handler")
			case "missing":
				return nil, gate.Errorf(gate.NotFound, "No such document.")
			case "broken":
				return nil, errors.New("the disk at a secret place is on fire")
			}
			return map[string]any{"hits": []string{a.Query}}, nil
		},
	}.Function()
	emit := gate.Typed[json.RawMessage]{Name: "emit", Capability: capability.Emit, Quiet: true,
		Handle: func(context.Context, gate.Request, json.RawMessage) (any, error) { return nil, nil }}.Function()
	g, err := gate.New(gate.Config{Functions: []gate.Function{search, emit}, Grants: s.grants, Audit: s.log,
		Asker: s.asker, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.call = g.Open(gate.CallInfo{Plugin: "search", Tool: "internal_search", User: "u1", CallID: "c1", Manifest: m},
		"attached")
	return s
}

func (s *scene) do(t *testing.T, name, in string) (ok json.RawMessage, kind, message string) {
	t.Helper()
	var answer struct {
		OK    json.RawMessage `json:"ok"`
		Error *struct{ Kind, Message string }
	}
	out := s.call.Host(name)(t.Context(), []byte(in))
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("answer %s: %v", out, err)
	}
	if answer.Error != nil {
		return nil, answer.Error.Kind, answer.Error.Message
	}
	return answer.OK, "", ""
}

func TestEachRefusalHasItsKind(t *testing.T) {
	long := `{"query":"` + strings.Repeat("x", gate.MaxArgs) + `"}`
	cases := []struct{ name, function, in, kind string }{
		{"fine", "knowledge_search", `{"query":"a"}`, ""},
		{"not in the manifest", "http_fetch", `{}`, "denied"},
		{"granted, not served", "knowledge_read", `{}`, "unavailable"},
		{"too long", "knowledge_search", long, "quota"},
		{"not UTF-8", "knowledge_search", "{\"query\":\"\xff\"}", "invalid"},
		{"not JSON", "knowledge_search", `{"query"`, "invalid"},
		{"not an object", "knowledge_search", `["a"]`, "invalid"},
		{"null", "knowledge_search", `null`, "invalid"},
		{"nothing", "knowledge_search", ``, "invalid"},
		{"unknown field", "knowledge_search", `{"query":"a","user":"u2"}`, "invalid"},
		{"wrong type", "knowledge_search", `{"query":5}`, "invalid"},
		{"handler's own error", "knowledge_search", `{"query":"missing"}`, "not_found"},
		{"handler's fault", "knowledge_search", `{"query":"broken"}`, "failed"},
		{"handler's panic", "knowledge_search", `{"query":"panic"}`, "failed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, `{"knowledge":{}}`)
			_, kind, message := s.do(t, c.function, c.in)
			if kind != c.kind {
				t.Fatalf("kind is %q (%s), want %q", kind, message, c.kind)
			}
			if strings.Contains(message, "secret place") {
				t.Fatalf("the host's fault reached the guest: %s", message)
			}
			calls := s.call.HostCalls()
			if len(calls) != 1 || (calls[0].Outcome == "ok") != (c.kind == "") {
				t.Fatalf("host calls: %+v", calls)
			}
		})
	}
}

func TestANameThatNoCapabilityHasIsNil(t *testing.T) {
	if open(t, `{}`).call.Host("open_the_door") != nil {
		t.Fatal("want nil")
	}
}

func TestRevokingWorksOnARunningCall(t *testing.T) {
	s := open(t, `{"knowledge":{}}`)
	search := s.call.Host("knowledge_search")
	if out := search(t.Context(), []byte(`{"query":"a"}`)); !strings.HasPrefix(string(out), `{"ok"`) {
		t.Fatalf("before: %s", out)
	}
	s.grants.set(capability.Grants{"knowledge": {Capability: "knowledge", Mode: capability.Deny}})
	if out := search(t.Context(), []byte(`{"query":"a"}`)); !strings.Contains(string(out), `"denied"`) {
		t.Fatalf("after: %s", out)
	}
	if s.ran != 1 {
		t.Fatalf("the handler ran %d times", s.ran)
	}
}

func TestUnreadableGrantsDeny(t *testing.T) {
	s := open(t, `{"knowledge":{}}`)
	s.grants.err = errors.New("store closed")
	if _, kind, _ := s.do(t, "knowledge_search", `{"query":"a"}`); kind != "denied" || s.ran != 0 {
		t.Fatalf("kind %q, handler ran %d times", kind, s.ran)
	}
}

func TestModeAskAsksWithTheExactEffect(t *testing.T) {
	ask := capability.Grants{"knowledge": {Capability: "knowledge", Mode: capability.Ask}}
	s := open(t, `{"knowledge":{}}`)
	s.grants.set(ask)
	if _, kind, _ := s.do(t, "knowledge_search", `{"query":"a"}`); kind != "denied" {
		t.Fatalf("a no gave %q", kind)
	}
	s.asker.yes = true
	if _, kind, _ := s.do(t, "knowledge_search", `{"query":"b"}`); kind != "" {
		t.Fatalf("a yes gave %q", kind)
	}
	q := s.asker.asked
	if len(q) != 2 || q[1].Summary != "search b" || string(q[1].Args) != `{"query":"b"}` || q[0].Effect == q[1].Effect {
		t.Fatalf("questions: %+v", q)
	}
	s.asker.then = func() { s.grants.set(nil) }
	if _, kind, _ := s.do(t, "knowledge_search", `{"query":"c"}`); kind != "denied" {
		t.Fatalf("a yes after the grant was taken back gave %q", kind)
	}
	if s.ran != 1 {
		t.Fatalf("the handler ran %d times", s.ran)
	}
}

func TestEmitIsCappedPerToolCall(t *testing.T) {
	s := open(t, `{"emit":{"max_bytes":100}}`)
	block := `{"output":"` + strings.Repeat("x", 40) + `"}`
	for i, want := range []string{"", "quota", ""} {
		in := block
		if i == 2 {
			in = `{"a":1}` // what still fits is still allowed
		}
		if _, kind, _ := s.do(t, "emit", in); kind != want {
			t.Fatalf("call %d: %q, want %q", i, kind, want)
		}
	}
}

func TestEveryDecisionIsOnRecord(t *testing.T) {
	s := open(t, `{"knowledge":{},"emit":{}}`)
	s.do(t, "knowledge_search", `{"query":"what `+strings.Repeat("y", 400)+`"}`)
	s.do(t, "http_fetch", `{"url":"https://example.org/?token=abc"}`)
	s.do(t, "emit", `{}`)
	if err := s.call.Close("ok"); err != nil {
		t.Fatal(err)
	}
	list, err := s.log.Tail(10)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d records, %v: want two host calls and the end, not the quiet emit", len(list), err)
	}
	if e := list[0]; e.Decision != "allow" || e.Capability != "knowledge" ||
		!strings.HasPrefix(e.Summary, "search what") || len([]rune(e.Summary)) > 201 {
		t.Errorf("allowed: %+v", e)
	}
	if e := list[1]; e.Decision != "deny" || e.Outcome != "denied" || strings.Contains(e.Summary, "token") {
		t.Errorf("denied: %+v", e)
	}
	if e := list[2]; e.Kind != audit.KindToolCall || e.Calls != 3 || e.Bytes == 0 {
		t.Errorf("end: %+v", e)
	}
	if _, err := s.log.Verify(); err != nil {
		t.Error(err)
	}
}

func TestACallThatCannotBeRecordedIsNotMade(t *testing.T) {
	s := open(t, `{"knowledge":{}}`)
	s.space.Fail = errors.New("disk full")
	if _, kind, _ := s.do(t, "knowledge_search", `{"query":"a"}`); kind != "denied" || s.ran != 0 {
		t.Fatalf("kind %q, handler ran %d times", kind, s.ran)
	}
}

func TestFunctionsMustFitTheCatalogue(t *testing.T) {
	handle := func(context.Context, gate.Request, searchArgs) (any, error) { return nil, nil }
	for _, f := range []gate.Typed[searchArgs]{
		{Name: "emit", Capability: "kv", Handle: handle},
		{Name: "emit", Capability: "emit"},
		{Name: "x", Capability: "emit", Handle: handle},
	} {
		if _, err := gate.New(gate.Config{Functions: []gate.Function{f.Function()}}); err == nil {
			t.Errorf("%+v was accepted", f)
		}
	}
}

func TestRepeatedRefusalsDoNotFillTheLog(t *testing.T) {
	s := open(t, `{}`)
	for range 300 {
		s.do(t, "http_fetch", `{}`)
	}
	if err := s.call.Close("ok"); err != nil {
		t.Fatal(err)
	}
	list, err := s.log.Tail(1000)
	if err != nil || len(list) != 101 || list[100].Calls != 300 {
		t.Fatalf("%d records, %v", len(list), err)
	}
}

// counted counts how often it is decoded.
type counted struct{}

func (*counted) UnmarshalJSON([]byte) error {
	decodings++
	return nil
}

// decodings is how often a counted was decoded, in the one test that uses it.
var decodings int

func TestArgumentsAreDecodedOnceAndOneRightIsComputed(t *testing.T) {
	m, err := capability.ParseManifest([]byte(`{"manifest":1,"name":"a","version":"1","capabilities":{"http":{"allow":[{"host":"*"}]},"kv":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	type args struct {
		URL counted `json:"url"`
	}
	var used []string
	fetch := gate.Typed[args]{
		Name: "http_fetch", Capability: capability.HTTP,
		Summary: func(args) string { used = append(used, "summary"); return "" },
		Admit:   func(context.Context, gate.Request, args) error { used = append(used, "admit"); return nil },
		Handle: func(context.Context, gate.Request, args) (any, error) {
			used = append(used, "handle")
			return nil, nil
		},
	}.Function()
	held := &grants{held: capability.Grants{capability.HTTP: {Capability: capability.HTTP, Mode: capability.Ask}}}
	g, err := gate.New(gate.Config{
		Functions: []gate.Function{fetch, {Name: "http_fetch_all", Capability: capability.HTTP, Batch: "http_fetch"}},
		Grants:    held, Audit: audit.New(&audittest.Space{}, time.Now), Asker: &asker{yes: true}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	call := g.Open(gate.CallInfo{Plugin: "a", Manifest: m}, nil)
	for _, in := range []struct{ function, block string }{
		{"http_fetch", `{"url":"a"}`}, {"http_fetch_all", `{"requests":[{"url":"a"}]}`},
	} {
		decodings, used, held.asked = 0, nil, nil
		if out := call.Host(in.function)(t.Context(), []byte(in.block)); !strings.HasPrefix(string(out), `{"ok"`) {
			t.Fatalf("%s answers %s", in.function, out)
		}
		if got := strings.Join(used, " "); decodings != 1 || got != "summary admit admit handle" {
			t.Errorf("%s: decoded %d times for %s", in.function, decodings, got)
		}
		if got := strings.Join(held.asked, " "); got != "http http" { // before and after somebody was asked
			t.Errorf("%s: the grants of %s were read", in.function, got)
		}
	}
}
