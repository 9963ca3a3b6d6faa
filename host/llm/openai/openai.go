// Package openai is the adapter for endpoints that speak OpenAI's chat
// completions, streamed: OpenAI itself, Ollama, llama.cpp, vLLM, gateways.
//
// An llm.Request comes in; llm events, or one *llm.Error, go out. The official
// openai-go client carries the request and decodes the stream. What endpoints do
// differently (reasoning under two names, tool calls without ids or indexes, a
// refused stream_options, an error inside the stream) is settled here.
//
// It must not know of packets, the loop, stored sessions or other providers. It
// reads nothing from the environment.
package openai

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// Model is one model behind one endpoint. It is safe for concurrent use.
type Model struct {
	cfg     Config
	address string
	client  sdk.Client
	http    *http.Client
	owned   bool
	quirks  atomic.Uint32
}

var _ llm.Model = (*Model)(nil)

// New returns the model that cfg describes; it does not touch the network. The
// error is a sentence about the field that is wrong.
func New(cfg Config) (*Model, error) {
	if cfg.Name == "" || cfg.Model == "" {
		return nil, errors.New("a model needs a name and the endpoint's name of the model")
	}
	address, err := checkBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	m := &Model{cfg: withDefaults(cfg), address: address, http: httpClient(cfg.HTTPClient, cfg.BaseURL), owned: cfg.HTTPClient == nil}
	// A literal, not sdk.NewClient: that one reads keys, addresses and headers
	// from the environment.
	m.client = sdk.Client{Options: m.options()}
	return m, nil
}

func withDefaults(cfg Config) Config {
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	if cfg.FirstTokenTimeout <= 0 {
		cfg.FirstTokenTimeout = DefaultFirstTokenTimeout
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return "call_" + rand.Text() }
	}
	return cfg
}

// options are those of every request. The SDK's own retries are off, and the
// headers by which it describes this machine are left out.
func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(m.cfg.BaseURL),
		option.WithHTTPClient(m.http),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "bulkhead"),
		option.WithHeader("Accept", "text/event-stream"),
	}
	for _, name := range []string{"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout"} {
		opts = append(opts, option.WithHeaderDel("X-Stainless-"+name))
	}
	if !m.cfg.APIKey.IsZero() {
		opts = append(opts, option.WithAPIKey(m.cfg.APIKey.Reveal()))
	}
	return opts
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	return llm.Info{
		Name: m.cfg.Name, Provider: m.cfg.Provider, Model: m.cfg.Model,
		ContextTokens: m.cfg.ContextTokens, Note: m.cfg.Note,
	}
}

// Close drops the idle connections of a model that has its own HTTP client. The
// model stays usable.
func (m *Model) Close() error {
	if m.owned {
		m.http.CloseIdleConnections()
	}
	return nil
}

// Stream implements llm.Model. A request is sent again, at most twice, only
// while not one byte of an answer has come.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := m.stream(ctx, req, func(ev llm.Event) bool { return yield(ev, nil) }); err != nil && err != errLeft {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			yield(nil, err)
		}
	}
}

// errLeft is returned when the consumer left the range.
var errLeft = errors.New("the consumer left")

func (m *Model) stream(ctx context.Context, req llm.Request, emit func(llm.Event) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	watch := newWatch(ctx, m.cfg.FirstTokenTimeout, m.cfg.IdleTimeout)
	defer watch.stop()
	response, err := m.open(watch, req)
	if err != nil {
		return m.failure(watch.cause(err))
	}
	defer response.Body.Close()
	return m.decode(watch, response, emit)
}
