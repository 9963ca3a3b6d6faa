package openai

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
)

// Defaults of Config.
const (
	DefaultFirstTokenTimeout = 3 * time.Minute
	DefaultIdleTimeout       = time.Minute
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
	// Note is the line that the page shows beside the name.
	Note string
	// HTTPClient carries the requests; nil for egress.ModelClient of the BaseURL.
	// Redirects are never followed, whatever the client says.
	HTTPClient *http.Client
	// FirstTokenTimeout is how long the endpoint may stay silent before its first
	// byte, 0 for DefaultFirstTokenTimeout. Local servers load the model in it.
	FirstTokenTimeout time.Duration
	// IdleTimeout is how long it may stay silent between bytes, 0 for
	// DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Sleep waits between attempts and returns ctx.Err() when ctx ends first; nil
	// for a real wait.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now reads the clock for a Retry-After that is a date; nil for time.Now.
	Now func() time.Time
	// NewID makes an id for a tool call that came without a usable one; nil for a
	// random one.
	NewID func() string
}

// checkBaseURL returns the endpoint's address, host:port, or a sentence.
func checkBaseURL(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil, u != nil && u.Host == "":
		return "", fmt.Errorf("the base_url must look like http://127.0.0.1:11434/v1")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("the base_url must begin with http:// or https://")
	case u.User != nil:
		return "", fmt.Errorf("the base_url must not hold a user name or password; use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("the base_url must not hold a query or fragment; use api_key for a key")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return "", fmt.Errorf("the base_url must end before /chat/completions")
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
