package hostfunc

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// HTTPFetch is the host function that makes one request; it takes a Fetch and gives a
// Fetched.
const HTTPFetch = "http_fetch"

// httpPart serves the capability http.
func httpPart(s Services) part {
	w := web{s.Egress, egress.NewRate(s.Now)}
	return part{functions: []gate.Function{
		gate.Typed[Fetch]{
			Name: HTTPFetch, Capability: capability.HTTP, Handle: w.fetch, Summary: Fetch.summary, Admit: w.admit,
		}.Function(),
		{Name: HTTPFetch + "_all", Capability: capability.HTTP, Batch: HTTPFetch},
	}}
}

type web struct {
	// guard is nil where this host lets nothing out.
	guard *egress.Guard
	rate  *egress.Rate
}

// Fetch is one request of a guest. At most one of the bodies is set.
type Fetch struct {
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

// Fetched is what the guest gets: the body as text where it is UTF-8.
type Fetched struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	FinalURL   string            `json:"final_url"`
	Body       string            `json:"body,omitempty"`
	BodyBase64 []byte            `json:"body_base64,omitempty"`
	Truncated  bool              `json:"truncated,omitempty"`
}

// summary says what is asked in the guest's own terms, without the values of a
// query.
func (a Fetch) summary() string {
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
func (w web) request(c gate.Request, a Fetch) (egress.Request, error) {
	if w.guard == nil {
		return egress.Request{}, gate.Errorf(gate.Unavailable, "This host lets no request out.")
	}
	rules, ok := c.Right.Params.(*capability.HTTPParams)
	if !ok {
		return egress.Request{}, gate.Errorf(gate.Denied, "No address was granted to this plugin.")
	}
	if a.Credential != "" {
		// A request never goes out bare in place of one with a credential.
		return egress.Request{}, gate.Errorf(gate.Denied,
			"The credential %q cannot be had: this host keeps none.", printable(a.Credential, 64))
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

func (w web) admit(_ context.Context, c gate.Request, a Fetch) error {
	r, err := w.request(c, a)
	if err != nil {
		return err
	}
	return webError(w.guard.Admit(r))
}

func (w web) fetch(ctx context.Context, c gate.Request, a Fetch) (any, error) {
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
	out := Fetched{Status: res.Status, Headers: res.Headers, FinalURL: res.URL, Truncated: res.Truncated}
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
