package catalog_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}, MaxOutputTokens: 9}

// said is the text that a model answers.
func said(t *testing.T, m llm.Model) string {
	t.Helper()
	text := ""
	for ev, err := range m.Stream(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		if piece, ok := ev.(llm.Text); ok {
			text += piece.Delta
		}
	}
	return text
}

// TestEachProviderHasItsAdapter plays a cassette of each to the model that the
// catalog makes of a description.
func TestEachProviderHasItsAdapter(t *testing.T) {
	for provider, tc := range map[provider.Name]struct{ file, says string }{
		provider.Anthropic: {"../anthropic/testdata/cassettes/text.txtar", "The tide is high. Да 🙂"},
		provider.Ollama:    {"../ollama/testdata/cassettes/text.txtar", "The tide is high. Да 🙂"},
	} {
		t.Run(string(provider), func(t *testing.T) {
			tape, err := cassette.Load(tc.file)
			if err != nil {
				t.Fatal(err)
			}
			player := cassette.NewPlayer(tape)
			server := httptest.NewServer(player)
			defer server.Close()
			c := open(t, catalog.Config{Models: []config.Model{{Name: "m", Provider: provider, BaseURL: server.URL,
				Model: "x", Tuning: config.Tuning{MaxOutputTokens: 77}}}})
			m, err := c.Get("m")
			if err != nil {
				t.Fatal(err)
			}
			if got := said(t, m); got != tc.says || m.Info().Provider != string(provider) {
				t.Errorf("%q of %+v", got, m.Info())
			}
		})
	}
}

// ollamaServer is an Ollama with one model, which is asked by its own API only.
func ollamaServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			w.Write([]byte(`{"data":[{"id":"qwen3:8b"}]}`))
		case "/api/show":
			w.Write([]byte(`{"capabilities":["completion"],"model_info":{"q.context_length":4096}}`))
		case "/api/chat":
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Write([]byte(`{"message":{"content":"Hello."}}` + "\n" + `{"done":true,"done_reason":"stop"}` + "\n"))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestAnOllamaThatIsFoundIsAskedAsOne: by its own API, which says the window.
func TestAnOllamaThatIsFoundIsAskedAsOne(t *testing.T) {
	server := ollamaServer(t)
	c := open(t, catalog.Config{Probe: true, Targets: []catalog.Target{{Kind: "Ollama", BaseURL: server.URL + "/v1",
		Provider: provider.Ollama}}})
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	m, err := c.Get("qwen3:8b")
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, m); got != "Hello." {
		t.Errorf("said %q", got)
	}
	if info := m.Info(); info.Provider != "ollama" || info.ContextTokens != 4096 ||
		!strings.Contains(info.Note, "Found on this machine") {
		t.Errorf("%+v", info)
	}
}

// TestAnOllamaThatIsFoundIsAddedAsOne: whether what adds it says so, as its entry
// does, or leaves the provider out.
func TestAnOllamaThatIsFoundIsAddedAsOne(t *testing.T) {
	for _, says := range []bool{true, false} {
		server := ollamaServer(t)
		models, closeStore := storage(t, filepath.Join(t.TempDir(), "bulkhead.db"))
		c := open(t, catalog.Config{Storage: models, Probe: true,
			Targets: []catalog.Target{{Kind: "Ollama", BaseURL: server.URL + "/v1", Provider: provider.Ollama}}})
		if err := c.Refresh(t.Context(), anOperator); err != nil {
			t.Fatal(err)
		}
		e := entries(c)[0]
		add := config.Model{Name: e.Name, BaseURL: e.BaseURL, Model: e.Model}
		if says {
			add.Provider = provider.Name(e.Provider)
		}
		if err := c.Add(anOperator, add); err != nil {
			t.Fatal(err)
		}
		m, err := c.Get(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(t, m); got != "Hello." || m.Info().Provider != "ollama" {
			t.Errorf("with the provider %v: said %q, %+v", says, got, m.Info())
		}
		if list := entries(c); list[0].Origin != catalog.Added || len(list) != 2 {
			t.Errorf("with the provider %v: %+v", says, list)
		}
		closeStore()
	}
}

// TestWhatAnEndpointRefusesOutlivesTheProcess: one refusal is enough.
func TestWhatAnEndpointRefusesOutlivesTheProcess(t *testing.T) {
	server, err := llmtest.Start(llmtest.Status(400, `{"error":{"message":"use max_completion_tokens"}}`),
		llmtest.Answer().Text("one"), llmtest.Answer().Text("two"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	model := config.Model{Name: "m", Provider: provider.OpenAI, BaseURL: server.URL(), Model: "x"}
	for _, want := range []string{"one", "two"} {
		models, closeStore := storage(t, path)
		c := open(t, catalog.Config{Storage: models, Models: []config.Model{model}})
		m, err := c.Get("m")
		if err != nil {
			t.Fatal(err)
		}
		if got := said(t, m); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
		closeStore()
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// TestWhatAnEndpointRefusesIsForgotten: when the model has another address or name,
// and when it is tested.
func TestWhatAnEndpointRefusesIsForgotten(t *testing.T) {
	server, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.Answer(func(r llmtest.Request) *llmtest.Reply {
		if r.Body.MaxTokens > 0 {
			return llmtest.Status(400, `{"error":{"message":"use max_completion_tokens"}}`)
		}
		return llmtest.Answer().Text("yes")
	})
	models, closeStore := storage(t, filepath.Join(t.TempDir(), "bulkhead.db"))
	defer closeStore()
	first := config.Model{Name: "m", Provider: provider.OpenAI, BaseURL: server.URL(), Model: "x"}
	renamed, moved := first, first
	renamed.Model = "y"
	moved.BaseURL = strings.Replace(server.URL(), "127.0.0.1", "localhost", 1)
	refused := func(m config.Model, before func(llm.Model)) bool {
		c := open(t, catalog.Config{Storage: models, Models: []config.Model{m}})
		model, err := c.Get("m")
		if err != nil {
			t.Fatal(err)
		}
		before(model)
		n := len(server.Requests())
		said(t, model)
		return len(server.Requests())-n == 2
	}
	keep := func(llm.Model) {}
	for _, tc := range []struct {
		name   string
		model  config.Model
		before func(llm.Model)
		want   bool
	}{
		{"at first", first, keep, true}, {"once more", first, keep, false}, {"by another name", renamed, keep, true},
		{"at another address", moved, keep, true}, {"the first again", first, keep, false},
		{"after a test", first, llm.Forget, true},
	} {
		if got := refused(tc.model, tc.before); got != tc.want {
			t.Errorf("%s: refused %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestSeldomSettingsOutliveTheProcess: what was set when a model was added.
func TestSeldomSettingsOutliveTheProcess(t *testing.T) {
	var body map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			w.Write([]byte(`{"capabilities":["completion","thinking"]}`))
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Write([]byte(`{"message":{"content":"Hello."},"done":true}` + "\n"))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	models, closeStore := storage(t, path)
	c := open(t, catalog.Config{Storage: models})
	if err := c.Add(anOperator, config.Model{Name: "m", Provider: provider.Ollama,
		BaseURL: server.URL, Model: "x",
		ContextTokens: 5000,
		Tuning:        config.Tuning{Reasoning: llm.No, KeepAlive: "30m", IdleTimeout: "2m"}}); err != nil {
		t.Fatal(err)
	}
	closeStore()
	models, closeStore = storage(t, path)
	defer closeStore()
	c = open(t, catalog.Config{Storage: models})
	m, err := c.Get("m")
	if err != nil {
		t.Fatal(err)
	}
	said(t, m)
	if body["think"] != false || body["keep_alive"] != "30m" || body["options"].(map[string]any)["num_ctx"] != 5000.0 {
		t.Errorf("sent %v", body)
	}
}
