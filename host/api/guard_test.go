package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/api/frame"
)

type ctxT = context.Context

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

func TestForeignHostNamesAreRefusedOnLoopback(t *testing.T) {
	h := newHost(t, func(c *Config) { c.Hosts = []string{"chat.example.org"} })
	for host, ok := range map[string]bool{
		"localhost:8420": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9:1": true, "[::1]:8420": true,
		"chat.example.org": true,
		"evil.example":     false, "evil.example:8420": false, "localhost.evil.example": false, "192.168.1.1": false,
		"127.0.0.1.evil.example": false,
	} {
		res, _ := h.do(h.request("GET", "/healthz", "", "Host", host))
		if (res.StatusCode == http.StatusOK) != ok {
			t.Errorf("Host %s: %d", host, res.StatusCode)
		}
	}
}

func TestOtherSitesCannotChangeAnything(t *testing.T) {
	h := newHost(t, func(c *Config) { c.Origins = []string{"https://chat.example.org"} })
	for _, test := range []struct {
		header []string
		ok     bool
	}{
		{nil, true},
		{[]string{"Origin", h.base}, true},
		{[]string{"Origin", "https://chat.example.org"}, true},
		{[]string{"Sec-Fetch-Site", "same-origin"}, true},
		{[]string{"Sec-Fetch-Site", "cross-site"}, false},
		{[]string{"Origin", "https://evil.example"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Origin", "http://127.0.0.1:1"}, false},
		{[]string{"Origin", "https://chat.example.org.evil.example"}, false},
	} {
		res, _ := h.do(h.request("PATCH", apiRoot+"/sessions/none", `{"title":"x"}`, test.header...))
		if refused := res.StatusCode == http.StatusForbidden; refused == test.ok {
			t.Errorf("%v: %d", test.header, res.StatusCode)
		}
	}
}

func TestEveryReplyForbidsForeignRequests(t *testing.T) {
	h := newHost(t)
	for _, path := range []string{"/", "/healthz", apiRoot + "/me", "/sign-in?token=x", "/assets/none.js"} {
		res, _ := h.do(h.request("GET", path, ""))
		csp := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
			"base-uri 'none'", "form-action 'self'", "connect-src 'self' ws://127.0.0.1:"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: no %s in %s", path, part, csp)
			}
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	if plainHost("a; script-src *") {
		t.Error("a host may end a directive")
	}
}

func TestPageAndItsFiles(t *testing.T) {
	h := newHost(t)
	for _, test := range []struct {
		path         string
		status       int
		kind, caches string
	}{
		{"/", 200, "text/html; charset=utf-8", "no-cache"},
		{"/s/s_01", 200, "text/html; charset=utf-8", "no-cache"},
		{"/index.html", 200, "text/html; charset=utf-8", "no-cache"},
		{"/assets/app-1a.js", 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/favicon.svg", 200, "image/svg+xml", "no-cache"},
		{"/assets/none.js", 404, "application/json", ""},
		{"/none.png", 404, "application/json", ""},
		{"/../host_test.go", 404, "application/json", ""},
		{"/%2e%2e/%2e%2e/etc/passwd.txt", 404, "application/json", ""},
	} {
		res, data := h.do(h.request("GET", test.path, ""))
		if res.StatusCode != test.status || res.Header.Get("Content-Type") != test.kind ||
			res.Header.Get("Cache-Control") != test.caches {
			t.Errorf("%s: %d %s %q %.60s", test.path, res.StatusCode, res.Header.Get("Content-Type"),
				res.Header.Get("Cache-Control"), data)
		}
	}
}

func TestReadiness(t *testing.T) {
	var reason error
	h := newHost(t, func(c *Config) { c.Ready = func() error { return reason } })
	if res, _ := h.do(h.request("GET", "/readyz", "")); res.StatusCode != http.StatusOK {
		t.Errorf("ready: %d", res.StatusCode)
	}
	reason = errors.New("not yet")
	if res, data := h.do(h.request("GET", "/readyz", "")); res.StatusCode != http.StatusServiceUnavailable ||
		string(data) != "not yet\n" {
		t.Errorf("not ready: %d %s", res.StatusCode, data)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	for _, seed := range []string{
		`{"type":"send","id":"1","request_id":"1b4e28ba-2fa1-4d2b-883f-0016d3cca427","text":"x","models":["a"],"tools":[],"options":null}`,
		`{"type":"regenerate","id":2,"request_id":"r","message_id":"m","models":null}`,
		`{"type":"resume","run":"r","epoch":1,"after_seq":9}`, `{"type":"stop","run":"r","model_index":0}`,
		`{"type":"attach","session_id":"s"}`, `{"type":"detach","run":"r"}`,
		`{"type":"select","message_id":"m","request_id":"x"}`,
		`{"type":"ping","id":null}`, `{"type":"dance"}`, `{}`, `[]`, `"x"`, `{"type":"ping"}{}`, "\xff", `{"type":1}`,
		`{"id":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, id, fault := frame.Decode(data)
		if (frame == nil) == (fault == nil) {
			t.Fatalf("%q: frame %v and fault %v", data, frame, fault)
		}
		if len(id) > 0 && !json.Valid(id) {
			t.Fatalf("%q: id %q", data, id)
		}
		if fault != nil && (fault.Code == "" || fault.Message == "" ||
			!json.Valid(mustJSON(t, nackFrame{"nack", id, fault, ""}))) {
			t.Fatalf("%q: fault %+v", data, fault)
		}
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
