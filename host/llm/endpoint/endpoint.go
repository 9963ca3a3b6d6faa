// Package endpoint is the HTTP side that all model servers share: one origin, one
// key, patience with silence, retries before the first byte, and what failures
// mean in words.
//
// What to send comes in as a function that sends it once; a response whose stream
// has begun, or one *llm.Error, goes out. What the bytes mean is the adapter's to
// know: this package knows no provider's format beyond the shapes of refusals.
package endpoint

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
)

// Defaults of Timeouts.
const (
	DefaultConnect    = 10 * time.Second
	DefaultFirstToken = 3 * time.Minute
	DefaultIdle       = time.Minute
)

// Timeouts is how long an endpoint may stay silent; 0 stands for the default of
// each.
type Timeouts struct {
	// Connect bounds the time until there is a connection.
	Connect time.Duration
	// FirstToken bounds the time from there to the first event of the answer. Local
	// servers load the model in it.
	FirstToken time.Duration
	// Idle bounds the time between bytes once there was an event. Bytes that are only
	// signs of life, such as comments and pings, hold a stream for FirstToken more.
	Idle time.Duration
}

// mute bounds the time between two events.
func (t Timeouts) mute() time.Duration { return t.Idle + t.FirstToken }

// Config describes an endpoint.
type Config struct {
	// BaseURL is the endpoint's address; required. It holds no credential and no
	// query.
	BaseURL string
	// Model is the endpoint's name of the model, for sentences; required.
	Model string
	// APIKey is what no text may show. Sending it is the adapter's.
	APIKey llm.Key
	// HTTPClient carries the requests; nil for egress.ModelClient of the BaseURL.
	// Redirects are never followed, whatever the client says.
	HTTPClient *http.Client
	Timeouts   Timeouts
	// Sleep waits between attempts and returns ctx.Err() when ctx ends first; nil
	// for a real wait.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now reads the clock for a Retry-After that is a date; nil for time.Now.
	Now func() time.Time
	// Jitter spreads the waits between attempts, from 0 to below 1; nil for a
	// random one.
	Jitter func() float64
}

// Endpoint is one model server as one model uses it. It is safe for concurrent
// use.
type Endpoint struct {
	cfg     Config
	address string
	http    *http.Client
	owned   bool
}

// ErrLeft is returned by an adapter's emit when the consumer left the range.
var ErrLeft = errors.New("the consumer left")

// New returns the endpoint that cfg describes; it does not touch the network. The
// error is a sentence about the field that is wrong.
func New(cfg Config) (*Endpoint, error) {
	if cfg.Model == "" {
		return nil, errors.New("a model needs the endpoint's name of it")
	}
	at, err := checkBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.Timeouts.Connect <= 0 {
		cfg.Timeouts.Connect = DefaultConnect
	}
	if cfg.Timeouts.FirstToken <= 0 {
		cfg.Timeouts.FirstToken = DefaultFirstToken
	}
	if cfg.Timeouts.Idle <= 0 {
		cfg.Timeouts.Idle = DefaultIdle
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	return &Endpoint{cfg: cfg, address: at, http: httpClient(cfg.HTTPClient, cfg.BaseURL),
		owned: cfg.HTTPClient == nil}, nil
}

// Address is host:port.
func (e *Endpoint) Address() string { return e.address }

// HTTPClient is the client that reaches the endpoint and nothing else.
func (e *Endpoint) HTTPClient() *http.Client { return e.http }

// DescribingHeaders are the headers by which the providers' SDKs describe this
// machine; adapters leave them out.
func DescribingHeaders() []string {
	return []string{"X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-OS", "X-Stainless-Arch",
		"X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Retry-Count", "X-Stainless-Timeout"}
}

// Close drops the idle connections of an endpoint that has its own client. It
// stays usable.
func (e *Endpoint) Close() error {
	if e.owned {
		e.http.CloseIdleConnections()
	}
	return nil
}

// checkBaseURL returns the endpoint's address, host:port, or a sentence.
func checkBaseURL(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil, u != nil && u.Host == "":
		return "", errors.New("the base_url must look like http://127.0.0.1:11434/v1")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("the base_url must begin with http:// or https://")
	case u.User != nil:
		return "", errors.New("the base_url must not hold a user name or password; use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the base_url must not hold a query or fragment; use api_key for a key")
	}
	return address(u), nil
}

// address returns host:port, the port filled in from the scheme.
func address(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// httpClient returns a client that follows no redirect: a model reaches exactly
// its configured origin.
func httpClient(given *http.Client, base string) *http.Client {
	if given == nil {
		return egress.ModelClient(base)
	}
	client := *given
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// sleep waits for real.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
