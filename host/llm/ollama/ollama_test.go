package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette/cassettetest"
	"github.com/bulkhead-host/bulkhead/host/llm/ollama"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is what config.json of a cassette may hold.
type config struct {
	Tools           llm.Switch `json:"tools"`
	Reasoning       llm.Switch `json:"reasoning"`
	ContextTokens   int        `json:"context_tokens"`
	MaxOutputTokens int        `json:"max_output_tokens"`
	KeepAlive       string     `json:"keep_alive"`
}

// adapter makes the model that asks a cassette's server.
func adapter(t testing.TB, base string, raw json.RawMessage) llm.Model {
	t.Helper()
	var c config
	if raw != nil {
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
	}
	return newModel(t, base, func(cfg *ollama.Config) {
		cfg.Able = llm.Abilities{Tools: c.Tools, Reasoning: c.Reasoning}
		cfg.ContextTokens, cfg.MaxOutputTokens, cfg.KeepAlive = c.ContextTokens, c.MaxOutputTokens, c.KeepAlive
	})
}

func newModel(t testing.TB, base string, change func(*ollama.Config)) *ollama.Model {
	t.Helper()
	var ids atomic.Int64
	cfg := ollama.Config{
		Name: "qwen", BaseURL: base, Model: "qwen3:8b",
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		NewID: func() string { return fmt.Sprintf("made_%d", ids.Add(1)) },
	}
	if change != nil {
		change(&cfg)
	}
	model, err := ollama.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

func TestCassettes(t *testing.T) { cassettetest.Run(t, "testdata/cassettes", 25, adapter) }

func TestCutAtEveryByte(t *testing.T) {
	for _, name := range []string{"tool_calls_parallel"} {
		cassettetest.Cut(t, "testdata/cassettes/"+name+".txtar", adapter)
	}
}

// TestAPromptThatDoesNotFitIsNeverSent: the server would leave out its beginning
// without a word.
func TestAPromptThatDoesNotFitIsNeverSent(t *testing.T) {
	for name, tc := range map[string]struct {
		limit, configured int
		says              string
	}{
		"larger than what is set":        {40960, 0, "set to 8192. Start a new one, or set context_tokens"},
		"larger than what the model has": {4096, 0, "has a window of 4096. Start a new one, or choose a model"},
		"larger than the operator wants": {40960, 2000, "set to 2000."},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cassette.Cassette{Facts: json.RawMessage(fmt.Sprintf(`{"capabilities":["completion"],"model_info":{"x.context_length":%d}}`, tc.limit))}
			player := cassette.NewPlayer(c)
			server := httptest.NewServer(player)
			defer server.Close()
			model := newModel(t, server.URL+"/v1", func(c *ollama.Config) { c.ContextTokens = tc.configured })
			var got *llm.Error
			for _, err := range model.Stream(t.Context(),
				llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: strings.Repeat("tide ", 6000)}}}) {
				if !errors.As(err, &got) {
					t.Fatal(err)
				}
			}
			if got == nil || got.Code != packet.CodeContextTooLong || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %v", got)
			}
			if n := len(player.Sent()); n != 0 {
				t.Errorf("%d prompts were sent", n)
			}
		})
	}
}

func TestInfoSaysTheWindowThatTheServerIsTold(t *testing.T) {
	c := &cassette.Cassette{Facts: json.RawMessage(`{"capabilities":["completion","vision"],"model_info":{"x.context_length":6000}}`)}
	server := httptest.NewServer(cassette.NewPlayer(c))
	defer server.Close()
	model := newModel(t, server.URL, nil)
	if info := model.Info(); info.ContextTokens != 0 {
		t.Errorf("before: %+v", info)
	}
	if err := llm.Prepare(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	if info := model.Info(); info.ContextTokens != 6000 || !info.Vision {
		t.Errorf("after: %+v", info)
	}
}

func TestCancelEndsTheRequestAtOnce(t *testing.T) {
	for name, path := range map[string]string{"while it loads": "/api/chat",
		"while it is asked what it is": "/api/show"} {
		t.Run(name, func(t *testing.T) {
			arrived, gone := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != path {
					w.Write([]byte(`{}`))
					return
				}
				var body map[string]any // a server notices that a client left once it has read the body
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				close(arrived)
				<-r.Context().Done()
				close(gone)
			}))
			defer server.Close()
			model := newModel(t, server.URL, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				defer cancel()
				select {
				case <-arrived:
				case <-t.Context().Done():
				}
			}()
			var last error
			for _, err := range model.Stream(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser,
				Text: "x"}}}) {
				last = err
			}
			if last != ctx.Err() || last == nil {
				t.Fatalf("got %v", last)
			}
			select {
			case <-gone:
			case <-time.After(2 * time.Minute):
				t.Error("the server sees no client leave")
			}
		})
	}
}

// TestALongAnswerIsNotTakenForALongLine: lines end events here, not empty lines.
func TestALongAnswerIsNotTakenForALongLine(t *testing.T) {
	line := `{"message":{"content":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for range 6 {
			w.Write([]byte(line))
		}
		w.Write([]byte(`{"done":true}` + "\n"))
	}))
	defer server.Close()
	model := newModel(t, server.URL, nil)
	n := 0
	for ev, err := range model.Stream(t.Context(),
		llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := ev.(llm.Text); ok {
			n += len(text.Delta)
		}
	}
	if n != 6<<20 {
		t.Errorf("%d bytes came", n)
	}
}

func TestMistakesInTheConfiguration(t *testing.T) {
	for base, says := range map[string]string{"ftp://host": "http", "http://user:pw@host": "api_key",
		"http://host?key=x": "query"} {
		if _, err := ollama.New(ollama.Config{Name: "n", Model: "m", BaseURL: base}); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// TestStopEndsTheRequestWhereverItIs: before the headers, between tokens, and within
// the arguments of a call.
func TestStopEndsTheRequestWhereverItIs(t *testing.T) {
	for _, name := range []string{"tool_calls_parallel", "thinking"} {
		cassettetest.Stop(t, "testdata/cassettes/"+name+".txtar", adapter)
	}
}

// FuzzStream holds what cassettetest.Fuzz says.
func FuzzStream(f *testing.F) {
	cassettetest.Fuzz(f, "testdata/cassettes/*.txtar", "application/x-ndjson", adapter, `{}`,
		"null\n[]\n{\"message\":null,\"error\":7}\n",
		`{"message":{"tool_calls":[null,{"function":null},{"function":{"arguments":[1]}}]},"done":true}`)
}

// FuzzFacts holds that nothing a server says of a model makes a window that is no
// window.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"capabilities":["tools"],"model_info":{"q.context_length":40960},"parameters":"num_ctx 4096"}`))
	f.Add([]byte(`{"model_info":{"q.context_length":-1,"r.context_length":"x","s.context_length":1e300},"parameters":"num_ctx -5\nnum_ctx"}`))
	f.Add([]byte(`{"capabilities":null,"template":7}`))
	var facts []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(facts) }))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, data []byte) {
		facts = data
		model := newModel(t, server.URL, nil)
		if err := model.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := model.Info().ContextTokens; n < 1 || n > 1<<31-1 {
			t.Fatalf("a window of %d", n)
		}
	})
}
