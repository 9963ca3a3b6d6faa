package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// The names of the host functions of capability http.
const (
	httpFetch    = "http_fetch"
	httpFetchAll = "http_fetch_all"
)

// web serves the capability http.
type web struct {
	// guard is nil where this host lets nothing out.
	guard *egress.Guard
	rate  *egress.Rate
}

// fetchArgs is one request of a guest. At most one of the bodies is set.
type fetchArgs struct {
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	// BodyBase64 is a body that is not text.
	BodyBase64 []byte `json:"body_base64,omitempty"`
	// MaxBytes and TimeoutMS narrow what the grant and the host allow.
	MaxBytes  int64 `json:"max_bytes,omitempty"`
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Credential names a secret that the host is to put in.
	Credential string `json:"credential,omitempty"`
}

// fetchResult is what the guest gets: the body as text where it is UTF-8.
type fetchResult struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	FinalURL   string            `json:"final_url"`
	Body       string            `json:"body,omitempty"`
	BodyBase64 []byte            `json:"body_base64,omitempty"`
	Truncated  bool              `json:"truncated,omitempty"`
}

func (w web) functions() []gate.Function {
	return []gate.Function{
		gate.Typed[fetchArgs]{
			Name: httpFetch, Capability: capability.HTTP, Handle: w.fetch, Summary: fetchArgs.summary, Admit: w.admit,
		}.Function(),
		{Name: httpFetchAll, Capability: capability.HTTP, Batch: httpFetch},
	}
}

// summary says what is asked in the guest's own terms, without the values of a
// query.
func (a fetchArgs) summary() string {
	address := "an address that cannot be read"
	if t, err := egress.Canonical(a.URL); err == nil {
		address = t.Shown()
	}
	switch a.Method {
	case "", http.MethodGet:
		return "fetch " + address
	case http.MethodHead:
		return "look whether there is " + address
	default:
		return "send " + printable(a.Method, 20) + " to " + address
	}
}

// printable keeps what a guest wrote from forging a line of the record.
func printable(s string, n int) string {
	var out []rune
	for _, r := range s {
		if r > ' ' && r < 0x7f && len(out) < n {
			out = append(out, r)
		}
	}
	return string(out)
}

// request checks what egress does not know of and makes its Request.
func (w web) request(c gate.Request, a fetchArgs) (egress.Request, error) {
	if w.guard == nil {
		return egress.Request{}, gate.Errorf(gate.Unavailable, "This host lets no request out.")
	}
	rules, ok := c.Right.Params.(*capability.HTTPParams)
	if !ok {
		return egress.Request{}, gate.Errorf(gate.Denied, "No address was granted to this plugin.")
	}
	if a.Credential != "" {
		// A request never goes out bare in place of one with a credential.
		return egress.Request{}, gate.Errorf(gate.Denied, "The credential %q cannot be had: this host keeps none.", printable(a.Credential, 64))
	}
	if a.MaxBytes < 0 || a.TimeoutMS < 0 {
		return egress.Request{}, gate.Errorf(gate.Invalid, "max_bytes and timeout_ms are not below 0.")
	}
	if a.Body != "" && len(a.BodyBase64) > 0 {
		return egress.Request{}, gate.Errorf(gate.Invalid, "A request has body or body_base64, not both.")
	}
	body := a.BodyBase64
	if a.Body != "" {
		body = []byte(a.Body)
	}
	return egress.Request{
		URL: a.URL, Method: a.Method, Headers: a.Headers, Body: body, Rules: rules, MaxBytes: a.MaxBytes,
		Timeout: time.Duration(min(a.TimeoutMS, int64(time.Hour/time.Millisecond))) * time.Millisecond,
	}, nil
}

func (w web) admit(_ context.Context, c gate.Request, a fetchArgs) error {
	r, err := w.request(c, a)
	if err != nil {
		return err
	}
	return webError(w.guard.Admit(r))
}

func (w web) fetch(ctx context.Context, c gate.Request, a fetchArgs) (any, error) {
	r, err := w.request(c, a)
	if err != nil {
		return nil, err
	}
	if !w.rate.Take(c.Plugin+"\x00"+c.User, r.Rules.RatePerMinute) {
		return nil, gate.Errorf(gate.Quota, "This plugin makes more requests a minute than it may. Wait a minute.")
	}
	res, err := w.guard.Fetch(ctx, r)
	if err != nil {
		return nil, webError(err)
	}
	out := fetchResult{Status: res.Status, Headers: res.Headers, FinalURL: res.URL, Truncated: res.Truncated}
	if utf8.Valid(res.Body) {
		out.Body = string(res.Body)
	} else {
		out.BodyBase64 = res.Body
	}
	return out, nil
}

// webError tells the guest what egress said.
func webError(err error) error {
	var e *egress.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case egress.Denied:
		return gate.Errorf(gate.Denied, "%s", e.Message)
	case egress.Invalid:
		return gate.Errorf(gate.Invalid, "%s", e.Message)
	case egress.Timeout:
		return gate.Errorf(gate.Timeout, "%s", e.Message)
	default:
		return gate.Errorf(gate.Failed, "%s", e.Message)
	}
}

// extismHTTP serves Extism's http_request through the same function as
// http_fetch. What was denied or failed has status 0, and the sentence is the
// body.
func extismHTTP(g *gate.Call) engine.HTTPFunc {
	fetch := g.Host(httpFetch)
	return func(ctx context.Context, r engine.HTTPRequest) engine.HTTPResponse {
		in, err := json.Marshal(fetchArgs{URL: r.URL, Method: r.Method, Headers: r.Headers, BodyBase64: r.Body})
		if err != nil { // strings and bytes always encode
			return engine.HTTPResponse{Body: []byte(err.Error())}
		}
		var answer struct {
			OK    *fetchResult `json:"ok"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(fetch(ctx, in), &answer); err != nil {
			return engine.HTTPResponse{Body: []byte("The host's answer cannot be read.")}
		}
		switch {
		case answer.OK == nil:
			return engine.HTTPResponse{Body: []byte(answer.Error.Message)}
		case answer.OK.Truncated:
			// The guest cannot know that it has a part, so it gets nothing.
			return engine.HTTPResponse{Body: []byte("The response is larger than this plugin may read.")}
		}
		body := answer.OK.BodyBase64
		if body == nil {
			body = []byte(answer.OK.Body)
		}
		return engine.HTTPResponse{Status: answer.OK.Status, Headers: answer.OK.Headers, Body: body}
	}
}
