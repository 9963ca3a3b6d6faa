package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyEgressOpensConnections(t *testing.T) {
	broken, err := CheckOutbound(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range broken {
		t.Error(sentence)
	}
	for file := range inward {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
			t.Errorf("the exception %s is gone: %v", file, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(doorway))); err != nil {
		t.Error(err)
	}
}

func TestOutboundConnectionsAreFound(t *testing.T) {
	for _, tc := range []struct{ imports, code string }{
		{`"net"`, `net.Dial("tcp", "x")`},
		{`"net"`, `(&net.Dialer{}).DialContext(nil, "tcp", "x")`},
		{`n "net"`, `n.DialTCP("tcp", nil, nil)`},
		{`"net"`, `net.LookupHost("x")`},
		{`"net"`, `net.DefaultResolver.LookupHost(nil, "x")`},
		{`"net/http"`, `http.Get("x")`},
		{`"net/http"`, `http.DefaultClient.Do(nil)`},
		{`"net/http"`, `_ = http.DefaultTransport`},
		{`"net/http"`, `_ = &http.Transport{}`},
		{`"net/http"`, `_ = new(http.Transport)`},
		{`"net/http"`, `_ = &http.Client{}`},
		{`"net/http"`, `_ = http.Client{Timeout: 1}`},
		{`"net/http"`, `var c http.Client`},
		{`"net/http"`, `_ = new(http.Client)`},
		{`"crypto/tls"`, `tls.Dial("tcp", "x", nil)`},
		{`"net/http/httputil"`, `_ = httputil.ReverseProxy{}`},
		{`"github.com/coder/websocket"`, `websocket.Dial(nil, "x", nil)`},
		{`"github.com/valyala/fasthttp"`, `fasthttp.Get(nil, "x")`},
		{`"github.com/gofiber/fiber/v2"`, `fiber.Get("x")`},
		{`f "github.com/gofiber/fiber/v2"`, `f.AcquireClient()`},
	} {
		source := fmt.Sprintf("package p\n\nimport %s\n\nfunc f() {\n%s\n}\n", tc.imports, tc.code)
		found, err := outbound("a.go", []byte(source))
		if err != nil || len(found) == 0 || !strings.HasPrefix(found[0], "a.go:6 uses ") {
			t.Errorf("%s gives %q, %v", tc.code, found, err)
		}
	}
}

func TestServingIsNotOutbound(t *testing.T) {
	source := `package p

import (
	"net"
	"net/http"
)

type holder struct{ client *http.Client }

func f(c *http.Client, t http.RoundTripper) {
	net.Listen("tcp", "x")
	net.ParseIP("x")
	_ = &http.Client{Transport: t}
	client := *c
	_ = client
}
`
	if found, err := outbound("a.go", []byte(source)); err != nil || len(found) != 0 {
		t.Errorf("%q, %v", found, err)
	}
}
