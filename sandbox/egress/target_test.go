package egress

import (
	"bytes"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func TestCanonicalForms(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTP://Example.ORG":                       "http://example.org/",
		"https://example.org:443/a?b#c":            "https://example.org/a?b",
		"http://example.org:80":                    "http://example.org/",
		"http://example.org:0080/":                 "http://example.org/",
		"http://example.org:8080":                  "http://example.org:8080/",
		"http://example.org./":                     "http://example.org/",
		"http://bücher.example/":                   "http://xn--bcher-kva.example/",
		"http://xn--bcher-kva.example/":            "http://xn--bcher-kva.example/",
		"https://аpple.com/":                       "https://xn--pple-43d.com/",
		"http://ＥＸＡＭＰＬＥ.org/":                      "http://example.org/",
		"http://my_host.example/":                  "http://my_host.example/",
		"http://[2606:4700:0:0::1]/":               "http://[2606:4700::1]/",
		"http://[2606:4700::1]:81/":                "http://[2606:4700::1]:81/",
		"http://a.example/x/../y/./z":              "http://a.example/y/z",
		"http://a.example/../../etc":               "http://a.example/etc",
		"http://a.example/x/%2e%2E/y":              "http://a.example/y",
		"http://a.example/x/..":                    "http://a.example/",
		"http://a.example/%41%7e%2f%3f%20":         "http://a.example/A~%2F%3F%20",
		"http://a.example/ü b":                     "http://a.example/%C3%BC%20b",
		"http://a.example/?q=a b&r=ü\"":            "http://a.example/?q=a%20b&r=%C3%BC%22",
		"  http://a.example/  ":                    "http://a.example/",
		"http://a.example//b":                      "http://a.example//b",
		"http://0x7f.example/":                     "http://0x7f.example/",
		"http://1.2.3.4.example/":                  "http://1.2.3.4.example/",
		"http://a.example/x;y=%2e%2e/z":            "http://a.example/x;y=../z",
		"http://8.8.8.8/":                          "http://8.8.8.8/",
		"http://a.example?x=1":                     "http://a.example/?x=1",
		"https://faß.example/":                     "https://xn--fa-hia.example/",
		"http://a.example/wiki/C%2B%2B_(language)": "http://a.example/wiki/C%2B%2B_(language)",
	} {
		got, err := Canonical(raw)
		if err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", raw, got, err, want)
		}
		if u := got.url().String(); err == nil && u != got.String() {
			t.Errorf("%q is sent as %q", got, u)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, public := range []string{"8.8.8.8", "1.1.1.1", "93.184.215.14", "172.32.0.1", "100.63.255.255",
		"100.128.0.1", "198.20.0.1", "223.255.255.255",
		"2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2620:fe::fe", "2606:4700::5efe:8.8.8.8"} {
		if c := Classify(netip.MustParseAddr(public)); c != Global {
			t.Errorf("%s is %s", public, c)
		}
	}
	for address, want := range map[string]Class{
		"10.0.0.1": PrivateNet, "fd00::1": PrivateNet, "127.0.0.1": Loopback, "::1": Loopback,
		"169.254.169.254": Metadata, "fd00:ec2::254": Metadata,
		"::ffff:8.8.8.8": mapped, "64:ff9b::808:808": nat64, "2002:808:808::": sixToFour, "2001:0:1::": teredo,
		"2001:db8::": documentation,
	} {
		if c := Classify(netip.MustParseAddr(address)); c != want {
			t.Errorf("%s is %s, want %s", address, c, want)
		}
	}
	if Classify(netip.Addr{}) == Global || Classify(netip.MustParseAddr("fe80::1%eth0")) == Global {
		t.Error("an address that is none is public")
	}
}

func TestAllowList(t *testing.T) {
	rule := func(r capability.HTTPRule) *Rules { return &Rules{Allow: []capability.HTTPRule{r}} }
	for _, c := range []struct {
		rules       *Rules
		method, url string
		want        bool
	}{
		{rule(capability.HTTPRule{Host: "*"}), "GET", "https://a.example/", true},
		{rule(capability.HTTPRule{Host: "a.example"}), "GET", "https://A.example./x", true},
		{rule(capability.HTTPRule{Host: "A.Example"}), "GET", "https://a.example/", true},
		{rule(capability.HTTPRule{Host: "a.example"}), "GET", "https://b.a.example/", false},
		{rule(capability.HTTPRule{Host: "a.example"}), "GET", "https://aa.example/", false},
		{rule(capability.HTTPRule{Host: "*.a.example"}), "GET", "https://b.a.example/", true},
		{rule(capability.HTTPRule{Host: "*.a.example"}), "GET", "https://c.b.a.example/", true},
		{rule(capability.HTTPRule{Host: "*.a.example"}), "GET", "https://a.example/", false},
		{rule(capability.HTTPRule{Host: "*.a.example"}), "GET", "https://ba.example/", false},
		{rule(capability.HTTPRule{Host: "*.8.8"}), "GET", "https://8.8.8.8/", false},
		{rule(capability.HTTPRule{Host: "bücher.example"}), "GET", "https://xn--bcher-kva.example/", true},
		{rule(capability.HTTPRule{Host: "a.example", Scheme: "https"}), "GET", "http://a.example/", false},
		{rule(capability.HTTPRule{Host: "a.example", Port: 443}), "GET", "https://a.example/", true},
		{rule(capability.HTTPRule{Host: "a.example", Port: 443}), "GET", "https://a.example:8443/", false},
		{rule(capability.HTTPRule{Host: "*", Methods: []string{"GET"}}), "POST", "https://a.example/", false},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/api/x", true},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api/"}), "GET", "https://a.example/api/x", true},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/apix", false},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/api/../admin", false},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/api/%2e%2e/admin", false},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/api/..%2fadmin", false},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/api/%252e%252e/admin",
			false},
		{rule(capability.HTTPRule{Host: "*", PathPrefix: "/api"}), "GET", "https://a.example/%61pi/x", true},
		{rule(capability.HTTPRule{Host: "*", GraphQL: &capability.GraphQLRule{Type: "query"}}), "POST",
			"https://a.example/", false},
		{&Rules{Allow: []capability.HTTPRule{{Host: "*"}}, Also: [][]capability.HTTPRule{{{Host: "b.example"}}}}, "GET",
			"https://a.example/", false},
		{&Rules{Allow: []capability.HTTPRule{{Host: "*"}}, Also: [][]capability.HTTPRule{{}}}, "GET",
			"https://a.example/", false},
		{&Rules{}, "GET", "https://a.example/", false},
		{nil, "GET", "https://a.example/", false},
	} {
		target, err := Canonical(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := allowed(c.rules, c.method, target); (err == nil) != c.want {
			t.Errorf("%+v %s %s: %v", c.rules, c.method, c.url, err)
		}
	}
}

func TestShownHasNoValues(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example/p?key=secret&q=x&key=more": "https://a.example/p?key=…&q=…",
		"https://a.example/p?secret":                  "https://a.example/p?…",
		"https://a.example/p#secret":                  "https://a.example/p",
	} {
		target, err := Canonical(raw)
		if err != nil || target.Shown() != want {
			t.Errorf("%s is shown as %s, %v", raw, target.Shown(), err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"http://a.example/x/../y?z", "http://[::1%25lo]/", "http://0x7f.1/",
		"http://bücher。example/ü", "http://a:1/%2e%2e/%zz", "http://1.1.1.1.:80\\@x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		first, err := Canonical(raw)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Kind != Invalid {
				t.Fatalf("error is %T %v", err, err)
			}
			return
		}
		again, err := Canonical(first.String())
		if err != nil || again != first {
			t.Fatalf("%q becomes %+v and then %+v, %v", raw, first, again, err)
		}
		if strings.ContainsAny(first.String(), " @\\\"<>\r\n\x00") &&
			!strings.ContainsAny(first.Path+first.Query, "@") {
			t.Fatalf("%q becomes %q", raw, first)
		}
		if a, err := netip.ParseAddr(first.Host); err == nil && a != first.addr {
			t.Fatalf("%q has the address %s and does not know it", raw, a)
		}
		if u := first.url(); u.Host != first.authority() || u.User != nil {
			t.Fatalf("%q is dialled as %q", raw, u.Host)
		}
	})
}

func FuzzBody(f *testing.F) {
	f.Add("gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	f.Add("br", []byte("\x0b\x02\x80abc\x03"))
	f.Add("deflate", []byte("\x78\x9c\x4b\x04\x00"))
	f.Add("identity", []byte("x"))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		res := &http.Response{Header: http.Header{"Content-Encoding": {encoding}}, Body: http.NoBody}
		if len(body) > 0 {
			res.Body = readCloser{bytes.NewReader(body)}
		}
		data, truncated, err := readBody(res, 1000)
		if len(data) > 1000 || err != nil && data != nil || truncated && len(data) != 1000 {
			t.Errorf("%d bytes, truncated %v, %v", len(data), truncated, err)
		}
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
