package plugin_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func TestAServletIsATool(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"servlet.wasm": built.Servlet}); err != nil {
		t.Fatal(err)
	}
	spec := s.tool(t, "shout").Spec()
	if spec.Description != "Shouts a text." || !strings.Contains(string(spec.InputSchema), `"required":["text"]`) {
		t.Errorf("spec %+v", spec)
	}
	cases := []struct {
		tool, arguments string
		kind            tool.FailureKind
		text            string
	}{
		{"shout", `{"text":"hello"}`, "", "HELLO"},
		{"shout", ``, "", ""},
		{"request", `{"text":"a"}`, "", `{"method":"tools/call","params":{"arguments":{"text":"a"},"name":"request"}}`},
		{"picture", `{}`, "", "A picture:\n[content of type image image/png, which is not shown to you]"},
		{"refuse", `{}`, tool.FailureFailed, "no such word"},
		{"break", `{}`, tool.FailureFailed, "it is broken"},
		{"shout", `"text"`, tool.FailureInput, ""},
	}
	for _, c := range cases {
		r := s.call(t, c.tool, c.arguments)
		var kind tool.FailureKind
		if r.Failure != nil {
			kind = r.Failure.Kind
		}
		if kind != c.kind || c.text != "" && r.Text != c.text {
			t.Errorf("%s %s: %q, failure %+v", c.tool, c.arguments, r.Text, r.Failure)
		}
	}
}

// servletOf is a servlet that describes itself as it says.
func servletOf(description string) []byte {
	m := &wasmtest.Module{}
	alloc := m.Import("extism:host/env", "alloc", wasmtest.Types{wasmtest.I64}, wasmtest.Types{wasmtest.I64})
	write := m.Import("bulkhead:host/mem", "write", wasmtest.Types{wasmtest.I64, wasmtest.I32, wasmtest.I32}, nil)
	output := m.Import("extism:host/env", "output_set", wasmtest.Types{wasmtest.I64, wasmtest.I64}, nil)
	m.Memory(1)
	m.Data(0, []byte(description))
	n := len(description)
	number := wasmtest.Types{wasmtest.I32}
	m.Func("describe", number, 1, wasmtest.Const64(int64(n)), wasmtest.Call(alloc), wasmtest.Set(0),
		wasmtest.Get(0), wasmtest.Const32(0), wasmtest.Const32(int32(n)), wasmtest.Call(write),
		wasmtest.Get(0), wasmtest.Const64(int64(n)), wasmtest.Call(output), wasmtest.Const32(0))
	m.Func("call", number, 0, wasmtest.Const32(0))
	return m.Bytes()
}

// TestAnEarlyServletDescribesOneTool has no list around its tool.
func TestAnEarlyServletDescribesOneTool(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"one.wasm": servletOf(`{"name":"one","description":"d","inputSchema":{"type":"object"}}`)}); err != nil {
		t.Fatal(err)
	}
	if spec := s.tool(t, "one").Spec(); spec.Description != "d" {
		t.Errorf("spec %+v", spec)
	}
	for _, bad := range []string{`{"description":"d"}`, `[]`, `"x"`, ``, `{"tools":{}}`} {
		wantFault(t, s.install(t, map[string][]byte{"bad.wasm": servletOf(bad)}), guest.BadTools)
	}
}

// lines keeps what is logged.
type lines struct{ all []string }

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.all = append(l.all, r.Level.String()+" "+r.Message)
	return nil
}

// oneAnswer is a model that always answers the same.
type oneAnswer struct{ asked []hostfunc.Question }

func (m *oneAnswer) Complete(_ context.Context, q hostfunc.Question) (hostfunc.Answer, error) {
	m.asked = append(m.asked, q)
	return hostfunc.Answer{Model: "local", Text: "an answer", Truncated: q.MaxOutputTokens < 10}, nil
}
func (m *oneAnswer) Local([]string) bool { return true }

// TestHyperMCPImportsLinkAndAnswer calls each of the twelve.
func TestHyperMCPImportsLinkAndAnswer(t *testing.T) {
	model := &oneAnswer{}
	log := &lines{}
	s := open(t, func(s *scene) { s.models, s.logger = model, slog.New(log) })
	manifest := `{"manifest":1,"name":"hyper","version":"1","capabilities":{"model":{},"emit":{}}}`
	if err := s.install(t, map[string][]byte{"hyper.wasm": guesttest.Packed(t, built.Hyper, manifest)}); err != nil {
		t.Fatal(err)
	}
	ask := func(message string) (answers map[string]string, shown []string, r tool.Result) {
		t.Helper()
		seen := &watcher{}
		arguments, err := json.Marshal(map[string]json.RawMessage{
			"progress": json.RawMessage(`{"progressToken":1,"progress":2,"total":4,"message":"half"}`),
			"log":      json.RawMessage(`{"level":"warning","logger":"l","data":"careful"}`),
			"message":  json.RawMessage(message),
		})
		if err != nil {
			t.Fatal(err)
		}
		r = s.call(t, "ask", string(arguments), func(in *tool.Invocation) { in.Report = seen })
		if r.Failure != nil {
			t.Fatalf("%+v %q", r.Failure, r.Text)
		}
		if err := json.Unmarshal([]byte(r.Text), &answers); err != nil {
			t.Fatal(err)
		}
		return answers, seen.shown, r
	}
	const message = `{"messages":[{"role":"user","content":{"type":"text","text":"What?"}},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"systemPrompt":"Be brief.","maxTokens":50}`
	answers, shown, _ := ask(message)
	want := map[string]string{
		"message":     `{"role":"assistant","content":{"type":"text","text":"an answer"},"model":"local","stopReason":"endTurn"}`,
		"elicitation": `{"action":"decline"}`, "roots": `{"roots":[]}`, "secret": "", "token": "",
	}
	for name, text := range want {
		if answers[name] != text {
			t.Errorf("%s answered %q, want %q", name, answers[name], text)
		}
	}
	if len(shown) != 1 || shown[0] != "progress half 0.5" {
		t.Errorf("shown %q", shown)
	}
	for _, line := range []string{"WARN l: careful", "WARN get_keyring_secret is denied",
		"WARN get_access_token is denied", "INFO The plugin asked the person"} {
		if !strings.Contains(strings.Join(log.all, "\n"), line) {
			t.Errorf("the log has no %q: %q", line, log.all)
		}
	}
	if len(model.asked) != 1 || len(model.asked[0].Messages) != 3 ||
		model.asked[0].Messages[0] != (hostfunc.Said{Role: "system", Text: "Be brief."}) ||
		model.asked[0].Messages[2].Text != "a\nb" || model.asked[0].MaxOutputTokens != 50 {
		t.Errorf("asked %+v", model.asked)
	}
	if answers, _, _ = ask(strings.Replace(message, "50", "5", 1)); !strings.Contains(answers["message"],
		`"stopReason":"maxTokens"`) {
		t.Errorf("cut off: %s", answers["message"])
	}
	for _, bad := range []string{`{"messages":7}`, `{"messages":[{"role":"user","content":{"type":"image"}}]}`,
		`{"messages":[{"role":"user","content":7}]}`, `{}`} {
		if answers, _, _ = ask(bad); !strings.Contains(answers["message"], `"kind":"invalid"`) {
			t.Errorf("%s: %s", bad, answers["message"])
		}
	}
	without := capability.Grant{Capability: capability.Model, Mode: capability.Deny}
	if err := s.manager.SetGrant(t.Context(), anOperator, "hyper", without); err != nil {
		t.Fatal(err)
	}
	if answers, _, r := ask(message); !strings.Contains(answers["message"], `"kind":"denied"`) ||
		len(r.HostCalls) == 0 {
		t.Errorf("without a grant: %s, host calls %+v", answers["message"], r.HostCalls)
	}
}
