// Package egresstest is the hostile world for tests of what goes out: a web
// server that does everything wrong, names that lead where nobody may go, and a
// dialer that tells where connections went.
//
// It knows nothing of rules; what it offers is reached through an egress.Guard.
package egresstest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Forbidden are addresses of every class that no plugin may reach, in the forms
// in which they are written. Names are those of Names.
func Forbidden() []string {
	list := []string{
		"http://localhost/", "http://LOCALHOST:8080/", "http://localhost./", "http://a.localhost/",
		"http://ip6-localhost.test/",
		"http://127.0.0.1/", "http://127.0.0.1:22/", "http://127.1.2.3/", "http://127.1/", "http://127.0.1/",
		"http://2130706433/",
		"http://0x7f000001/", "http://0x7f.0.0.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/",
		"http://127.0.0.1./",
		"http://0/", "http://0.0.0.0/", "http://0.1.2.3/", "http://127.0.0.01/", "http://127.0.0.0x1/", "http://0x/",
		"http://1/",
		"http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/", "http://loc\u00adalhost/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
		"http://%31%32%37.0.0.1/",
		"http://10.0.0.1/", "http://10.255.255.255:9200/", "http://172.16.0.1/", "http://172.31.255.254/",
		"http://192.168.1.1/",
		"http://100.64.0.1/", "http://100.127.255.254/", "http://169.254.1.1/",
		"http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/v2/credentials",
		"http://100.100.100.200/latest/meta-data/",
		"http://192.0.0.192/opc/v2/", "http://168.63.129.16/machine", "http://2852039166/", "http://0xA9FEA9FE/",
		"http://0251.0376.0251.0376/",
		"http://metadata.test/computeMetadata/v1/", "http://192.0.0.8/", "http://192.0.2.1/", "http://198.51.100.7/",
		"http://203.0.113.9/",
		"http://198.18.0.1/", "http://198.19.255.255/", "http://192.88.99.1/", "http://224.0.0.1/",
		"http://239.255.255.250:1900/",
		"http://240.0.0.1/", "http://255.255.255.255/",
		"http://[::]/", "http://[::1]/", "http://[::1]:8080/", "http://[0:0:0:0:0:0:0:1]/",
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
		"http://[::ffff:10.0.0.1]/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:8.8.8.8]/",
		"http://[::127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/",
		"http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1::a00:1]/",
		"http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::1]/",
		"http://[2001::7f00:1]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[fe80::1]/",
		"http://[fe80::1%25eth0]/", "http://[::1%25lo]/",
		"http://[fec0::1]/", "http://[fc00::1]/", "http://[fd12:3456:789a::1]/",
		"http://[fd00:ec2::254]/latest/meta-data/", "http://[fd20:ce::254]/",
		"http://[ff02::1]/", "http://[ff0e::1]/", "http://[100::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/",
		"http://[2001:2::1]/", "http://[2001:10::1]/",
		"http://[5f00::1]/", "http://[4000::1]/", "http://[2606:4700::5efe:10.0.0.1]/",
		"http://user:pass@example.test/", "http://example.test@127.0.0.1/", "http://127.0.0.1@example.test/",
		"http://example.test\\@127.0.0.1/",
		"http://example.test:0/", "http://example.test:65536/", "http://example.test:25/", "http://example.test:6379/",
		"http://example.test:22/",
		"file:///etc/passwd", "ftp://example.test/", "gopher://127.0.0.1:6379/_x", "data:text/html,x",
		"javascript:alert(1)", "unix:///run/docker.sock",
		"http:///path", "http://", "//127.0.0.1/", "http://exa mple.test/", "http://example..test/", "http://[::1/",
		"http://-/\x00",
	}
	for name := range names {
		list = append(list, "http://"+name+"/")
	}
	return list
}

// names lead to addresses that no plugin may reach, if only among others.
var names = map[string][]string{
	"loopback.test": {"127.0.0.1"}, "loopback6.test": {"::1"}, "ip6-localhost.test": {"::1"},
	"private.test":  {"10.1.2.3"},
	"metadata.test": {"169.254.169.254"}, "mapped.test": {"::ffff:127.0.0.1"}, "nat64.test": {"64:ff9b::7f00:1"},
	"sixtofour.test": {"2002:7f00:1::"},
	"ula.test":       {"fd12::1"}, "linklocal.test": {"fe80::1"}, "mixed.test": {"93.184.215.14", "127.0.0.1"},
	"mixed6.test": {"2606:2800:21f::1", "::1"},
	"zero.test":   {"0.0.0.0"}, "cgnat.test": {"100.64.9.9"}, "multicast.test": {"224.0.0.251"}, "nowhere.test": {},
}

// Names is a resolver of the names of Forbidden, of *.public.test as a public
// address, and of what is put into More. It is safe for concurrent use.
type Names struct {
	mu sync.Mutex
	// asked are the names that were looked up.
	asked []string
	// More has further names; each answer is used once, the last one for ever.
	More map[string][][]string
}

// PublicAddress is where the names below public.test lead.
const PublicAddress = "93.184.215.14"

// LookupNetIP implements egress.Resolver.
func (n *Names) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.TrimSuffix(host, ".")
	n.asked = append(n.asked, name)
	answers, known := names[name]
	if more := n.More[name]; len(more) > 0 {
		answers, known = more[0], true
		if len(more) > 1 {
			n.More[name] = more[1:]
		}
	}
	if strings.HasSuffix(name, ".public.test") {
		answers, known = []string{PublicAddress}, true
	}
	if !known || len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	var list []netip.Addr
	for _, a := range answers {
		list = append(list, netip.MustParseAddr(a))
	}
	return list, ctx.Err()
}

// Asked returns the names that were looked up, in order.
func (n *Names) Asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.asked...)
}

// Dialer dials for real and remembers where to. An address of Instead is dialled
// as another. It is safe for concurrent use.
type Dialer struct {
	// Instead leads addresses to others, such as a public one to a server of the
	// test. What is not on it and not loopback is an error: tests reach nothing
	// outside.
	Instead map[string]string

	mu     sync.Mutex
	dialed []string
}

// DialContext implements egress.Dialer.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	d.dialed = append(d.dialed, address)
	to, led := d.Instead[address]
	d.mu.Unlock()
	if !led {
		to = address
	}
	if a, err := netip.ParseAddrPort(to); err != nil || !a.Addr().IsLoopback() {
		return nil, fmt.Errorf("a test would dial %s", to)
	}
	return new(net.Dialer).DialContext(ctx, network, to)
}

// Dialed returns where connections went, in order.
func (d *Dialer) Dialed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.dialed...)
}
