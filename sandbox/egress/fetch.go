package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Request is what a plugin asks for.
type Request struct {
	// URL is as the guest wrote it.
	URL string
	// Method is GET where it is empty.
	Method string
	// Headers are the guest's own.
	Headers map[string]string
	// Body is nil for none.
	Body []byte
	// Rules are the right under which the request is made; nil denies.
	Rules *Rules
	// MaxBytes narrows the size of the response, 0 for what the rules say.
	MaxBytes int64
	// Timeout narrows the Guard's, 0 for that.
	Timeout time.Duration
}

// Response is what came back.
type Response struct {
	Status int
	// Headers have names in lower case; several values of one name are joined by
	// ", ". Cookies are left out, and so is what described the transfer.
	Headers map[string]string
	// URL is where the response came from, after redirects.
	URL string
	// Body is decompressed.
	Body []byte
	// Truncated tells that the body went on beyond what is handed out.
	Truncated bool
}

// hop is one request on the way, checked but not yet sent.
type hop struct {
	method  string
	target  Target
	headers http.Header
	body    []byte
}

// Admit checks a request as far as that needs no network: its form, its headers
// and the list of what may be requested. Fetch checks the same again.
func (g *Guard) Admit(r Request) error {
	_, err := g.first(r)
	return err
}

func (g *Guard) first(r Request) (h hop, err error) {
	if h.method, err = checkMethod(r.Method); err != nil {
		return h, err
	}
	if h.target, err = Canonical(r.URL); err != nil {
		return h, err
	}
	if h.headers, err = checkHeaders(r.Headers); err != nil {
		return h, err
	}
	if len(r.Body) > 0 && (h.method == http.MethodGet || h.method == http.MethodHead) {
		return h, fail(Invalid, "A request with the method %s has no body.", h.method)
	}
	h.body = r.Body
	return h, g.admit(r.Rules, h.method, h.target)
}

// Fetch makes one request and follows its redirects, each checked like the
// first. It returns an *Error, or ctx.Err() when ctx ended.
func (g *Guard) Fetch(ctx context.Context, r Request) (Response, error) {
	h, err := g.first(r)
	if err != nil {
		return Response{}, err
	}
	timeout := g.timeout
	if r.Timeout > 0 {
		timeout = min(timeout, r.Timeout)
	}
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := g.follow(timed, r, h)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return Response{}, ctx.Err()
	case timed.Err() != nil:
		return Response{}, fail(Timeout, "%s did not answer in full within %s.", hostPort(h.target), timeout).from(err)
	}
	return Response{}, err
}

func (g *Guard) follow(ctx context.Context, r Request, h hop) (Response, error) {
	for n := 0; ; n++ {
		response, next, err := g.send(ctx, r, h)
		if err != nil || next == nil {
			return response, err
		}
		if n == MaxRedirects {
			return Response{}, fail(Redirects, "The address was redirected more than %d times.", MaxRedirects)
		}
		h = *next
	}
}

// send makes one request without following: it returns the response, or the
// next hop, admitted.
func (g *Guard) send(ctx context.Context, r Request, h hop) (Response, *hop, error) {
	list, err := g.addresses(ctx, r.Rules, h.target)
	if err != nil {
		return Response{}, nil, err
	}
	conn, err := g.dial(ctx, list)
	if err != nil {
		return Response{}, nil, fail(Unreachable, "%s cannot be connected to.", hostPort(h.target)).from(err)
	}
	transport := g.over(conn)
	defer transport.CloseIdleConnections()
	defer conn.Close()
	res, err := transport.RoundTrip(h.request(ctx))
	if err != nil {
		return Response{}, nil, exchangeError(h.target, err)
	}
	defer res.Body.Close()
	if next, err := h.redirect(res); err != nil || next != nil {
		if err == nil {
			err = g.admit(r.Rules, next.method, next.target)
		}
		return Response{}, next, redirectError(err)
	}
	out := Response{Status: res.StatusCode, Headers: shownHeaders(res), URL: h.target.String()}
	if h.method != http.MethodHead {
		out.Body, out.Truncated, err = readBody(res, limit(r))
	}
	if err != nil {
		return Response{}, nil, exchangeError(h.target, err)
	}
	return out, nil, nil
}

// errSpent is returned when a transport asks for a second connection.
var errSpent = errors.New("the connection was used already")

// over returns a transport for one request on a connection that stands. It has
// no pool: a connection that was opened under one right must not serve another.
func (g *Guard) over(conn net.Conn) *http.Transport {
	var used atomic.Bool
	return &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if used.Swap(true) {
				return nil, errSpent
			}
			return conn, nil
		},
		TLSClientConfig:        &tls.Config{RootCAs: g.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

func (h hop) request(ctx context.Context) *http.Request {
	req := (&http.Request{Method: h.method, URL: h.target.url(), Host: h.target.authority(),
		Header: h.headers.Clone()}).WithContext(ctx)
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	req.Header.Set("Accept-Encoding", "gzip, deflate, br")
	if h.body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(h.body)), int64(len(h.body))
	}
	return req
}

// redirect returns where a response leads, nil when it leads nowhere. The method
// changes as in the Fetch standard.
func (h hop) redirect(res *http.Response) (*hop, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := res.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, fail(Redirects, "the address that it names cannot be read.")
	}
	next := hop{method: h.method, headers: h.headers.Clone(), body: h.body}
	if next.target, err = fromURL(h.target.url().ResolveReference(u)); err != nil {
		return nil, err
	}
	if s := res.StatusCode; s == 303 && h.method != http.MethodHead || (s == 301 || s == 302) &&
		h.method == http.MethodPost {
		next.method, next.body = http.MethodGet, nil
		next.headers.Del("Content-Type")
	}
	if next.target.Origin() != h.target.Origin() {
		kept := http.Header{}
		for _, name := range keptAcrossOrigins {
			if v := next.headers.Values(name); len(v) > 0 {
				kept[name] = v
			}
		}
		next.headers = kept
	}
	return &next, nil
}

// redirectError says that it was a redirect that was refused.
func redirectError(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return fail(e.Kind, "The address redirects, and the redirect is not followed: %s", e.Message).from(err)
}

// limit is how many bytes of a body are handed out.
func limit(r Request) int64 {
	most := int64(DefaultResponseBytes)
	if r.Rules.MaxResponseBytes > 0 {
		most = min(r.Rules.MaxResponseBytes, MaxResponseBytes)
	}
	if r.MaxBytes > 0 {
		most = min(most, r.MaxBytes)
	}
	return most
}

const maxShownHeaders = 100

// shownHeaders are what the guest reads of the headers.
func shownHeaders(res *http.Response) map[string]string {
	out := make(map[string]string, min(len(res.Header), maxShownHeaders))
	for name, values := range res.Header {
		switch name {
		case "Set-Cookie", "Set-Cookie2", "Content-Encoding", "Content-Length", "Connection", "Transfer-Encoding":
			continue
		}
		if len(out) < maxShownHeaders {
			out[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	return out
}

// exchangeError turns what net/http says into an *Error.
func exchangeError(t Target, err error) error {
	var told *Error
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var notTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &told), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &unverified), errors.As(err, &unknown):
		return fail(Unreachable, "%s has no certificate that this machine trusts.", hostPort(t)).from(err)
	case errors.As(err, &notTLS):
		return fail(Unreachable, "%s does not speak https there.", hostPort(t)).from(err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errSpent):
		return fail(Broken, "%s ended the connection before its answer was complete.", hostPort(t)).from(err)
	}
	return fail(Broken, "%s did not answer as HTTP asks.", hostPort(t)).from(err)
}
