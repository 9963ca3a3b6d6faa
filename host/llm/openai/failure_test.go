package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// asError demands an *llm.Error that names no key.
func asError(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want *llm.Error", err, err)
	}
	if _, known := packet.Codes[e.Code]; !known {
		t.Errorf("code %q is not in the list", e.Code)
	}
	for _, text := range []string{e.Message, e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e.Err)} {
		if strings.Contains(text, testKey) {
			t.Errorf("the key stands in %q", text)
		}
	}
	if !strings.HasSuffix(strings.TrimRight(e.Message, "”"), ".") && !strings.Contains(e.Message, "It says") &&
		!strings.HasSuffix(e.Message, "?") {
		t.Errorf("%q is no sentence", e.Message)
	}
	return e
}

func TestFailuresOfTheEndpoint(t *testing.T) {
	echo := `{"error":{"message":"Incorrect API key provided: ` + testKey + `","code":"invalid_api_key"}}`
	cases := []struct {
		name     string
		reply    *llmtest.Reply
		code     packet.Code
		requests int
		says     string
	}{
		{"401 that echoes the key", llmtest.Status(401, echo), packet.CodeModelAuth, 1, "refused the key"},
		{"400 that echoes the key", llmtest.Status(400, echo), packet.CodeModelRejected, 1, "[hidden]"},
		{"403", llmtest.Status(403, `forbidden`), packet.CodeModelAuth, 1, ""},
		{"404", llmtest.Status(404, `{"error":{"message":"model not found"}}`), packet.CodeModelNotFound, 1,
			"scripted"},
		{"429", llmtest.Status(429, `{"error":{"message":"slow down"}}`), packet.CodeModelRateLimited, 3, "slow down"},
		{"429 with a wait beyond our cap", llmtest.Status(429, `{}`).Header("Retry-After", "60"),
			packet.CodeModelRateLimited, 1, "asks to wait 1m0s"},
		{"429 with a date beyond our cap", llmtest.Status(429, `{}`).Header("Retry-After",
			"Fri, 02 Jan 2026 05:04:05 GMT"), packet.CodeModelRateLimited, 1, "asks to wait 2h0m0s"},
		{"429 with a wait that is none", llmtest.Status(429, `{}`).Header("Retry-After", "-5"),
			packet.CodeModelRateLimited, 3, "asks to slow down"},
		{"429 with a wait that is no number", llmtest.Status(429, `{}`).Header("Retry-After", "NaN"),
			packet.CodeModelRateLimited, 3, "asks to slow down"},
		{"429 with a date that is past", llmtest.Status(429, `{}`).Header("Retry-After",
			"Fri, 02 Jan 1970 03:04:12 GMT"), packet.CodeModelRateLimited, 3, "asks to slow down"},
		{"429 without money", llmtest.Status(429, `{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}`), packet.CodeModelRateLimited, 1, "budget"},
		{"503", llmtest.Status(503, `busy`), packet.CodeModelFailed, 3, "503"},
		{"500", llmtest.Status(500, `{"error":"panic: at /srv/secret/path"}`), packet.CodeModelFailed, 1, "500"},
		{"502 as a web page", llmtest.HTML(502), packet.CodeModelFailed, 1, ""},
		{"504", llmtest.Status(504, ``), packet.CodeModelTimeout, 1, ""},
		{"413", llmtest.Status(413, ``), packet.CodeContextTooLong, 1, ""},
		{"context length of OpenAI", llmtest.Status(400,
			`{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`), packet.CodeContextTooLong, 1, ""},
		{"context length of llama.cpp", llmtest.Status(400,
			`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), packet.CodeContextTooLong, 1, ""},
		{"400", llmtest.Status(400, `{"error":{"message":"tools are\nnot supported"}}`), packet.CodeModelRejected, 1,
			"tools are not supported"},
		{"400 in FastAPI's shape", llmtest.Status(422, `{"detail":"wrong field"}`), packet.CodeModelRejected, 1,
			"wrong field"},
		{"redirect", llmtest.Status(302, ``).Header("Location", "http://127.0.0.1:1/"), packet.CodeModelRejected, 1,
			"redirects"},
		{"200 as a web page", llmtest.HTML(200), packet.CodeModelBadResponse, 1, "web page"},
		{"200 as JSON with an error", llmtest.Raw([]byte(`{"error":{"message":"boom"}}`)).Header("Content-Type",
			"application/json"), packet.CodeModelFailed, 1, "boom"},
		{"invalid JSON in the stream", llmtest.Answer().Text("x").Data(`{"choices":[{`), packet.CodeModelBadResponse, 1,
			""},
		{"not JSON at all", llmtest.Answer().Data(`hello`), packet.CodeModelBadResponse, 1, ""},
		{"an error in the stream", llmtest.Answer().Text("x").Data(`{"error":{"message":"out of memory","type":"server_error"}}`), packet.CodeModelFailed, 1, "out of memory"},
		{"an error in the stream as text", llmtest.Answer().Data(`{"error":"out of memory"}`), packet.CodeModelFailed,
			1, "out of memory"},
		{"a rate limit in the stream", llmtest.Answer().Text("x").Data(`{"error":{"message":"later","code":429}}`),
			packet.CodeModelRateLimited, 1, ""},
		{"an error that echoes the key in the stream",
			llmtest.Answer().Data(`{"error":{"message":"bad key ` + testKey + `"}}`), packet.CodeModelFailed, 1,
			"[hidden]"},
		{"an error object of vLLM", llmtest.Answer().Data(`{"object":"error","message":"maximum context length is 5"}`),
			packet.CodeContextTooLong, 1, ""},
		{"finish reason error", llmtest.Answer().Text("x").Finish("error"), packet.CodeModelFailed, 1, ""},
		{"finish reason abort", llmtest.Answer().Text("x").Finish("abort"), packet.CodeModelFailed, 1,
			"fault of its own"},
		{"an error by the event's name only", llmtest.Answer().Text("x").Bytes([]byte("event: error\ndata: " +
			"{\"message\":\"out of memory\"}\n\n")), packet.CodeModelFailed, 1, "out of memory"},
		{"a detail in place of a chunk", llmtest.Answer().Data(`{"detail":"wrong field"}`), packet.CodeModelFailed, 1,
			"wrong field"},
		{"ends without finishing", llmtest.Answer().Text("x").Unfinished(), packet.CodeModelInterrupted, 1,
			"broke off"},
		{"connection breaks in the middle", llmtest.Answer().Text("x", "y").Cut(200), packet.CodeModelInterrupted, 1,
			"broke"},
		{"empty body", llmtest.Raw(nil), packet.CodeModelInterrupted, 1, ""},
		{"a line without end", llmtest.Raw([]byte("data: " + strings.Repeat("x", 5<<20))), packet.CodeModelBadResponse,
			1, "too large"},
		{"an event without end", llmtest.Raw([]byte(strings.Repeat("data: x\n", 1<<20))), packet.CodeModelBadResponse,
			1, "too large"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := newEndpoint(t, nil)
			e.Answer(func(llmtest.Request) *llmtest.Reply { return c.reply })
			_, err := collect(t.Context(), e.model, question)
			got := asError(t, err)
			if got.Code != c.code {
				t.Errorf("code %s, want %s (%v)", got.Code, c.code, got)
			}
			if !strings.Contains(got.Message, c.says) {
				t.Errorf("message %q does not say %q", got.Message, c.says)
			}
			if strings.Contains(got.Message, "/srv/") {
				t.Errorf("message %q shows a path", got.Message)
			}
			if n := len(e.Requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	e := newEndpoint(t, nil,
		llmtest.Status(429, `{}`).Header("Retry-After", "2"),
		llmtest.Status(503, `{}`).Header("Retry-After", "Fri, 02 Jan 2026 03:04:12 GMT"),
		llmtest.Answer().Text("ok"))
	events, err := collect(t.Context(), e.model, question)
	if err != nil {
		t.Fatal(err)
	}
	if got := join(t, events).Text; got != "ok" {
		t.Errorf("text %q", got)
	}
	if len(e.waits) != 2 || e.waits[0] != 2*time.Second || e.waits[1] != 7*time.Second {
		t.Errorf("waited %v, want 2s and 7s", e.waits)
	}
}

func TestNothingIsSentAgainAfterTheFirstByte(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Answer().Text("a").Cut(10), llmtest.Answer().Text("b"))
	if _, err := collect(t.Context(), e.model, question); asError(t, err).Code != packet.CodeModelInterrupted {
		t.Error(err)
	}
	if n := len(e.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// nameless is the client of a machine on which no name server answers: the machine's own
// may take longer to say so than a connection may.
func nameless() *http.Client {
	dialer := &net.Dialer{Resolver: &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("there is no name server")
		}}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}

func TestConnectionFailures(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	cases := []struct {
		name, base, says string
		waits            int
		client           *http.Client
	}{
		{"refused", "http://127.0.0.1:1/v1", "Nothing answers at 127.0.0.1:1", 2, nil},
		{"unknown certificate", secure.URL + "/v1", "secure connection", 0, nil},
		{"TLS to a plain server", "https" + strings.TrimPrefix(plain.URL, "http") + "/v1", "secure connection", 0, nil},
		{"no such name", "http://model.invalid/v1", "could not be resolved", 0, nameless()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := newEndpoint(t, func(cfg *openai.Config) { cfg.BaseURL, cfg.HTTPClient = c.base, c.client })
			_, err := collect(t.Context(), e.model, question)
			got := asError(t, err)
			if got.Code != packet.CodeModelUnreachable || !strings.Contains(got.Message, c.says) || !got.Retryable {
				t.Errorf("got %s %q", got.Code, got.Message)
			}
			if len(e.waits) != c.waits {
				t.Errorf("%d retries, want %d", len(e.waits), c.waits)
			}
		})
	}
}

func TestSilenceEndsTheRequest(t *testing.T) {
	const short = 50 * time.Millisecond
	cases := []struct {
		name     string
		reply    *llmtest.Reply
		timeouts endpoint.Timeouts // the others are long, so that only one can be over
		says     string
	}{
		{"never answers", llmtest.Hang(), endpoint.Timeouts{FirstToken: short}, "did not begin to answer"},
		{"headers and no byte", llmtest.Answer().Gate(nil), endpoint.Timeouts{FirstToken: short},
			"did not begin to answer"},
		{"stops in the middle", llmtest.Answer().Text("x").Gate(nil), endpoint.Timeouts{Idle: short},
			"stopped sending"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := newEndpoint(t, func(cfg *openai.Config) { cfg.Timeouts = c.timeouts }, c.reply)
			_, err := collect(t.Context(), e.model, question)
			got := asError(t, err)
			if got.Code != packet.CodeModelTimeout || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %s %q", got.Code, got.Message)
			}
		})
	}
}

func TestACallersDeadlineIsItsOwnError(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Hang())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := collect(ctx, e.model, question); !errors.Is(err, context.DeadlineExceeded) || err != ctx.Err() {
		t.Errorf("got %v", err)
	}
}

func TestWhatFinishedIsNotUndoneByAConnectionThatStaysOpen(t *testing.T) {
	// All of it comes at once, so that no silence is within it.
	whole := llmtest.Answer().Text("all").Unfinished().Data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`).Stream()
	e := newEndpoint(t, func(cfg *openai.Config) { cfg.Timeouts.Idle = 50 * time.Millisecond },
		llmtest.Raw(whole).Gate(nil))
	events, err := collect(t.Context(), e.model, question)
	if got := join(t, events); err != nil || got.Text != "all" || got.Finish != llm.FinishStop {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMistakesInTheConfiguration(t *testing.T) {
	for base, says := range map[string]string{
		"":                                "must look like",
		"ftp://host/v1":                   "http",
		"http://user:pw@host/v1":          "api_key",
		"http://host/v1?key=x":            "query",
		"http://host/v1/chat/completions": "before /chat/completions",
	} {
		if _, err := openai.New(openai.Config{Name: "n", Model: "m", BaseURL: base}); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", base, err)
		}
	}
}
