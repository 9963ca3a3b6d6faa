// Package anthropic is the adapter for Anthropic's Messages API, streamed, and for
// endpoints that speak it.
//
// An llm.Request comes in; llm events, or one *llm.Error, go out. The official
// anthropic-sdk-go client carries the request and decodes the stream. What is the
// API's own (signed thinking that must come back unchanged, definitions that the
// history needs, cache marks, pauses of its own tools) is settled here.
//
// It must not know of packets, the loop, stored sessions or other providers. It
// reads nothing from the environment.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// Provider is what Info and Natives say.
const Provider = string(provider.Anthropic)

// Config describes one model behind one endpoint.
type Config struct {
	// Name is what a person picks; required.
	Name string
	// BaseURL is the endpoint up to and without /v1/messages; a /v1 at its end is left
	// out. Empty for Anthropic's own.
	BaseURL string
	// Model is the endpoint's name of the model; required.
	Model string
	// APIKey is sent as x-api-key where it is not empty.
	APIKey llm.Key
	// ContextTokens is the size of the window, 0 for what the endpoint says.
	ContextTokens int
	// MaxOutputTokens bounds an answer with its thinking, 0 for DefaultMaxOutput or
	// what the endpoint allows, whichever is less.
	MaxOutputTokens int
	// Note is the line that the page shows beside the name.
	Note string
	// HTTPClient carries the requests; nil for egress.ModelClient of the BaseURL.
	HTTPClient *http.Client
	// Timeouts is how long the endpoint may stay silent.
	Timeouts endpoint.Timeouts
	// Able overrides what the endpoint says of the model. Reasoning left to itself
	// thinks where the model decides how much; yes also where a budget must be set.
	Able llm.Abilities
	// NativeSearch declares the provider's own web search. A tool of ours named
	// web_search is not sent then, since names must differ.
	NativeSearch bool
	// Remember keeps what the endpoint turned out to refuse, nil for as long as the
	// Model lives.
	Remember llm.Memory
	// Sleep, Now and Jitter are as in endpoint.Config.
	Sleep  func(ctx context.Context, d time.Duration) error
	Now    func() time.Time
	Jitter func() float64
}

// Model is one model behind one endpoint. It is safe for concurrent use.
type Model struct {
	cfg    Config
	end    *endpoint.Endpoint
	client sdk.Client

	asking *endpoint.Queue // is entered by whoever asks the endpoint about the model
	mu     sync.RWMutex
	// facts, guarded by mu, are what the endpoint says of the model.
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
		return nil, errors.New("a model needs a name and the endpoint's name of the model")
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(cfg.BaseURL, provider.BaseURL(provider.Anthropic)), "/"),
		"/v1")
	if strings.HasSuffix(cfg.BaseURL, "/messages") {
		return nil, errors.New("the base_url must end before /v1/messages")
	}
	end, err := endpoint.New(endpoint.Config{
		BaseURL: cfg.BaseURL, Model: cfg.Model, APIKey: cfg.APIKey, HTTPClient: cfg.HTTPClient,
		Timeouts: cfg.Timeouts, Sleep: cfg.Sleep, Now: cfg.Now, Jitter: cfg.Jitter,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, end: end, asking: endpoint.NewQueue(), refused: cfg.Remember}
	if m.refused == nil {
		m.refused = new(atomic.Uint32)
	}
	// A literal, not sdk.NewClient: that one reads keys, addresses, profiles and
	// headers from the environment.
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
		option.WithHeader("Anthropic-Version", apiVersion),
	}
	for _, name := range endpoint.DescribingHeaders() {
		opts = append(opts, option.WithHeaderDel(name))
	}
	if !m.cfg.APIKey.IsZero() {
		opts = append(opts, option.WithAPIKey(m.cfg.APIKey.Reveal()))
	}
	return opts
}

// apiVersion is the version of the API that this adapter speaks.
const apiVersion = "2023-06-01"

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	f := m.known()
	return llm.Info{
		Name: m.cfg.Name, Provider: Provider, Model: m.cfg.Model, Note: m.cfg.Note,
		ContextTokens: cmp.Or(m.cfg.ContextTokens, f.window), Vision: m.cfg.Able.Vision.Or(f.vision),
		NativeSearch: m.cfg.NativeSearch,
		NoReasoning:  m.cfg.Able.Reasoning == llm.No || f.thinking == thinkNever && m.cfg.Able.Reasoning != llm.Yes,
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

// maxPauses bounds how often an answer that the provider paused is continued.
const maxPauses = 5

func (m *Model) stream(ctx context.Context, req llm.Request, emit func(llm.Event) bool) error {
	if m.cfg.Able.Reasoning != llm.No || m.cfg.Able.Vision == "" || m.cfg.Able.Vision == llm.Auto {
		_ = m.Prepare(ctx) // what is not known is assumed, or learned from a refusal
	}
	watch := m.end.Watch(ctx)
	defer watch.Stop()
	a := &answer{model: m, watch: watch, emit: emit}
	for pauses := 0; ; pauses++ {
		response, err := m.open(a, req)
		if err != nil {
			return err
		}
		err = m.decode(response, a)
		_ = response.Body.Close() // it was read to its end, or the error says more
		if err != nil {
			return err
		}
		if a.reason != sdk.StopReasonPauseTurn || pauses == maxPauses {
			return a.finish()
		}
	}
}

// open sends the request until a stream begins, without what the endpoint is known
// to refuse. What a paused answer has said so far goes with it.
func (m *Model) open(a *answer, req llm.Request) (*http.Response, error) {
	var sent sdk.MessageNewParams
	var sentWith uint32
	return m.end.Send(a.watch, endpoint.Attempt{
		Whole: wholeReply,
		Post: func(w *endpoint.Watch) (*http.Response, error) {
			sentWith = m.refused.Load()
			sent = m.params(req, a.blocks, a.bare)
			return m.post(w, sent)
		},
		Learn: func(r *endpoint.Refusal) bool {
			if !a.bare && unwelcome(r) {
				a.bare = true
				return true
			}
			return m.learn(r, sent, refused(sentWith))
		},
	})
}

// post sends the request once; its response's body is watched.
func (m *Model) post(w *endpoint.Watch, params sdk.MessageNewParams) (*http.Response, error) {
	var response *http.Response
	watched := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(r)
		w.Body(res)
		return res, err
	}
	err := m.client.Post(w.Context(), "v1/messages", params, &response, option.WithJSONSet("stream", true),
		option.WithMiddleware(watched))
	return response, err
}
