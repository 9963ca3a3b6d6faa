// Package egress is the only way out of the host: no other code opens an
// outbound connection.
//
// A plugin's request and the rules of its grant come in; a bounded response, or
// an *Error with a sentence, goes out. Names are resolved here, each address is
// checked, and the checked address is the one that is dialled. Models go through
// it under a profile of their own, which reaches one origin and nothing else.
//
// The package must not know plugins, models or hosts beyond their addresses, and
// it keeps nothing of what passes: no cookies, no cache, no connections.
package egress

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"time"
)

// Level is how far plugins may reach at all.
type Level string

// The levels. There is none that means no protection.
const (
	// None: plugins open no connection.
	None Level = "none"
	// Public: globally routable addresses.
	Public Level = "public"
	// Private: also the private networks of RFC 1918 and RFC 4193, each host named
	// in the grant.
	Private Level = "private"
)

// The bounds of one request, where nothing narrower was asked for.
const (
	// DefaultTimeout bounds a request with all its redirects.
	DefaultTimeout = 30 * time.Second
	// DefaultResponseBytes is how much of a body is handed out, after
	// decompression.
	DefaultResponseBytes = 5 << 20
	// MaxResponseBytes is the most that a grant can raise that to.
	MaxResponseBytes = 32 << 20
	// MaxRedirects is how many redirects one request follows.
	MaxRedirects = 10

	dialTimeout    = 10 * time.Second
	maxHeaderBytes = 64 << 10
	maxAddresses   = 16
)

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer opens connections; address is an IP address with a port. *net.Dialer is
// one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config is what a Guard is made of.
type Config struct {
	// Level is how far plugins may reach, "" for Public.
	Level Level
	// LocalServices are hosts with ports, such as 127.0.0.1:9200 or wiki.lan:443,
	// that plugins may reach although their addresses are refused otherwise. The
	// operator names each. They do not help at level None.
	LocalServices []string
	// Resolver finds addresses, nil for the system's.
	Resolver Resolver
	// Dialer opens connections, nil for the system's.
	Dialer Dialer
	// Roots are the authorities that are trusted for https, nil for the system's.
	Roots *x509.CertPool
	// Timeout bounds a request, 0 for DefaultTimeout.
	Timeout time.Duration
}

// Guard lets the requests of plugins out, or refuses them. It is immutable and
// safe for concurrent use.
type Guard struct {
	level    Level
	local    map[string]bool
	resolver Resolver
	dialer   Dialer
	roots    *x509.CertPool
	timeout  time.Duration
}

// New returns a Guard. The error is a sentence about the configuration: an
// unknown level, or a local service that is not a host with a port.
func New(c Config) (*Guard, error) {
	g := &Guard{level: c.Level, local: map[string]bool{}, resolver: c.Resolver, dialer: c.Dialer, roots: c.Roots,
		timeout: c.Timeout}
	switch c.Level {
	case "":
		g.level = Public
	case None, Public, Private:
	default:
		return nil, fail(Invalid, "The egress level %q is not one of none, public, private.", c.Level)
	}
	for _, s := range c.LocalServices {
		key, err := serviceKey(s)
		if err != nil {
			return nil, err
		}
		g.local[key] = true
	}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	if g.dialer == nil {
		g.dialer = &net.Dialer{Timeout: dialTimeout}
	}
	if g.timeout <= 0 {
		g.timeout = DefaultTimeout
	}
	return g, nil
}

// CheckLocalService returns a sentence when s is not fit for
// Config.LocalServices.
func CheckLocalService(s string) error {
	_, err := serviceKey(s)
	return err
}

// serviceKey is host:port in the form in which targets are compared.
func serviceKey(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err == nil && host != "" && port != "" {
		var t Target
		if t, err = Canonical("http://" + net.JoinHostPort(host, port) + "/"); err == nil {
			return t.Address(), nil
		}
	}
	return "", fail(Invalid, "%q is not a host with a port, such as 127.0.0.1:9200 or wiki.lan:443.", shorten(s, 80))
}
