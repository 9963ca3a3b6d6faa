package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server with a script and returns a model that asks it.
func serve(t *testing.T, name string, o options) llm.Model {
	t.Helper()
	answer, err := scripted(name, o)
	if err != nil {
		t.Fatal(err)
	}
	server, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	server.Answer(answer)
	model, err := openai.New(openai.Config{Name: "m", Model: "m", BaseURL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		model.Close()
		server.Close()
	})
	return model
}

// say streams one answer and calls each for every piece of text.
func say(t *testing.T, m llm.Model, req llm.Request, each func()) (text string, calls int) {
	t.Helper()
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Text:
			text += ev.Delta
			each()
		case llm.ToolCallDelta:
			calls++
		}
	}
	return text, calls
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "capability"}}}

func TestSlowReleasesAWordPerPoke(t *testing.T) {
	p := newPokes()
	m := serve(t, "slow", options{words: 3, pokes: p})
	p.add(1)
	seen := 0
	text, _ := say(t, m, hello, func() {
		seen++
		p.mu.Lock()
		left := p.left
		p.mu.Unlock()
		if left != 0 {
			t.Errorf("%d words may still go", left)
		}
		p.add(1)
	})
	if text != "word1 word2 word3 " || seen != 3 {
		t.Errorf("got %q in %d pieces", text, seen)
	}
}

// TestWordsAreForTheReplyThatBeganLast has two that wait; the one before gets words once the
// other has enough.
func TestWordsAreForTheReplyThatBeganLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPokes()
		first, second := p.begin(), p.begin()
		var got []string
		wait := func(name string, take func(context.Context) error) {
			if err := take(t.Context()); err != nil {
				t.Error(err)
			}
			got = append(got, name)
		}
		for range 2 {
			go wait("first", first)
			go wait("second", second)
			synctest.Wait() // both wait
			p.add(1)
			synctest.Wait()
			p.add(1)
			synctest.Wait()
		}
		if want := []string{"second", "first", "second", "first"}; !slices.Equal(got, want) {
			t.Errorf("words went to %v", got)
		}
	})
}

func TestAReplyWhoseClientHasLeftGetsNoWord(t *testing.T) {
	p := newPokes()
	left, leave := context.WithCancel(t.Context())
	leave()
	p.add(1)
	if err := p.begin()(left); err == nil || p.left != 1 {
		t.Errorf("%v, %d words are left", err, p.left)
	}
}

func TestSearchCallsThenCites(t *testing.T) {
	m := serve(t, "search", options{})
	req := hello
	req.Tools = []llm.ToolDef{{Name: "internal_search"}}
	if _, calls := say(t, m, req, func() {}); calls == 0 {
		t.Error("no call")
	}
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "a", Name: "internal_search"}}},
		llm.Message{Role: llm.RoleTool, ToolCallID: "a", Text: `{"results":[{"ref":3,"title":"Guide"}]}`})
	if text, _ := say(t, m, req, func() {}); text != "It stands in Guide [3]." {
		t.Errorf("got %q", text)
	}
}

// TestResearchHandsOutReportsAndConcludes: an agent is asked without research_agent.
func TestResearchHandsOutReportsAndConcludes(t *testing.T) {
	p := newPokes()
	m := serve(t, "research", options{pokes: p})
	leads := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "How high? How low?"}},
		Tools: []llm.ToolDef{{Name: "research_agent"}, {Name: "internal_search"}}}
	if _, calls := say(t, m, leads, func() {}); calls < 2 {
		t.Errorf("%d pieces of calls, want those of two calls", calls)
	}
	agent := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "How high?"}},
		Tools: []llm.ToolDef{{Name: "internal_search"}}}
	if _, calls := say(t, m, agent, func() {}); calls == 0 {
		t.Error("the agent does not search")
	}
	agent.Messages = append(agent.Messages, llm.Message{Role: llm.RoleAssistant,
		ToolCalls: []llm.ToolCall{{ID: "a", Name: "internal_search"}}},
		llm.Message{Role: llm.RoleTool, ToolCallID: "a", Text: `{"results":[{"ref":3,"title":"Guide"}]}`})
	p.add(2)
	if text, _ := say(t, m, agent, func() {}); text != "The guide is Guide [3]." {
		t.Errorf("the agent reports %q", text)
	}
	leads.Messages = append(leads.Messages, llm.Message{Role: llm.RoleAssistant,
		ToolCalls: []llm.ToolCall{{ID: "a", Name: "research_agent"}}},
		llm.Message{Role: llm.RoleTool, ToolCallID: "a",
			Text: "The guide is Guide [3].\n\nSources:\n[3] Guide\n[4] Other"})
	if text, _ := say(t, m, leads, func() {}); text != "An agent found Guide [3]. That is all." {
		t.Errorf("the end is %q", text)
	}
}

func TestScriptFileIsPlayedInOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.json")
	script := `[{"text":["one"],"usage":[1,2]},{"reasoning":["hm"],"tool_calls":[{"id":"a","name":"f","arguments":{"x":1}}]}]`
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	m := serve(t, file, options{})
	if text, _ := say(t, m, hello, func() {}); text != "one" {
		t.Errorf("got %q", text)
	}
	for range 2 { // the last is repeated
		if _, calls := say(t, m, hello, func() {}); calls == 0 {
			t.Error("no call")
		}
	}
}

func TestScriptWithAnUnknownFieldIsRefused(t *testing.T) {
	_, err := options{}.fromFile([]byte(`[{"txt":["one"]}]`))
	if err == nil || !strings.Contains(err.Error(), "txt") {
		t.Errorf("got %v", err)
	}
}
