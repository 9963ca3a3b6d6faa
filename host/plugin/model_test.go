package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// parrot repeats what it is asked. The real models are behind the same interface
// in host/app, whose tests ask one through this gate.
type parrot struct {
	mu     sync.Mutex
	asked  []hostfunc.Question
	remote bool
	// counts is what it says of tokens.
	counts int64
}

func (p *parrot) Complete(ctx context.Context, q hostfunc.Question) (hostfunc.Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	switch q.Messages[0].Text {
	case "hang":
		<-ctx.Done()
		return hostfunc.Answer{}, ctx.Err()
	case "fail":
		return hostfunc.Answer{}, gate.Errorf(gate.Failed, "The model's server cannot be reached.")
	}
	return hostfunc.Answer{Model: q.Model, Text: q.Messages[0].Text, InputTokens: p.counts,
		Truncated: q.MaxOutputTokens == 1}, nil
}

func (p *parrot) Local([]string) bool { return !p.remote }

func withModel(t *testing.T, p *parrot, asks string) *scene {
	t.Helper()
	s := open(t, func(s *scene) {
		if p != nil {
			s.models = p
		}
	})
	manifest := fmt.Sprintf(`{"manifest":1,"name":"probe","version":"1","capabilities":{"model":%s}}`, asks)
	if err := s.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe, manifest)}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAPluginAsksTheModelThatAnswers(t *testing.T) {
	p := &parrot{counts: 7}
	s := withModel(t, p, `{}`)
	r := s.call(t, "ask_model", `{"text":"why?","max_tokens":9}`, func(in *tool.Invocation) { in.Model = "local" })
	if r.Text != "local said why? (truncated false, 7 tokens)" {
		t.Fatal(r.Text)
	}
	if len(p.asked) != 1 || p.asked[0].MaxOutputTokens != 9 {
		t.Errorf("asked %+v", p.asked)
	}
	if h := r.HostCalls; len(h) != 1 || h[0].Capability != "model" || h[0].Decision != "allow" ||
		h[0].Summary != "ask a language model with 4 characters" {
		t.Errorf("%+v", h)
	}
	if s.call(t, "ask_model", `{"text":"why?"}`); p.asked[1].Model != "" ||
		p.asked[1].MaxOutputTokens != hostfunc.DefaultTokensPerCall-1 {
		t.Errorf("asked %+v", p.asked[1])
	}
}

func TestWhatWasNotGrantedIsNotAsked(t *testing.T) {
	p := &parrot{}
	s := withModel(t, p, `{"models":["small","smaller"],"tokens_per_call":100}`)
	as := func(in *tool.Invocation) { in.Model = "large" }
	if r := s.call(t, "ask_model", `{"text":"x"}`, as); !strings.HasPrefix(r.Text, "small said") {
		t.Errorf("the one that answers was not granted: %s", r.Text)
	}
	if r := s.call(t, "ask_model", `{"text":"x","model":"smaller"}`, as); !strings.HasPrefix(r.Text, "smaller said") {
		t.Errorf("the one that it names: %s", r.Text)
	}
	before := len(p.asked)
	for arguments, says := range map[string]string{
		`{"text":"x","model":"large"}`:                "denied: This model was not granted",
		`{"text":"` + strings.Repeat("x", 400) + `"}`: "quota: The messages have about 100 tokens",
		`{"text":"x","role":"tool"}`:                  "invalid: messages[0].role",
		`{"text":"x","max_tokens":-1}`:                "invalid: max_tokens",
	} {
		if r := s.call(t, "ask_model", arguments, as); r.Failure == nil || !strings.Contains(r.Text, says) {
			t.Errorf("%s: want %q in %s", arguments, says, r.Text)
		}
	}
	revoked := capability.Grant{Capability: capability.Model, Mode: capability.Deny}
	if err := s.manager.SetGrant(t.Context(), anOperator, "probe", revoked); err != nil {
		t.Fatal(err)
	}
	if r := s.call(t, "ask_model", `{"text":"x"}`, as); !strings.Contains(r.Text, "denied: ") {
		t.Errorf("revoked: %s", r.Text)
	}
	if len(p.asked) != before {
		t.Errorf("asked %+v", p.asked[before:])
	}
	if r := withModel(t, nil, `{}`).call(t, "ask_model", `{"text":"x"}`); !strings.Contains(r.Text, "unavailable: ") {
		t.Errorf("a host without models: %s", r.Text)
	}
}

func TestTokensOfOneAnswerRunOut(t *testing.T) {
	p := &parrot{counts: 30}
	s := withModel(t, p, `{"tokens_per_call":50,"tokens_per_turn":100}`)
	in := func(run string) func(*tool.Invocation) { return func(in *tool.Invocation) { in.Run = run } }
	for i := range 2 {
		if r := s.call(t, "ask_model", `{"text":"x"}`, in("run_1")); r.Failure != nil {
			t.Fatalf("question %d: %s", i+1, r.Text)
		}
	}
	// 60 are used; 50 more might be.
	if r := s.call(t, "ask_model", `{"text":"x"}`, in("run_1")); !strings.Contains(r.Text,
		"quota: This plugin may use 100 tokens") {
		t.Errorf("%s", r.Text)
	}
	if r := s.call(t, "ask_model", `{"text":"x","max_tokens":20}`, in("run_1")); r.Failure != nil {
		t.Errorf("a smaller question: %s", r.Text)
	}
	if r := s.call(t, "ask_model", `{"text":"x"}`, in("run_2")); r.Failure != nil {
		t.Errorf("another answer: %s", r.Text)
	}
}

func TestAFailedQuestionCostsNothingAndSaysWhy(t *testing.T) {
	s := withModel(t, &parrot{}, `{"tokens_per_call":50,"tokens_per_turn":50}`)
	if r := s.call(t, "ask_model", `{"text":"fail"}`); !strings.Contains(r.Text,
		"failed: The model's server cannot be reached.") {
		t.Errorf("%s", r.Text)
	}
	if r := s.call(t, "ask_model", `{"text":"hang","timeout_ms":1}`); !strings.Contains(r.Text,
		"timeout: The model did not answer within 1ms.") {
		t.Errorf("%s", r.Text)
	}
	if r := s.call(t, "ask_model", `{"text":"x"}`); r.Failure != nil {
		t.Errorf("%s", r.Text)
	}
}

func TestStopEndsAQuestionToAModel(t *testing.T) {
	s := withModel(t, &parrot{}, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	in := tool.Invocation{CallID: "c", Run: "r", User: s.owner.UserID(), Arguments: json.RawMessage(`{"text":"hang"}`),
		Now: noon, Report: &watcher{}}
	done := make(chan tool.Result, 1)
	go func() {
		defer close(done)
		r, err := s.tool(t, "ask_model").Call(ctx, in)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	cancel()
	if r := <-done; r.Failure == nil {
		t.Errorf("%+v", r)
	}
}

func TestAskingARemoteModelIsEgress(t *testing.T) {
	for _, remote := range []bool{false, true} {
		s := withModel(t, &parrot{remote: remote}, `{}`)
		if got := s.tool(t, "ask_model").Spec().Labels; slices.Contains(got, "egress") != remote {
			t.Errorf("remote %t: %v", remote, got)
		}
	}
	s := withMemory(t)
	if got := s.tool(t, "add_memory").Spec().Labels; !reflect.DeepEqual(got, []string{"private_data", "writes"}) {
		t.Errorf("memory: %v", got)
	}
}
