package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// admit checks all of a request that can be checked without the network.
func (g *Guard) admit(rules *Rules, method string, t Target) error {
	if g.level == None {
		return fail(Denied, "Plugins of this host open no connections (egress: none).")
	}
	if err := allowed(rules, method, t); err != nil {
		return err
	}
	if g.local[t.Address()] {
		return nil
	}
	if slices.Contains(closedPorts, t.Port) {
		return fail(Denied, "The port %d belongs to another protocol; it is not reached from here.", t.Port)
	}
	if t.addr.IsValid() {
		return g.admitAddress(rules, t, t.addr)
	}
	if t.Host == "localhost" || strings.HasSuffix(t.Host, ".localhost") {
		return refused(t, Loopback)
	}
	return nil
}

// admitAddress checks one address of a target.
func (g *Guard) admitAddress(rules *Rules, t Target, a netip.Addr) error {
	class := Classify(a)
	if class == Global || class == PrivateNet && g.level == Private && namedPrivate(rules, t, a) {
		return nil
	}
	return refused(t, class)
}

func refused(t Target, class Class) error {
	what := "it is"
	if !t.addr.IsValid() {
		what = "its name leads to"
	}
	hint := ""
	if class == PrivateNet {
		hint = " An operator can open it: egress: private, and the host named in the grant."
	}
	return fail(Denied, "%s is not reached from here: %s %s.%s", t.Host, what, class, hint)
}

// addresses returns where a target may be dialled: all addresses of its name,
// each of them checked. One that is refused refuses all, because a name that
// leads to both is no accident.
func (g *Guard) addresses(ctx context.Context, rules *Rules, t Target) ([]netip.AddrPort, error) {
	found := []netip.Addr{t.addr}
	if !t.addr.IsValid() {
		var err error
		// The dot keeps the resolver from trying the name below its search domains.
		if found, err = g.resolver.LookupNetIP(ctx, "ip", t.Host+"."); err != nil || len(found) == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fail(Unresolved, "The name %s is not known to the name servers of this machine.",
				t.Host).from(err)
		}
	}
	var list []netip.AddrPort
	for _, a := range found {
		a = a.Unmap() // resolvers write IPv4 addresses in both forms
		if !g.local[t.Address()] {
			if err := g.admitAddress(rules, t, a); err != nil {
				return nil, err
			}
		}
		list = append(list, netip.AddrPortFrom(a, uint16(t.Port)))
	}
	return list[:min(len(list), maxAddresses)], nil
}

// dial connects to the first of the addresses that answers. Each gets half of
// what connecting may take, so that a dead one leaves time for the next.
func (g *Guard) dial(ctx context.Context, list []netip.AddrPort) (net.Conn, error) {
	var errs []error
	for _, a := range list {
		one, cancel := context.WithTimeout(ctx, dialTimeout/2)
		conn, err := g.dialer.DialContext(one, "tcp", a.String())
		cancel()
		if err == nil {
			return conn, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// hostPort is used in messages.
func hostPort(t Target) string {
	if t.defaultPort() {
		return t.Host
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
}
