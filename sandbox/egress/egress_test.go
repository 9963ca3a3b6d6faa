package egress_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/egress/egresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var everything = &egress.Rules{Allow: []capability.HTTPRule{{Host: "*"}}}

// world is a guard in the hostile world.
type world struct {
	*egress.Guard
	names  *egresstest.Names
	dialer *egresstest.Dialer
	server *httptest.Server
}

// host is the server's host and port.
func (w *world) host() string { return strings.TrimPrefix(w.server.URL, "http://") }

// open starts a server that plugins may reach as a local service.
func open(t *testing.T, change ...func(*egress.Config)) *world {
	t.Helper()
	w := &world{names: &egresstest.Names{}, dialer: &egresstest.Dialer{}, server: egresstest.Server()}
	t.Cleanup(w.server.Close)
	c := egress.Config{LocalServices: []string{w.host()}, Resolver: w.names, Dialer: w.dialer, Timeout: 2 * time.Minute}
	for _, f := range change {
		f(&c)
	}
	var err error
	if w.Guard, err = egress.New(c); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) get(t *testing.T, path string) (egress.Response, error) {
	t.Helper()
	return w.Fetch(t.Context(), egress.Request{URL: w.server.URL + path, Rules: everything, MaxBytes: 1 << 20})
}

func wantKind(t *testing.T, err error, kind egress.Kind) {
	t.Helper()
	var e *egress.Error
	if !errors.As(err, &e) || e.Kind != kind || len(e.Message) < 15 {
		t.Errorf("error is %T %v, want kind %s with a sentence", err, err, kind)
	}
}

func TestForbiddenTargetsAreNeverDialled(t *testing.T) {
	w := open(t)
	list := egresstest.Forbidden()
	if len(list) < 60 {
		t.Fatalf("only %d targets", len(list))
	}
	for _, target := range list {
		_, err := w.Fetch(t.Context(), egress.Request{URL: target, Rules: everything})
		var e *egress.Error
		if !errors.As(err, &e) || e.Kind != egress.Denied && e.Kind != egress.Invalid && e.Kind != egress.Unresolved {
			t.Errorf("%q: %v", target, err)
		}
	}
	if dialed := w.dialer.Dialed(); len(dialed) > 0 {
		t.Errorf("dialled %q", dialed)
	}
}

func TestRedirectsToForbiddenTargetsAreNotFollowed(t *testing.T) {
	w := open(t)
	for _, target := range egresstest.Forbidden() {
		if target == "//127.0.0.1/" || target == "http:///path" || target == "http://" {
			continue // relative references with a meaning of their own
		}
		for _, status := range []string{"301", "302", "303", "307", "308"} {
			_, err := w.get(t, "/to?s="+status+"&u="+url.QueryEscape(target))
			var e *egress.Error
			if !errors.As(err, &e) || e.Kind == egress.Timeout {
				t.Errorf("%s to %q: %v", status, target, err)
			}
		}
	}
	for _, address := range w.dialer.Dialed() {
		if address != w.host() {
			t.Errorf("dialled %s", address)
		}
	}
}

func TestLevels(t *testing.T) {
	named := *everything
	named.PrivateNetworks = []string{"10.0.0.0/8", "private.test", "fd12::/16", "*"}
	for _, c := range []struct {
		level  egress.Level
		rules  *egress.Rules
		target string
		open   bool
	}{
		{egress.Public, everything, "http://a.public.test/", true},
		{egress.Public, &named, "http://10.1.2.3/", false},
		{egress.Private, &named, "http://10.1.2.3/", true},
		{egress.Private, &named, "http://private.test/", true},
		{egress.Private, &named, "http://ula.test/", true},
		{egress.Private, &named, "http://192.168.1.1/", false},
		{egress.Private, everything, "http://10.1.2.3/", false},
		{egress.Private, &named, "http://127.0.0.1/", false},
		{egress.Private, &named, "http://loopback.test/", false},
		{egress.Private, &named, "http://[fd00:ec2::254]/", false},
		{egress.Private, &named, "http://169.254.169.254/", false},
		{egress.None, &named, "http://a.public.test/", false},
		{egress.None, &named, "http://10.1.2.3/", false},
	} {
		w := open(t, func(cfg *egress.Config) { cfg.Level = c.level })
		_, err := w.Fetch(t.Context(), egress.Request{URL: c.target, Rules: c.rules})
		dialed := len(w.dialer.Dialed()) > 0
		if dialed != c.open {
			t.Errorf("%s %s: dialled %v, %v", c.level, c.target, dialed, err)
		}
	}
	w := open(t, func(cfg *egress.Config) { cfg.Level = egress.None })
	_, err := w.get(t, "/ok")
	wantKind(t, err, egress.Denied) // at none a local service is closed too
}

func TestConfigurationIsChecked(t *testing.T) {
	for _, c := range []egress.Config{
		{Level: "all"}, {LocalServices: []string{"localhost"}}, {LocalServices: []string{"*:80"}},
		{LocalServices: []string{"http://a:80"}},
		{LocalServices: []string{"a:0"}}, {LocalServices: []string{":80"}}, {LocalServices: []string{"u@a:80"}},
		{LocalServices: []string{"127.1:80"}},
	} {
		if _, err := egress.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	for _, s := range []string{"localhost:8080", "127.0.0.1:9200", "[::1]:80", "WIKI.lan:443"} {
		if err := egress.CheckLocalService(s); err != nil {
			t.Error(err)
		}
	}
}

func TestALocalServiceIsOneHostAndPort(t *testing.T) {
	w := open(t)
	if r, err := w.get(t, "/ok"); err != nil || string(r.Body) != egresstest.Text {
		t.Fatalf("%+v, %v", r, err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, target := range []string{other.URL, strings.Replace(w.server.URL, "127.0.0.1", "127.0.0.2", 1),
		strings.Replace(w.server.URL, "127.0.0.1", "localhost", 1)} {
		_, err := w.Fetch(t.Context(), egress.Request{URL: target, Rules: everything})
		wantKind(t, err, egress.Denied)
	}
	_, err := w.Fetch(t.Context(), egress.Request{URL: w.server.URL,
		Rules: &egress.Rules{Allow: []capability.HTTPRule{{Host: "example.org"}}}})
	wantKind(t, err, egress.Denied)
}

func TestANameThatChangesItsAnswerIsDialledWhereItWasChecked(t *testing.T) {
	w := open(t, func(c *egress.Config) { c.LocalServices = nil })
	public := netip.AddrPortFrom(netip.MustParseAddr(egresstest.PublicAddress), 80).String()
	w.dialer.Instead = map[string]string{public: w.host()}
	w.names.More = map[string][][]string{"rebind.test": {{egresstest.PublicAddress}, {"127.0.0.1"}}}
	r, err := w.Fetch(t.Context(), egress.Request{URL: "http://rebind.test/ok", Rules: everything})
	if err != nil || string(r.Body) != egresstest.Text {
		t.Fatalf("%+v, %v", r, err)
	}
	if asked := w.names.Asked(); len(asked) != 1 {
		t.Errorf("the name was looked up %d times for one request", len(asked))
	}
	_, err = w.Fetch(t.Context(), egress.Request{URL: "http://rebind.test/ok", Rules: everything})
	wantKind(t, err, egress.Denied)
	// Between two hops of one request.
	w.names.More = map[string][][]string{"rebind.test": {{egresstest.PublicAddress}, {"10.0.0.1"}}}
	_, err = w.Fetch(t.Context(), egress.Request{URL: "http://rebind.test/to?u=/ok", Rules: everything})
	wantKind(t, err, egress.Denied)
	for _, address := range w.dialer.Dialed() {
		if address != public {
			t.Errorf("dialled %s", address)
		}
	}
}

func TestHostileServersGiveTypedErrors(t *testing.T) {
	w := open(t)
	for path, kind := range map[string]egress.Kind{
		"/gzip-bomb": egress.Bomb, "/br-bomb": egress.Bomb, "/deflate-bomb": egress.Bomb,
		"/hops/20": egress.Redirects, "/to?u=http://%5B": egress.Redirects, "/to?u=%25zz": egress.Redirects,
		"/long": egress.Broken, "/garbage": egress.Broken, "/hangup": egress.Broken, "/flood": egress.Broken,
		"/continues": egress.Broken,
		"/chunks":    egress.Broken, "/gzip-lie": egress.Broken, "/br-lie": egress.Broken, "/klingon": egress.Broken,
		"/twice": egress.Broken,
	} {
		t.Run(path, func(t *testing.T) {
			_, err := w.get(t, path)
			wantKind(t, err, kind)
		})
	}
	for path, want := range map[string]string{
		"/ok": egresstest.Text, "/gzip": egresstest.Text, "/br": egresstest.Text, "/deflate": egresstest.Text,
		"/raw-deflate": egresstest.Text,
		"/hops/10":     egresstest.Text, "/short": egresstest.Text[:8], "/cookie": `cookie: ""`,
	} {
		if r, err := w.get(t, path); err != nil || string(r.Body) != want || r.Truncated {
			t.Errorf("%s: %q %v", path, r.Body, err)
		}
	}
	for _, path := range []string{"/endless", "/fifty"} {
		if r, err := w.get(t, path); err != nil || len(r.Body) != 1<<20 || !r.Truncated {
			t.Errorf("%s: %d bytes, %v", path, len(r.Body), err)
		}
	}
	if r, err := w.get(t, "/refresh"); err != nil || r.Status != 200 || !strings.HasSuffix(r.URL, "/refresh") {
		t.Errorf("a refresh was followed: %+v, %v", r, err)
	}
}

func TestTimeRunsOut(t *testing.T) {
	w := open(t, func(c *egress.Config) { c.Timeout = 100 * time.Millisecond })
	for _, path := range []string{"/slow", "/drip"} {
		_, err := w.get(t, path)
		wantKind(t, err, egress.Timeout)
	}
}

func TestCancellingEndsTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	entered := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	defer server.Close()
	w := open(t, func(c *egress.Config) { c.LocalServices = []string{strings.TrimPrefix(server.URL, "http://")} })
	done := make(chan error, 1)
	go func() {
		_, err := w.Fetch(ctx, egress.Request{URL: server.URL, Rules: everything})
		done <- err
	}()
	select {
	case <-entered:
	case err := <-done:
		t.Fatalf("the request did not reach the server: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestCaps(t *testing.T) {
	w := open(t)
	rules := *everything
	rules.MaxResponseBytes = 10
	r, err := w.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/ok", Rules: &rules, MaxBytes: 1000})
	if err != nil || string(r.Body) != egresstest.Text[:10] || !r.Truncated {
		t.Errorf("%q %v %v", r.Body, r.Truncated, err)
	}
	r, err = w.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/gzip", Rules: everything, MaxBytes: 5})
	if err != nil || string(r.Body) != egresstest.Text[:5] || !r.Truncated {
		t.Errorf("%q %v %v", r.Body, r.Truncated, err)
	}
}

func TestRedirectsChangeTheMethodAndDropCredentials(t *testing.T) {
	w := open(t)
	other := httptest.NewServer(egresstest.Handler())
	defer other.Close()
	w2 := open(t, func(c *egress.Config) {
		c.LocalServices = []string{w.host(), strings.TrimPrefix(other.URL, "http://")}
	})
	do := func(method, path, body string) string {
		t.Helper()
		r, err := w2.Fetch(t.Context(), egress.Request{
			URL: w.server.URL + path, Method: method, Body: []byte(body), Rules: everything,
			Headers: map[string]string{"Authorization": "Bearer secret", "X-Key": "secret", "Cookie": "secret",
				"Content-Type": "text/x", "Accept": "text/y"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Body)
	}
	for status, method := range map[string]string{"301": "GET", "302": "GET", "303": "GET", "307": "POST",
		"308": "POST"} {
		echo := do("POST", "/to?s="+status+"&u=/echo", "the body")
		if !strings.HasPrefix(echo, method+" /echo") || strings.Contains(echo, "the body") != (method == "POST") ||
			!strings.Contains(echo, "Authorization: Bearer secret") {
			t.Errorf("%s: %s", status, echo)
		}
		echo = do("POST", "/to?s="+status+"&u="+url.QueryEscape(other.URL+"/echo"), "the body")
		if strings.Contains(echo, "secret") || !strings.Contains(echo, "Accept: text/y") {
			t.Errorf("%s to another origin: %s", status, echo)
		}
	}
	readOnly := &egress.Rules{Allow: []capability.HTTPRule{{Host: "*", PathPrefix: "/to", Methods: []string{"GET"}}}}
	_, err := w2.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/to?u=/echo", Rules: readOnly})
	wantKind(t, err, egress.Denied)
}

func TestHeadersThatBelongToTheHostAreRefused(t *testing.T) {
	w := open(t)
	for _, name := range []string{"Host", "host", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding",
		"Upgrade", "Expect", "Content-Length",
		"Proxy-Authorization", "proxy-connection", "X-HTTP-Method-Override", "x-http-method", "X-Method-Override",
		"X_HTTP_Method_Override", "X-Forwarded-For",
		"Forwarded", "X-Original-URL", "X-Rewrite-Url", "Sec-Fetch-Site", "Via"} {
		_, err := w.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/echo", Rules: everything,
			Headers: map[string]string{name: "x"}})
		wantKind(t, err, egress.Denied)
	}
	for name, value := range map[string]string{"": "x", "a b": "x", "A:": "x", "X": "a\r\nHost: b", "X-Y": "a\nb",
		"X-Z": "\x00"} {
		_, err := w.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/echo", Rules: everything,
			Headers: map[string]string{name: value}})
		wantKind(t, err, egress.Invalid)
	}
	for _, method := range []string{"CONNECT", "TRACE", "track", "G T", "GET\r\n", "PRI"} {
		_, err := w.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/echo", Rules: everything, Method: method})
		wantKind(t, err, egress.Invalid)
	}
	r, err := w.Fetch(t.Context(), egress.Request{URL: w.server.URL + "/echo", Rules: everything, Method: "put",
		Body:    []byte("b"),
		Headers: map[string]string{"Accept-Encoding": "zstd", "X-Own": "yes"}})
	if echo := string(r.Body); err != nil || !strings.HasPrefix(echo, "PUT /echo HTTP/1.1") ||
		!strings.Contains(echo, "Accept-Encoding: gzip, deflate, br\r\n") || !strings.Contains(echo, "X-Own: yes") {
		t.Errorf("%s %v", echo, err)
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1/")
	}
	w := open(t)
	if _, err := w.get(t, "/ok"); err != nil {
		t.Error(err)
	}
	client := egress.ModelClient(w.server.URL)
	defer client.CloseIdleConnections()
	if res, err := client.Get(w.server.URL + "/ok"); err != nil {
		t.Error(err)
	} else {
		res.Body.Close()
	}
}

func TestHTTPSAndHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(egresstest.Handler())
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	local := func(c *egress.Config) { c.LocalServices = []string{strings.TrimPrefix(server.URL, "https://")} }
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	w := open(t, local, func(c *egress.Config) { c.Roots = roots })
	r, err := w.Fetch(t.Context(), egress.Request{URL: server.URL + "/echo", Rules: everything})
	if err != nil || !bytes.Contains(r.Body, []byte("GET /echo HTTP/2.0")) {
		t.Errorf("%s %v", r.Body, err)
	}
	_, err = open(t, local).Fetch(t.Context(), egress.Request{URL: server.URL + "/echo", Rules: everything})
	wantKind(t, err, egress.Unreachable)
	_, err = w.Fetch(t.Context(), egress.Request{URL: strings.Replace(server.URL, "https", "http", 1),
		Rules: everything})
	if err != nil { // Go's server answers plain HTTP with 400
		t.Error(err)
	}
	plain := open(t)
	_, err = plain.Fetch(t.Context(), egress.Request{URL: strings.Replace(plain.server.URL, "http", "https", 1),
		Rules: everything})
	wantKind(t, err, egress.Unreachable)
}

func TestRate(t *testing.T) {
	now := time.Unix(0, 0)
	r := egress.NewRate(func() time.Time { return now })
	for range 3 {
		if !r.Take("a", 3) {
			t.Fatal("what was left was refused")
		}
	}
	if r.Take("a", 3) || !r.Take("b", 3) {
		t.Error("one user's requests are not counted by themselves")
	}
	now = now.Add(20 * time.Second)
	if !r.Take("a", 3) || r.Take("a", 3) {
		t.Error("a third of a minute refills one of three")
	}
}
