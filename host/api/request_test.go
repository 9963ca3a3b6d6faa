package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/metrics"
)

func TestRequestIDGoesThroughReplyErrorAndLog(t *testing.T) {
	h := newHost(t)
	res, data := h.do(h.request("GET", apiRoot+"/sessions/nowhere", "", requestHeader, "abc-1.2_3"))
	var reply struct{ Error fault.Error }
	if err := json.Unmarshal(data, &reply); err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get(requestHeader); got != "abc-1.2_3" || reply.Error.Request != got {
		t.Errorf("the header says %q, the error %q", got, reply.Error.Request)
	}
	res, data = h.do(h.request("GET", apiRoot+"/me", ""))
	if made := res.Header.Get(requestHeader); len(made) != 36 || strings.Contains(string(data), "request_id") {
		t.Errorf("a request without an id got %q and %s", made, data)
	}
	for _, bad := range []string{strings.Repeat("x", maxRequestID+1), "a b", `a"b`, "é"} {
		res, _ := h.do(h.request("GET", apiRoot+"/me", "", requestHeader, bad))
		if got := res.Header.Get(requestHeader); got == bad || len(got) != 36 {
			t.Errorf("the id %q came back as %q", bad, got)
		}
	}
	h.logs("request=abc-1.2_3")
	h.logs("path=/api/v1/sessions/nowhere status=404")
}

// logs checks that the log holds a text.
func (h *testHost) logs(text string) {
	h.t.Helper()
	if !strings.Contains(h.logged(), text) {
		h.t.Errorf("the log has no %q", text)
	}
}

func TestSignInTokenStaysOutOfTheLog(t *testing.T) {
	h := newHost(t)
	h.do(h.request("GET", "/sign-in?token=verysecrettoken", ""))
	if strings.Contains(h.logged(), "verysecrettoken") {
		t.Error("the log holds the token")
	}
}

func TestLogTiesRequestAndRun(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Text("Yes."))
	var ack rest.PostAck
	h.call("POST", newMessages, sendJSONBody("Well?"), http.StatusAccepted, &ack, requestHeader, "ask-1")
	h.waitFor(ack.Run)
	h.logs(`msg="a run began" request=ask-1 run=` + ack.Run)
	if err := h.turns.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.logs(`msg="a run ended" run=` + ack.Run)
}

func TestMetricsAreForThisMachineAndOperators(t *testing.T) {
	set := metrics.New(nil)
	h := newHost(t, func(c *Config) { c.Metrics = set })
	set.Request("GET", 200, time.Millisecond)
	plain := func(header ...string) *http.Request {
		r := h.request("GET", "/metrics", "", header...)
		r.Header.Del("Cookie")
		return r
	}
	res, data := h.do(plain())
	if res.StatusCode != http.StatusOK || !strings.Contains(string(data), "bulkhead_sockets_live 0") ||
		!strings.Contains(string(data), `bulkhead_bytes_total{direction="in"}`) ||
		!strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("from this machine: %d %s", res.StatusCode, data)
	}
	h.fails(plain("X-Forwarded-For", "203.0.113.9"), http.StatusUnauthorized, fault.SignedOut)
	h.fails(plain("Forwarded", "for=203.0.113.9"), http.StatusUnauthorized, fault.SignedOut)
	if res, _ := h.do(h.request("GET", "/metrics", "", "X-Forwarded-For",
		"203.0.113.9")); res.StatusCode != http.StatusOK {
		t.Errorf("an operator gets %d", res.StatusCode)
	}
	cookie := h.signedIn("anna")
	r := plain("X-Forwarded-For", "203.0.113.9")
	r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
	h.fails(r, http.StatusForbidden, fault.Forbidden)
}
