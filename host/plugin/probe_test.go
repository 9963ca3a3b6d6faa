package plugin_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func withProbe(t *testing.T) *scene {
	t.Helper()
	s := open(t)
	if err := s.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe,
		guesttest.ProbeManifest)}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContextHoldsWhatIsNeededAndGrantedOnly(t *testing.T) {
	s := withProbe(t)
	full := func(in *tool.Invocation) {
		in.Context = tool.Context{Query: "why?", History: []tool.Message{{Role: "user", Text: "secret"}}, UserID: "u9",
			Locale: "de", Citations: map[string]int{"d": 1}}
	}
	var seen struct {
		ID, Query string
		Refs      tool.Refs
		Now       string
		History   []tool.Message
		User      struct{ ID, Locale string }
		Citations map[string]int
	}
	look := func() {
		t.Helper()
		seen.Query, seen.User.ID, seen.Citations = "", "", nil
		if err := json.Unmarshal([]byte(s.call(t, "context", `{}`, full).Text), &seen); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if seen.ID != "call_1" || seen.Refs != (tool.Refs{Start: 101, Count: 100}) || seen.Now != "2026-03-01T12:00:00Z" {
		t.Errorf("what is always there: %+v", seen)
	}
	if seen.Query != "why?" || seen.User.ID != "u9" || seen.User.Locale != "de" {
		t.Errorf("what is needed and granted: %+v", seen)
	}
	if seen.History != nil || seen.Citations != nil {
		t.Errorf("history is not asked for, citations are not needed: %+v", seen)
	}
	narrow := capability.Grant{Capability: "context", Mode: capability.Allow,
		Params: json.RawMessage(`{"fields":["user"]}`)}
	if err := s.manager.SetGrant(t.Context(), anOperator, "probe", narrow); err != nil {
		t.Fatal(err)
	}
	if look(); seen.Query != "" || seen.User.ID != "u9" {
		t.Errorf("after the grant was narrowed: %+v", seen)
	}
}

func TestKVIsKeptPerUserWithinItsQuota(t *testing.T) {
	s := withProbe(t)
	if r := s.call(t, "put", `{"key":"a","value":"one"}`); r.Failure != nil {
		t.Fatal(r.Text)
	}
	as := func(user string) func(*tool.Invocation) { return func(in *tool.Invocation) { in.User = user } }
	if r := s.call(t, "get", `{"key":"a"}`); r.Text != `{"found":true,"keys":["a"],"value":"one"}` {
		t.Errorf("own value: %s", r.Text)
	}
	for _, user := range []string{"other", s.owner.UserID() + "/", "", ".."} {
		if r := s.call(t, "get", `{"key":"a"}`, as(user)); !strings.Contains(r.Text, `"found":false,"keys":[]`) {
			t.Errorf("user %q sees %s", user, r.Text)
		}
	}
	if r := s.call(t, "put", `{"key":"b","value":"`+strings.Repeat("x", 99)+`"}`); r.Failure == nil ||
		!strings.Contains(r.Text, "quota") {
		t.Errorf("beyond the quota: %+v", r)
	}
	if r := s.call(t, "put", `{"key":"a","value":"`+strings.Repeat("x", 99)+`"}`); r.Failure != nil {
		t.Errorf("a value in place of another: %s", r.Text)
	}
	if r := s.call(t, "put", `{"key":"","value":"x"}`); r.Failure == nil {
		t.Error("an empty key was taken")
	}
}

func TestEmitReachesThePerson(t *testing.T) {
	s := withProbe(t)
	w := &watcher{}
	r := s.call(t, "show", `{}`, func(in *tool.Invocation) { in.Report = w })
	if r.Failure != nil {
		t.Fatal(r.Text)
	}
	if want := []string{"progress half 0.5", "stdout line\n", "documents"}; !reflect.DeepEqual(w.shown, want) {
		t.Errorf("shown %q, want %q", w.shown, want)
	}
	if len(w.docs) != 1 || w.docs[0].Title != "Early" || w.docs[0].Ref != 101 {
		t.Errorf("documents are %+v", w.docs)
	}
}

func TestResultIsMapped(t *testing.T) {
	s := withProbe(t)
	r := s.call(t, "everything", `{}`)
	if !strings.HasPrefix(r.Text, "one\n[content of type image image/png") || !strings.HasSuffix(r.Text, "\ntwo") ||
		string(r.Structured) != `{"n":1}` {
		t.Errorf("text %q, structured %s", r.Text, r.Structured)
	}
	if len(r.Documents) != 2 || r.Documents[0].URL != "https://example.org/" || r.Documents[1].URL != "" {
		t.Errorf("documents are %+v: an address that is no web address must go", r.Documents)
	}
	if len(r.Files) != 1 || r.Files[0].Name != "a.txt" {
		t.Errorf("files are %+v", r.Files)
	}
}

func TestEachCallSeesAFreshModule(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"probe.wasm": built.Probe}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		if r := s.call(t, "count", `{}`); r.Text != "1" {
			t.Errorf("a global outlived its call: %s", r.Text)
		}
		seen[s.call(t, "random", `{}`).Text] = true
	}
	if len(seen) != 3 {
		t.Errorf("random bytes repeat: %v", seen)
	}
}

func TestAModuleWithoutManifestMayNothing(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"probe.wasm": built.Probe}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"put", "show"} {
		r := s.call(t, c, map[string]string{"put": `{"key":"a","value":"b"}`, "show": `{}`}[c])
		if r.Failure == nil || !strings.Contains(r.Text, "denied") {
			t.Errorf("%s: %+v", c, r)
		}
	}
	if labels := s.tool(t, "put").Spec().Labels; len(labels) != 0 {
		t.Errorf("labels are %v", labels)
	}
}

func TestApprovalOfATool(t *testing.T) {
	s := withProbe(t)
	tools, err := s.manager.Tools(t.Context(), s.owner.UserID(), ownName)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Spec().Name == "fail" {
			t.Error("a tool whose approval is deny is offered")
		}
	}
	if r := s.call(t, "count", `{}`); r.Failure == nil || r.Failure.Kind != tool.FailureDenied {
		t.Errorf("with nobody to ask: %+v", r)
	}
}

func TestFailuresHaveKindSentenceAndText(t *testing.T) {
	s := open(t)
	manifest := `{"manifest":1,"name":"probe","version":"1","limits":{"output_bytes":10000}}`
	if err := s.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe, manifest)}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		tool, arguments string
		kind            tool.FailureKind
		says            string
	}{
		{"fail", `{}`, tool.FailureFailed, "Atlantis"},
		{"large", `{"bytes":20000}`, tool.FailureTooLarge, "too large"},
		{"large", `{"byte":1}`, tool.FailureFailed, `"bytes"`},
		{"large", `[1]`, tool.FailureInput, "not a JSON object"},
		{"large", `{`, tool.FailureInput, "not a JSON object"},
		{"crash", `{}`, tool.FailureTrap, "crashed"},
	}
	for _, c := range cases {
		r := s.call(t, c.tool, c.arguments)
		if r.Failure == nil || r.Failure.Kind != c.kind || r.Failure.Message == "" ||
			!strings.Contains(r.Text, c.says) {
			t.Errorf("%s %s: %+v %q", c.tool, c.arguments, r.Failure, r.Text)
		}
	}
	if r := s.call(t, "large", `{"bytes":5}`); r.Text != "xxxxx" {
		t.Errorf("after all that: %+v", r)
	}
}

func TestTwoToolsOfOneNameAreToldApart(t *testing.T) {
	s := open(t)
	one := guesttest.Packed(t, built.Probe, `{"manifest":1,"name":"one","version":"1"}`)
	two := guesttest.Packed(t, built.Probe, `{"manifest":1,"name":"two","version":"1"}`)
	if err := s.install(t, map[string][]byte{"one.wasm": one, "two.wasm": two}); err != nil {
		t.Fatal(err)
	}
	if a, b := s.call(t, "one/count", `{}`), s.call(t, "two/count", `{}`); a.Text != "1" || b.Text != "1" {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestRevokingWorksOnACallThatRuns(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe,
		guesttest.ProbeManifest)}); err != nil {
		t.Fatal(err)
	}
	w := &revoker{scene: s, t: t}
	r := s.call(t, "show", `{}`, func(in *tool.Invocation) { in.Report = w })
	if r.Failure == nil || !strings.Contains(r.Text, "denied") ||
		!reflect.DeepEqual(w.shown, []string{"progress half 0.5"}) {
		t.Errorf("shown %q, result %+v", w.shown, r)
	}
}

// revoker takes the right back when the call shows its progress.
type revoker struct {
	watcher
	scene *scene
	t     *testing.T
}

func (w *revoker) Progress(message string, fraction *float64) {
	w.watcher.Progress(message, fraction)
	quiet := capability.Grant{Capability: "emit", Mode: capability.Deny}
	if err := w.scene.manager.SetGrant(w.t.Context(), anOperator, "probe", quiet); err != nil {
		w.t.Error(err)
	}
}
