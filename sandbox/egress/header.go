package egress

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// The bounds of what a guest may send.
const (
	maxRequestHeaders     = 64
	maxRequestHeaderBytes = 16 << 10
)

// forbiddenHeaders would let a guest speak for the connection, for another host,
// or for another method or path than the one that was checked.
var forbiddenHeaders = []string{
	"Host", "Connection", "Keep-Alive", "Te", "Trailer", "Trailers", "Transfer-Encoding", "Upgrade", "Http2-Settings",
	"Expect",
	"Content-Length", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url",
	"X-Original-Host", "Forwarded", "Via", "X-Real-Ip",
}

var forbiddenPrefixes = []string{"Proxy-", "X-Forwarded-", "Sec-"}

// keptAcrossOrigins are the headers that stay when a redirect leads to another
// origin. All others may be credentials.
var keptAcrossOrigins = []string{"Accept", "Accept-Language", "User-Agent", "Content-Type", "Range",
	"If-Modified-Since", "If-None-Match"}

// userAgent is what servers are told, unless the guest says otherwise.
const userAgent = "Mozilla/5.0 (compatible; Bulkhead/1.0)"

// checkHeaders returns the headers to send. Accept-Encoding is ours: it is left
// out of what the guest asked for.
func checkHeaders(given map[string]string) (http.Header, error) {
	if len(given) > maxRequestHeaders {
		return nil, fail(Invalid, "The request has %d headers, more than %d.", len(given), maxRequestHeaders)
	}
	h := http.Header{}
	size := 0
	for name, value := range given {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fail(Invalid, "The header %q has characters that a header cannot have.", shorten(name, 60))
		}
		if size += len(name) + len(value); size > maxRequestHeaderBytes {
			return nil, fail(Invalid, "The headers of the request have more than %d bytes.", maxRequestHeaderBytes)
		}
		key := textproto.CanonicalMIMEHeaderKey(name)
		if forbiddenHeader(key) {
			return nil, fail(Denied, "The header %s belongs to the host. Leave it out.", shorten(key, 60))
		}
		if _, twice := h[key]; twice {
			return nil, fail(Invalid, "The header %s is given twice.", shorten(key, 60))
		}
		h[key] = []string{value}
	}
	delete(h, "Accept-Encoding")
	return h, nil
}

// forbiddenHeader also finds names that a server with underscores for dashes
// (CGI) takes for a forbidden one.
func forbiddenHeader(key string) bool {
	key = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(key, "_", "-"))
	return slices.Contains(forbiddenHeaders, key) ||
		slices.ContainsFunc(forbiddenPrefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// closedMethods open tunnels, echo credentials or are not HTTP/1.1's.
var closedMethods = []string{"CONNECT", "TRACE", "TRACK", "PRI"}

func checkMethod(method string) (string, error) {
	if method == "" {
		return http.MethodGet, nil
	}
	upper := strings.ToUpper(method)
	if len(upper) > 20 || !httpguts.ValidHeaderFieldName(upper) || slices.Contains(closedMethods, upper) {
		return "", fail(Invalid, "%q is not a method that a request can have.", shorten(method, 20))
	}
	return upper, nil
}
