package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/anthropic"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/ollama"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
)

// picky is a server that refuses a field of each provider's requests, and answers
// those without it.
type picky struct {
	// together, where it is not nil, is called before each refusal.
	together func()

	mu    sync.Mutex // guards asked
	asked int
}

// ServeHTTP implements http.Handler.
func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost && r.URL.Path != "/api/show" {
		p.mu.Lock()
		p.asked++
		p.mu.Unlock()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	refuse := func(bad bool, says string) bool {
		if !bad {
			return false
		}
		if p.together != nil {
			p.together()
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": says}})
		return true
	}
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v1/models/"):
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"model","id":"x","max_tokens":64000,"max_input_tokens":200000,"capabilities":{"thinking":{"supported":true,"types":{"adaptive":{"supported":true}}}}}`)
	case path == "/api/show":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"capabilities":["completion","tools","thinking"],"model_info":{"llama.context_length":8192}}`)
	case path == "/api/chat":
		if refuse(strings.Contains(string(body), `"tools"`), `registry/x does not support tools`) {
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, "{\"message\":{\"content\":\"yes\"},\"done\":true,\"done_reason\":\"stop\"}\n")
	case path == "/v1/messages":
		if refuse(strings.Contains(string(body), `"adaptive"`),
			`thinking.type: adaptive thinking is not supported on this model`) {
			return
		}
		if refuse(strings.Contains(string(body), `"max_tokens":16000`),
			`max_tokens: 16000 > 4096, which is the maximum allowed number of output tokens for x`) {
			return
		}
		io.WriteString(w, "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"yes\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	case path == "/v1/responses":
		if refuse(strings.Contains(string(body), `"include"`), `Encrypted content is not supported with this model.`) {
			return
		}
		io.WriteString(w, "data: {\"type\":\"response.output_text.delta\",\"delta\":\"yes\"}\n\ndata: "+
			"{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n")
	default:
		if refuse(strings.Contains(string(body), `"stream_options"`), `unknown field stream_options`) {
			return
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}
}

// asks tells how often it was asked.
func (p *picky) asks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// withTool is a question that may be answered with a tool.
var withTool = llm.Request{
	Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}, Choice: llm.ChoiceAuto,
	Tools: []llm.ToolDef{{Name: "clock", Parameters: json.RawMessage(`{"type":"object"}`)}},
}

// answer asks a model and returns the text, or what went wrong.
func answer(t *testing.T, m llm.Model) string {
	text := ""
	for ev, err := range m.Stream(t.Context(), withTool) {
		if err != nil {
			return err.Error()
		}
		if said, ok := ev.(llm.Text); ok {
			text += said.Delta
		}
	}
	return text
}

// TestWhatEachProviderRefusesOutlivesTheProcess: and all of them may stand at one
// address with a model of one name.
func TestWhatEachProviderRefusesOutlivesTheProcess(t *testing.T) {
	handler := &picky{}
	server := httptest.NewServer(handler)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	for _, start := range []string{"first", "second"} {
		models, closeStore := storage(t, path)
		for provider, a := range providers {
			m, err := open(t, catalog.Config{Storage: models, Models: []config.Model{a.model(server.URL)}}).Get("m")
			if err != nil {
				t.Fatal(err)
			}
			before := handler.asks()
			if got := answer(t, m); got != "yes" {
				t.Errorf("%s start, %s: %q", start, provider, got)
			}
			if refused := handler.asks()-before > 1; refused != (start == "first") {
				t.Errorf("%s start, %s: refused %v", start, provider, refused)
			}
		}
		closeStore()
	}
}

// TestAnswersThatAreRefusedTogetherAllGoOn: the second to learn a thing finds it
// learned, and its request is sent again all the same.
func TestAnswersThatAreRefusedTogetherAllGoOn(t *testing.T) {
	const answers = 3
	for provider, a := range providers {
		var arrived sync.WaitGroup
		arrived.Add(answers)
		var refusals atomic.Int64
		server := httptest.NewServer(&picky{together: func() {
			if refusals.Add(1) <= answers {
				arrived.Done()
				arrived.Wait()
			}
		}})
		m, err := open(t, catalog.Config{Models: []config.Model{a.model(server.URL)}}).Get("m")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, answers)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = answer(t, m) })
		}
		wg.Wait()
		server.Close()
		for _, text := range got {
			if text != "yes" {
				t.Errorf("%s: %q", provider, text)
			}
		}
	}
}

// TestStopIsNotHeldUpByAnotherAnswerThatLearnsOfTheModel: one answer waits for what the
// server says of the model, another waits for that one and is stopped.
func TestStopIsNotHeldUpByAnotherAnswerThatLearnsOfTheModel(t *testing.T) {
	for _, provider := range []string{"anthropic", "ollama"} {
		asked, hung := make(chan struct{}), make(chan struct{})
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			once.Do(func() { close(asked) })
			<-r.Context().Done()
		}))
		m, err := open(t, catalog.Config{Models: []config.Model{providers[provider].model(server.URL)}}).Get("m")
		if err != nil {
			t.Fatal(err)
		}
		first, leave := context.WithCancel(t.Context())
		go func() {
			defer close(hung)
			for range m.Stream(first, withTool) {
			}
		}()
		<-asked
		second, stop := context.WithCancel(t.Context())
		stop()
		err = llm.Prepare(second, m)
		for _, e := range m.Stream(second, withTool) {
			err = errors.Join(err, e)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", provider, err)
		}
		waiting, goAway := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- llm.Prepare(waiting, m) }()
		goAway()
		if err := <-done; !errors.Is(err, context.Canceled) { // it hangs where a stop waits for the other answer
			t.Errorf("%s: %v", provider, err)
		}
		leave()
		<-hung
		server.Close()
	}
}

// crowded is a memory into which another answer writes a lesson right after this one has
// looked at it, once a request was refused.
type crowded struct {
	atomic.Uint32
	lesson, first uint32
	refused       atomic.Bool
	looks         int
}

// Load implements llm.Memory.
func (c *crowded) Load() uint32 {
	flags := c.Uint32.Load()
	if c.refused.Load() {
		if c.looks++; c.looks == 1 && c.lesson != 0 {
			c.Uint32.Store(c.lesson)
		}
	}
	return flags
}

// Store implements llm.Memory.
func (c *crowded) Store(flags uint32) {
	if c.first == 0 {
		c.first = flags
	}
	c.Uint32.Store(flags)
}

// TestALessonThatAnotherAnswerWritesMeanwhileIsNoRefusal: whenever it is written.
func TestALessonThatAnotherAnswerWritesMeanwhileIsNoRefusal(t *testing.T) {
	for name, build := range map[string]func(base string, memory llm.Memory) (llm.Model, error){
		"openai": func(base string, memory llm.Memory) (llm.Model, error) {
			return openai.New(openai.Config{Name: "m", Model: "x", BaseURL: base + "/v1", Remember: memory})
		},
		"anthropic": func(base string, memory llm.Memory) (llm.Model, error) {
			return anthropic.New(anthropic.Config{Name: "m", Model: "x", BaseURL: base, Remember: memory})
		},
		"ollama": func(base string, memory llm.Memory) (llm.Model, error) {
			return ollama.New(ollama.Config{Name: "m", Model: "x", BaseURL: base, Remember: memory})
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := func(memory *crowded) string {
				server := httptest.NewServer(&picky{together: func() { memory.refused.Store(true) }})
				defer server.Close()
				m, err := build(server.URL, memory)
				if err != nil {
					t.Fatal(err)
				}
				defer m.(io.Closer).Close()
				return answer(t, m)
			}
			alone := &crowded{}
			if got := said(alone); got != "yes" || alone.first == 0 {
				t.Fatalf("%q, the first lesson is %d", got, alone.first)
			}
			if got := said(&crowded{lesson: alone.first}); got != "yes" {
				t.Errorf("%q", got)
			}
		})
	}
}
