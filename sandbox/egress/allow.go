package egress

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Rules are the right to make requests: what manifest and grant have in common.
type Rules = capability.HTTPParams

// allowed returns an *Error of kind Denied unless a rule of each list lets the
// request through.
func allowed(rules *Rules, method string, t Target) error {
	if rules == nil {
		return fail(Denied, "No address was granted to this plugin.")
	}
	for _, list := range append([][]capability.HTTPRule{rules.Allow}, rules.Also...) {
		if !slices.ContainsFunc(list, func(r capability.HTTPRule) bool { return matches(r, method, t) }) {
			return fail(Denied, "%s %s is not on the list of what this plugin may request.", method, t.Shown())
		}
	}
	return nil
}

func matches(r capability.HTTPRule, method string, t Target) bool {
	switch {
	case r.GraphQL != nil:
		// The body is not read here, so such a rule lets nothing through.
		return false
	case r.Scheme != "" && r.Scheme != t.Scheme,
		r.Port != 0 && r.Port != int64(t.Port),
		len(r.Methods) > 0 && !slices.Contains(r.Methods, method):
		return false
	}
	return hostMatches(r.Host, t) && pathMatches(r.PathPrefix, t.Path)
}

// hostMatches compares whole labels. *.example.org has the names below
// example.org and not itself; an IP address matches only itself and *.
func hostMatches(pattern string, t Target) bool {
	if pattern == "*" {
		return true
	}
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		name, err := asciiName(below)
		return err == nil && !t.addr.IsValid() && strings.HasSuffix(t.Host, "."+name)
	}
	var p Target
	return p.setHost(strings.Trim(pattern, "[]"), strings.Contains(pattern, ":")) == nil && p.Host == t.Host
}

// pathMatches compares whole segments: /a has /a and /a/b, not /ab. A path whose
// escapes a server could read as more segments matches only the prefix /.
func pathMatches(prefix, path string) bool {
	if prefix == "" || prefix == "/" {
		return true
	}
	canonical, err := canonicalPath(prefix)
	if err != nil || strings.Contains(path, "%2F") || strings.Contains(path, "%5C") || strings.Contains(path, "%25") {
		return false
	}
	return path == canonical || strings.HasPrefix(path, strings.TrimSuffix(canonical, "/")+"/")
}

// namedPrivate tells whether the right names a host on a private network: by its
// name, its address, or a network that contains the address. A * names nobody.
func namedPrivate(rules *Rules, t Target, a netip.Addr) bool {
	return slices.ContainsFunc(rules.PrivateNetworks, func(named string) bool {
		if p, err := netip.ParsePrefix(named); err == nil {
			return p.Contains(a)
		}
		return named != "*" && hostMatches(named, t)
	})
}

// closedPorts are those that the Fetch standard keeps browsers from: what listens
// there may take a request for commands of its own protocol.
var closedPorts = []int{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
	111, 113,
	115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
	554, 556,
	563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566,
	6665, 6666, 6667,
	6668, 6669, 6679, 6697, 10080, 11211,
}
