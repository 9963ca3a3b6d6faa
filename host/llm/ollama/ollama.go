// Package ollama is the adapter for Ollama's own API: POST /api/chat, streamed as
// one JSON object a line, and POST /api/show, which says what a model is able to.
// The format is that of Ollama's docs/api.md.
//
// An llm.Request comes in; llm events, or one *llm.Error, go out. Ollama leaves out
// the beginning of a prompt that does not fit, without a word; this adapter sends
// none that does not: it sets the size of the window with each request, estimates
// the prompt, and refuses it before it is sent.
//
// It must not know of packets, the loop, stored sessions or other providers.
package ollama

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/llm/intext"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Provider is what Info and Natives say.
const Provider = string(provider.Ollama)

// DefaultContextTokens is the size of the window where neither the operator nor
// the model's file says one. The server takes memory for all of it.
const DefaultContextTokens = 8192

// Config describes one model of one server.
type Config struct {
	// Name is what a person picks; required.
	Name string
	// BaseURL is the server's address; a /v1 or /api at its end is left out. Empty for
	// the usual one.
	BaseURL string
	// Model is the server's name of the model; required.
	Model string
	// APIKey is sent as a bearer token where it is not empty, for a server behind a
	// gateway.
	APIKey llm.Key
	// ContextTokens is the size of the window that the server is told to use, never
	// more than the model has; 0 for what the model's file says, else
	// DefaultContextTokens.
	ContextTokens int
	// MaxOutputTokens bounds an answer, 0 for no bound but the window.
	MaxOutputTokens int
	// KeepAlive is how long the server keeps the model in memory after an answer, as
	// Ollama writes it (5m, -1 for ever); "" for the server's own setting.
	KeepAlive string
	// Note is the line that the page shows beside the name.
	Note string
	// HTTPClient carries the requests; nil for egress.ModelClient of the BaseURL.
	HTTPClient *http.Client
	// Timeouts is how long the server may stay silent; it loads the model before the
	// first token.
	Timeouts endpoint.Timeouts
	// Able overrides what the server says of the model.
	Able llm.Abilities
	// Remember keeps what the server turned out to refuse, nil for as long as the Model
	// lives.
	Remember llm.Memory
	// Sleep, Now and Jitter are as in endpoint.Config.
	Sleep  func(ctx context.Context, d time.Duration) error
	Now    func() time.Time
	Jitter func() float64
	// NewID makes an id for a tool call that came without a usable one; nil for a
	// random one.
	NewID func() string
}

// Model is one model of one server. It is safe for concurrent use.
type Model struct {
	cfg Config
	end *endpoint.Endpoint

	asking *endpoint.Queue // is entered by whoever asks the server about the model
	mu     sync.RWMutex
	// facts, guarded by mu, are what the server says of the model.
	facts facts
	// refused is what it turned out to refuse; learning is held by whoever adds to it.
	refused  llm.Memory
	learning sync.Mutex
}

var (
	_ llm.Model     = (*Model)(nil)
	_ llm.Preparer  = (*Model)(nil)
	_ llm.Forgetter = (*Model)(nil)
)

// New returns the model that cfg describes; it does not touch the network. The
// error is a sentence about the field that is wrong.
func New(cfg Config) (*Model, error) {
	if cfg.Name == "" || cfg.Model == "" {
		return nil, errors.New("a model needs a name and the server's name of the model")
	}
	cfg.BaseURL = Base(cfg.BaseURL)
	end, err := endpoint.New(endpoint.Config{
		BaseURL: cfg.BaseURL, Model: cfg.Model, APIKey: cfg.APIKey, HTTPClient: cfg.HTTPClient,
		Timeouts: cfg.Timeouts, Sleep: cfg.Sleep, Now: cfg.Now, Jitter: cfg.Jitter,
	})
	if err != nil {
		return nil, err
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return "call_" + rand.Text() }
	}
	if cfg.Remember == nil {
		cfg.Remember = new(atomic.Uint32)
	}
	return &Model{cfg: cfg, end: end, asking: endpoint.NewQueue(), refused: cfg.Remember}, nil
}

// Base returns a server's own address: without the path of one of its APIs, and
// the usual one for none.
func Base(baseURL string) string {
	base := strings.TrimRight(cmp.Or(baseURL, provider.BaseURL(provider.Ollama)), "/")
	for _, path := range []string{"/v1", "/api"} {
		base = strings.TrimSuffix(base, path)
	}
	return base
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	f := m.known()
	info := llm.Info{Name: m.cfg.Name, Provider: Provider, Model: m.cfg.Model, Note: m.cfg.Note,
		Vision: m.cfg.Able.Vision.Or(f.vision), ContextTokens: m.cfg.ContextTokens,
		NoReasoning: m.cfg.Able.Reasoning == llm.No || f.told && !f.thinking && m.cfg.Able.Reasoning != llm.Yes}
	if f.asked {
		info.ContextTokens = m.window(f)
	}
	return info
}

// Close drops the idle connections of a model that has its own HTTP client. The
// model stays usable.
func (m *Model) Close() error { return m.end.Close() }

// Stream implements llm.Model. A prompt that does not fit the window ends with
// context_too_long before anything is sent. A request is sent again, at most twice,
// only while not one byte of an answer has come.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return endpoint.Stream(ctx, func(emit func(llm.Event) bool) error { return m.stream(ctx, req, emit) })
}

func (m *Model) stream(ctx context.Context, req llm.Request, emit func(llm.Event) bool) error {
	if err := m.Prepare(ctx); ctx.Err() != nil {
		return err // else what is not known is assumed, or learned from a refusal
	}
	watch := m.end.Watch(ctx)
	defer watch.Stop()
	var sentWith uint32
	response, err := m.end.Send(watch, endpoint.Attempt{
		Post: func(w *endpoint.Watch) (*http.Response, error) {
			sentWith = m.refused.Load()
			return m.post(w, req)
		},
		JSON:  true,
		Learn: func(r *endpoint.Refusal) bool { return m.learn(r, refused(sentWith)) },
	})
	if err != nil {
		return m.absent(err)
	}
	defer response.Body.Close()
	return m.decode(watch, response, emit)
}

// absent says how to fetch a model that the server says it does not have; any other
// error stays as it is.
func (m *Model) absent(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) || e.Code != packet.CodeModelNotFound || e.Err == nil ||
		!strings.Contains(strings.ToLower(e.Err.Error()), "model") {
		return err
	}
	told := *e
	told.Message = fmt.Sprintf("%s does not have the model %s. Fetch it there with “ollama pull %s”, or choose "+
		"another model.", m.end.Address(), m.cfg.Model, m.cfg.Model)
	return &told
}

// post sends the request once, unless it does not fit.
func (m *Model) post(w *endpoint.Watch, req llm.Request) (*http.Response, error) {
	f := m.known()
	if !m.callsTools(f) {
		req = intext.Request(req)
	}
	if err := m.fits(req, f); err != nil {
		return nil, err
	}
	data, err := json.Marshal(m.body(req, f))
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	r, err := m.request(w.Context(), "/api/chat", data)
	if err != nil {
		return nil, err
	}
	response, err := m.end.HTTPClient().Do(r)
	w.Body(response)
	return response, err
}

func (m *Model) request(ctx context.Context, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("User-Agent", "bulkhead")
	r.Header.Set("Content-Type", "application/json")
	if !m.cfg.APIKey.IsZero() {
		r.Header.Set("Authorization", "Bearer "+m.cfg.APIKey.Reveal())
	}
	return r, nil
}

// fits refuses a request that is larger than the window, by an estimate on the
// high side.
func (m *Model) fits(req llm.Request, f facts) error {
	need, have := req.Tokens(m.sees(f)), m.window(f)
	if need <= have {
		return nil
	}
	message := fmt.Sprintf("The conversation takes about %d tokens, and the window of %s is set to %d. Start a new "+
		"one, or set context_tokens of this model higher.", need, m.cfg.Name, have)
	if f.limit > 0 && have >= f.limit {
		message = fmt.Sprintf("The conversation takes about %d tokens, and %s has a window of %d. Start a new one, "+
			"or choose a model with a larger window.", need, m.cfg.Name, have)
	}
	return llm.NewError(packet.CodeContextTooLong, message, nil)
}
