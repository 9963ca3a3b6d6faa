package egress

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// ModelClient returns a client for one model server: it reaches the scheme, host
// and port of origin and nothing else, at every level, because the operator
// configured exactly that. origin may have a path, such as
// http://127.0.0.1:11434/v1. Redirects are not followed: the response that asks
// for one is returned. Answering has no time limit; connecting has one. An origin
// that is none gives a client whose every request fails with an *Error. The
// caller drops its idle connections when it is done.
func ModelClient(origin string) *http.Client {
	t := &originTransport{}
	target, err := Canonical(origin)
	if err != nil {
		t.broken = err
	}
	t.origin = target.Origin()
	t.base = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout, Control: noMetadata}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// noMetadata refuses a connection to a metadata service, whatever name led to it.
// It sees the address that is dialled.
func noMetadata(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read the address to dial: %w", err)
	}
	if class := Classify(a.Addr().Unmap()); class == Metadata {
		return fail(Denied, "%s is %s.", a.Addr(), class)
	}
	return nil
}

// originTransport lets requests to one origin through.
type originTransport struct {
	origin string
	broken error
	base   *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *originTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.check(r.URL, r.Host); err != nil {
		if r.Body != nil {
			r.Body.Close() // a RoundTripper closes the body whatever happens
		}
		return nil, err
	}
	return t.base.RoundTrip(r)
}

func (t *originTransport) check(u *url.URL, host string) error {
	if t.broken != nil {
		return t.broken
	}
	target, err := fromURL(u)
	if err != nil {
		return err
	}
	if target.Origin() != t.origin || host != "" && host != u.Host {
		return fail(Denied, "A model reaches %s only, not %s.", t.origin, target.Origin())
	}
	return nil
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t *originTransport) CloseIdleConnections() { t.base.CloseIdleConnections() }
