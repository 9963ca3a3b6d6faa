// Package openai is the adapter for endpoints that speak OpenAI's chat
// completions or responses, streamed: OpenAI itself, llama.cpp, vLLM, gateways.
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
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// Model is one model behind one endpoint. It is safe for concurrent use.
type Model struct {
	cfg    Config
	end    *endpoint.Endpoint
	client sdk.Client
	// official tells that the endpoint is OpenAI's own.
	official bool
	quirks   llm.Memory
	// learning is held by whoever adds to quirks.
	learning sync.Mutex
}

var (
	_ llm.Model     = (*Model)(nil)
	_ llm.Forgetter = (*Model)(nil)
)

// New returns the model that cfg describes; it does not touch the network. The
// error is a sentence about the field that is wrong.
func New(cfg Config) (*Model, error) {
	if cfg.Name == "" || cfg.Model == "" {
		return nil, errors.New("a model needs a name and the endpoint's name of the model")
	}
	end, err := endpoint.New(endpoint.Config{
		BaseURL: cfg.BaseURL, Model: cfg.Model, APIKey: cfg.APIKey, HTTPClient: cfg.HTTPClient,
		Timeouts: cfg.Timeouts, Sleep: cfg.Sleep, Now: cfg.Now, Jitter: cfg.Jitter,
	})
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"/chat/completions", "/responses"} {
		if strings.HasSuffix(strings.TrimRight(cfg.BaseURL, "/"), path) {
			return nil, errors.New("the base_url must end before " + path)
		}
	}
	if cfg.Provider == "" {
		cfg.Provider = string(provider.OpenAI)
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return "call_" + rand.Text() }
	}
	m := &Model{cfg: cfg, end: end, quirks: cfg.Remember, official: isOfficial(cfg.BaseURL)}
	if m.quirks == nil {
		m.quirks = new(atomic.Uint32)
	}
	// A literal, not sdk.NewClient: that one reads keys, addresses and headers
	// from the environment.
	m.client = sdk.Client{Options: m.options()}
	return m, nil
}

// options are those of every request. The SDK's own retries are off, and the
// headers by which it describes this machine are left out.
func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(m.cfg.BaseURL),
		option.WithHTTPClient(m.end.HTTPClient()),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "bulkhead"),
		option.WithHeader("Accept", "text/event-stream"),
	}
	for _, name := range endpoint.DescribingHeaders() {
		opts = append(opts, option.WithHeaderDel(name))
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
		ContextTokens: m.cfg.ContextTokens, Note: m.cfg.Note, Vision: m.cfg.Able.Vision.Or(false),
		NativeSearch: m.cfg.NativeSearch && m.cfg.API == APIResponses,
		NoReasoning:  m.cfg.Able.Reasoning == llm.No,
	}
}

// Close drops the idle connections of a model that has its own HTTP client. The
// model stays usable.
func (m *Model) Close() error { return m.end.Close() }

// Stream implements llm.Model. A request is sent again, at most twice, only
// while not one byte of an answer has come.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return endpoint.Stream(ctx, func(emit func(llm.Event) bool) error { return m.stream(ctx, req, emit) })
}

func (m *Model) stream(ctx context.Context, req llm.Request, emit func(llm.Event) bool) error {
	if req.MaxOutputTokens == 0 {
		req.MaxOutputTokens = m.cfg.MaxOutputTokens
	}
	watch := m.end.Watch(ctx)
	defer watch.Stop()
	response, route, err := m.open(watch, req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if route.responses {
		return m.decodeResponse(watch, response, emit)
	}
	return m.decode(watch, response, req.Offers, emit)
}
