package anthropic_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/anthropic"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette/cassettetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-ant-hidden"

// config is what config.json of a cassette may hold.
type config struct {
	Reasoning    llm.Switch `json:"reasoning"`
	Parallel     llm.Switch `json:"parallel"`
	Vision       llm.Switch `json:"vision"`
	NativeSearch bool       `json:"native_search"`
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
	return newModel(t, base, func(cfg *anthropic.Config) {
		cfg.Able = llm.Abilities{Reasoning: c.Reasoning, Parallel: c.Parallel, Vision: c.Vision}
		cfg.NativeSearch = c.NativeSearch
	})
}

func newModel(t testing.TB, base string, change func(*anthropic.Config)) *anthropic.Model {
	t.Helper()
	cfg := anthropic.Config{
		Name: "sonnet", BaseURL: base, Model: "claude-sonnet-4-5", APIKey: llm.NewKey(testKey),
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	if change != nil {
		change(&cfg)
	}
	model, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

func TestCassettes(t *testing.T) { cassettetest.Run(t, "testdata/cassettes", 40, adapter) }

func TestCutAtEveryByte(t *testing.T) {
	for _, name := range []string{"forced_tool_while_thinking"} {
		cassettetest.Cut(t, "testdata/cassettes/"+name+".txtar", adapter)
	}
}

// TestNoTextShowsTheKey looks at every cassette's golden text.
func TestNoTextShowsTheKey(t *testing.T) {
	c, err := cassette.Load("testdata/cassettes/bad_key.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(c.Replies[0].Body), testKey) {
		t.Fatal("the reply does not echo the key")
	}
	if strings.Contains(c.Events, testKey) || !strings.Contains(c.Events, "model_auth") {
		t.Errorf("events: %s", c.Events)
	}
}

func TestInfoSaysWhatTheEndpointSays(t *testing.T) {
	c, err := cassette.Load("testdata/cassettes/image.txtar")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cassette.NewPlayer(c))
	defer server.Close()
	model := newModel(t, server.URL+"/v1/", nil)
	if info := model.Info(); info.ContextTokens != 0 || info.Vision {
		t.Errorf("before: %+v", info)
	}
	if err := llm.Prepare(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	if info := model.Info(); info.ContextTokens != 200000 || !info.Vision || info.Provider != "anthropic" {
		t.Errorf("after: %+v", info)
	}
}

// TestAnEndpointThatIsNotThereIsAskedAgain: that it was away says nothing of the
// model.
func TestAnEndpointThatIsNotThereIsAskedAgain(t *testing.T) {
	away := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"max_input_tokens": 9000}`))
	}))
	defer server.Close()
	model := newModel(t, server.URL, nil)
	if err := model.Prepare(t.Context()); err == nil {
		t.Error("no error while it is away")
	}
	away = false
	if err := model.Prepare(t.Context()); err != nil || model.Info().ContextTokens != 9000 {
		t.Errorf("%v, %+v", err, model.Info())
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: yes")
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	model := newModel(t, server.URL, func(c *anthropic.Config) { c.APIKey = llm.Key{} })
	for range model.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}}) {
	}
	for _, name := range []string{"X-Api-Key", "Authorization", "X-Custom", "X-Stainless-Os", "X-Stainless-Lang"} {
		if got := header.Get(name); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if header.Get("Anthropic-Version") == "" || header.Get("User-Agent") != "bulkhead" {
		t.Errorf("headers: %v", header)
	}
}

func TestCancelEndsTheRequestAtOnce(t *testing.T) {
	gone := make(chan struct{})
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte("event: ping\ndata: {\"type\":\"ping\"}\n\n"))
		http.NewResponseController(w).Flush()
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
	for _, err := range model.Stream(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}}) {
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
}

func TestMistakesInTheConfiguration(t *testing.T) {
	for base, says := range map[string]string{
		"ftp://host": "http", "http://user:pw@host": "api_key", "http://host?key=x": "query",
		"http://host/v1/messages": "before /v1/messages",
	} {
		if _, err := anthropic.New(anthropic.Config{Name: "n", Model: "m", BaseURL: base}); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// TestStopEndsTheRequestWhereverItIs: before the headers, between tokens, and within
// the arguments of a call.
func TestStopEndsTheRequestWhereverItIs(t *testing.T) {
	for _, name := range []string{"tool_use", "thinking"} {
		cassettetest.Stop(t, "testdata/cassettes/"+name+".txtar", adapter)
	}
}

// FuzzStream holds what cassettetest.Fuzz says.
func FuzzStream(f *testing.F) {
	cassettetest.Fuzz(f, "testdata/cassettes/*.txtar", "text/event-stream", adapter, `{"native_search":true}`,
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":-1,\"content_block\":null}\n\n",
		"data: null\n\nevent: error\ndata: 7\n\n")
}

// FuzzFacts holds that nothing an endpoint says of a model makes a window or an
// answer that is none.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"max_input_tokens":200000,"max_tokens":64000,"capabilities":{"image_input":{"supported":true},"thinking":{"supported":true,"types":{"adaptive":{"supported":true}}}}}`))
	f.Add([]byte(`{"max_input_tokens":-1,"max_tokens":1e300,"capabilities":null}`))
	f.Add([]byte(`{"max_input_tokens":"x","capabilities":{"thinking":7}}`))
	var facts, sent atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			w.Write(*facts.Load())
			return
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		sent.Store(&data)
		w.WriteHeader(http.StatusTeapot)
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, data []byte) {
		facts.Store(&data)
		model := newModel(t, server.URL, nil)
		for range model.Stream(context.Background(),
			llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}}) {
		}
		if n := model.Info().ContextTokens; n < 0 || n > 1<<31-1 {
			t.Fatalf("a window of %d", n)
		}
		var body struct {
			MaxTokens int64 `json:"max_tokens"`
		}
		if err := json.Unmarshal(*sent.Load(), &body); err != nil || body.MaxTokens < 1 ||
			body.MaxTokens > anthropic.DefaultMaxOutput {
			t.Fatalf("asked for %d tokens, %v", body.MaxTokens, err)
		}
	})
}
