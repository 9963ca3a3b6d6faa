package egress

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// MaxURLBytes is how long an address may be.
const MaxURLBytes = 8192

// Target is a URL in the one form in which it is compared, dialled and sent: the
// scheme and host in lower case, names in ASCII (punycode), the default port and
// the fragment left out, dot segments resolved.
type Target struct {
	Scheme string
	// Host is a name, or an IP address without brackets.
	Host string
	// Port is always set, 1 to 65535.
	Port int
	// Path begins with a slash and keeps its escapes, Query has no question mark.
	Path, Query string

	// addr is set where the host is an IP address.
	addr netip.Addr
}

// Canonical reads an absolute http or https URL. It returns an *Error of kind
// Invalid with a sentence when it is none, or when two readers could take it for
// two different addresses.
func Canonical(raw string) (Target, error) {
	if len(raw) > MaxURLBytes {
		return Target{}, fail(Invalid, "The address has %d bytes, more than %d.", len(raw), MaxURLBytes)
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return Target{}, fail(Invalid, "%q is not an address. Write one such as https://example.org/page.",
			shorten(raw, 120))
	}
	return fromURL(u)
}

func fromURL(u *url.URL) (Target, error) {
	t := Target{Scheme: strings.ToLower(u.Scheme)}
	switch {
	case t.Scheme != "http" && t.Scheme != "https":
		return t, fail(Invalid, "%q is not a web address: it must begin with http:// or https://.",
			shorten(u.Redacted(), 120))
	case u.Opaque != "" || u.Host == "":
		return t, fail(Invalid, "The address names no host. Write one such as https://example.org/page.")
	case u.User != nil:
		return t, fail(Invalid, "The address holds a user name or a password before @. Leave them out.")
	}
	var err error
	if err = t.setHost(u.Hostname(), strings.HasPrefix(u.Host, "[")); err != nil {
		return t, err
	}
	if t.Port, err = portOf(u, t.Scheme); err != nil {
		return t, err
	}
	if t.Path, err = canonicalPath(u.EscapedPath()); err != nil {
		return t, err
	}
	t.Query = escapeQuery(u.RawQuery)
	if len(t.String()) > MaxURLBytes {
		return t, fail(Invalid, "The address has more than %d bytes.", MaxURLBytes)
	}
	return t, nil
}

// setHost reads a host as it stands in a URL.
func (t *Target) setHost(host string, bracketed bool) error {
	if bracketed || strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return fail(Invalid, "The host [%s] is not an IPv6 address without a zone.", shorten(host, 80))
		}
		t.addr, t.Host = a, a.String()
		return nil
	}
	name, err := asciiName(host)
	if err != nil {
		return err
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !looksNumeric(last) {
		t.Host = name
		return nil
	}
	// Anything that ends like a number is read as IPv4 by some programs: octal,
	// hexadecimal, one number for all. Only the plain form is taken.
	a, err := netip.ParseAddr(name)
	if err != nil || !a.Is4() {
		return fail(Invalid, "The host %s looks like an IPv4 address and is none of the form 192.0.2.1.",
			shorten(name, 80))
	}
	t.addr, t.Host = a, a.String()
	return nil
}

// names reads names as browsers do: mapped to lower case and ASCII, with the
// checks of the lookup profile; underscores occur in names that are in use.
var names = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.Transitional(false), idna.BidiRule())

func asciiName(host string) (string, error) {
	name, err := names.ToASCII(host)
	if err == nil {
		// What does not stay as it is was never a name: its bytes are no text, or
		// its punycode is not what a name has.
		var again string
		if again, err = names.ToASCII(name); err == nil && again != name {
			err = errors.New("it has no stable form")
		}
	}
	if err != nil {
		return "", fail(Invalid, "The host %q is not a name.", shorten(host, 80)).from(err)
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "" || len(name) > 253 {
		return "", fail(Invalid, "The host %q is not a name.", shorten(host, 80))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notInLabel) {
			return "", fail(Invalid, "The host %q is not a name.", shorten(host, 80))
		}
	}
	return name, nil
}

func notInLabel(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

// looksNumeric tells whether a last label is taken for a number: digits, or a
// hexadecimal number, even an empty one.
func looksNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return !strings.ContainsFunc(hex, func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f') })
	}
	return !strings.ContainsFunc(label, func(r rune) bool { return r < '0' || r > '9' })
}

func portOf(u *url.URL, scheme string) (int, error) {
	text := u.Port()
	if text == "" {
		if scheme == "https" {
			return 443, nil
		}
		return 80, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, fail(Invalid, "The port %s is not between 1 and 65535.", shorten(text, 12))
	}
	return n, nil
}

// Address is host:port.
func (t Target) Address() string { return net.JoinHostPort(t.Host, strconv.Itoa(t.Port)) }

// Origin is the scheme, host and port.
func (t Target) Origin() string { return t.Scheme + "://" + t.Address() }

func (t Target) defaultPort() bool {
	return t.Scheme == "http" && t.Port == 80 || t.Scheme == "https" && t.Port == 443
}

// authority is the host as a URL and the Host header have it.
func (t Target) authority() string {
	if !t.defaultPort() {
		return t.Address()
	}
	if t.addr.Is6() {
		return "[" + t.Host + "]"
	}
	return t.Host
}

// String is the URL.
func (t Target) String() string {
	s := t.Scheme + "://" + t.authority() + t.Path
	if t.Query != "" {
		s += "?" + t.Query
	}
	return s
}

// url is the same for net/http, with the path's escapes kept.
func (t Target) url() *url.URL {
	u := &url.URL{Scheme: t.Scheme, Host: t.authority(), RawQuery: t.Query}
	u.Path, _ = url.PathUnescape(t.Path) // canonicalPath leaves only good escapes
	u.RawPath = t.Path
	return u
}

// canonicalPath resolves dot segments, however they are escaped, and writes
// escapes in one way: unreserved characters bare, hexadecimal digits in upper
// case (RFC 3986, section 6.2.2).
func canonicalPath(escaped string) (string, error) {
	if escaped == "" {
		return "/", nil
	}
	if !strings.HasPrefix(escaped, "/") || strings.Contains(escaped, `\`) {
		return "", fail(Invalid, "The path of the address holds a backslash or does not begin with a slash.")
	}
	var kept []string
	segments := strings.Split(escaped[1:], "/")
	for i, s := range segments {
		s, err := canonicalEscapes(s)
		if err != nil {
			return "", err
		}
		last := i == len(segments)-1
		switch s {
		case ".", "..":
			if s == ".." && len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/"), nil
}

func canonicalEscapes(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' {
			if c <= ' ' || c >= 0x7f {
				b.WriteString(percent(c))
			} else {
				b.WriteByte(c)
			}
			continue
		}
		n, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
		if err != nil || i+3 > len(s) {
			return "", fail(Invalid, "The path of the address has a broken escape.")
		}
		i += 2
		if unreserved(byte(n)) {
			b.WriteByte(byte(n))
		} else {
			b.WriteString(percent(byte(n)))
		}
	}
	return b.String(), nil
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}

func percent(c byte) string {
	const hex = "0123456789ABCDEF"
	return string([]byte{'%', hex[c>>4], hex[c&15]})
}

// escapeQuery escapes what may not stand in a request line.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			b.WriteString(percent(c))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Shown is the URL for people and records: the values of its query are left out,
// because secrets stand there.
func (t Target) Shown() string {
	s := t.Scheme + "://" + t.authority() + t.Path
	var keys []string
	for pair := range strings.SplitSeq(t.Query, "&") {
		key, _, has := strings.Cut(pair, "=")
		if !has { // a bare word may be the secret itself
			key = "…"
		} else {
			key += "=…"
		}
		if pair != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		s += "?" + strings.Join(keys, "&")
	}
	return shorten(s, 300)
}
