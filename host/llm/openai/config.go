package openai

import (
	"context"
	"net/http"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// Config describes one model behind one endpoint.
type Config struct {
	// Name is what a person picks; required.
	Name string
	// Provider is what Info says, "openai" where empty.
	Provider string
	// BaseURL is the endpoint up to and without /chat/completions, such as
	// http://127.0.0.1:11434/v1; required. It holds no credential and no query.
	BaseURL string
	// Model is the endpoint's name of the model; required.
	Model string
	// APIKey is sent as a bearer token where it is not empty.
	APIKey llm.Key
	// ContextTokens is the size of the window, 0 where unknown.
	ContextTokens int
	// MaxOutputTokens bounds an answer where the request does not, 0 for the
	// provider's default.
	MaxOutputTokens int
	// API is which of the endpoint's two interfaces is used, APIAuto where empty.
	API API
	// NativeSearch declares the provider's own web search; it needs APIResponses.
	NativeSearch bool
	// Note is the line that the page shows beside the name.
	Note string
	// HTTPClient carries the requests; nil for egress.ModelClient of the BaseURL.
	// Redirects are never followed, whatever the client says.
	HTTPClient *http.Client
	// Timeouts is how long the endpoint may stay silent.
	Timeouts endpoint.Timeouts
	// Able overrides what is assumed of the model: it is taken to call tools, several
	// at once, and not to see images.
	Able llm.Abilities
	// Remember keeps what the endpoint turned out to refuse, nil for as long as the
	// Model lives.
	Remember llm.Memory
	// Sleep waits between attempts and returns ctx.Err() when ctx ends first; nil
	// for a real wait.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now reads the clock for a Retry-After that is a date; nil for time.Now.
	Now func() time.Time
	// Jitter spreads the waits between attempts, from 0 to below 1; nil for a random
	// one.
	Jitter func() float64
	// NewID makes an id for a tool call that came without a usable one; nil for a
	// random one.
	NewID func() string
}

// API is one of the two interfaces.
type API string

// The interfaces. With APIAuto it is found out: OpenAI's own endpoint is asked for
// responses and others for chat completions, and the other of the two is tried where
// an endpoint refuses the one; what worked is remembered.
const (
	APIAuto      API = "auto"
	APIChat      API = "chat"
	APIResponses API = "responses"
)
