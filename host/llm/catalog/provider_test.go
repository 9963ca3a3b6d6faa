package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

const testKey = "sk-very-hidden"

// asked is one way to ask a provider.
type asked struct {
	provider provider.Name
	api      config.API
}

var providers = map[string]asked{
	"openai": {provider.OpenAI, config.APIChat}, "responses": {provider.OpenAI, config.APIResponses},
	"anthropic": {provider.Anthropic, ""}, "ollama": {provider.Ollama, ""},
}

// model is a model of that provider at base.
func (a asked) model(base string) config.Model {
	if a.provider == provider.OpenAI {
		base += "/v1"
	}
	return config.Model{Name: "m", Provider: a.provider, BaseURL: base, Model: "tide-model",
		APIKey: llm.NewKey(testKey), Tuning: config.Tuning{API: a.api}}
}

// refused asks a model of that provider at base and returns the *llm.Error.
func (a asked) refused(t *testing.T, base string, change func(*config.Model)) *llm.Error {
	t.Helper()
	m := a.model(base)
	if change != nil {
		change(&m)
	}
	return failing(t, catalog.Config{Models: []config.Model{m}})
}

// failing asks the one model of a catalog and returns the *llm.Error.
func failing(t *testing.T, cfg catalog.Config) *llm.Error {
	t.Helper()
	model, err := open(t, cfg).Get("m")
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range model.Stream(t.Context(), hello) {
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v", err, err)
	}
	for _, text := range []string{e.Message, e.Error(), fmt.Sprintf("%+v", e)} {
		if strings.Contains(text, testKey) {
			t.Errorf("the key stands in %q", text)
		}
	}
	return e
}

// server answers every POST that asks with handler; what a provider says of its
// models it does not know.
func server(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/api/show") {
			http.NotFound(w, r)
			return
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestEachProviderSaysWhatWentWrong: in words that name the endpoint and never the
// key, by a code that says whether to try again.
func TestEachProviderSaysWhatWentWrong(t *testing.T) {
	noKey := func(m *config.Model) { m.APIKey = llm.Key{} }
	for name, tc := range map[string]struct {
		status    int
		body      string
		change    func(*config.Model)
		code      packet.Code
		retryable bool
		says      string
	}{
		"401": {status: 401, body: `{"error":{"message":"invalid x-api-key ` + testKey + `"}}`,
			code: packet.CodeModelAuth, says: "ENDPOINT refused the key."},
		"401 without a key": {status: 401, body: `{"error":{"message":"no key"}}`, change: noKey,
			code: packet.CodeModelAuth, says: "ENDPOINT wants a key, and this model has none."},
		"403": {status: 403, body: `{"error":{"message":"no"}}`, code: packet.CodeModelAuth,
			says: "ENDPOINT took the key and does not let it use tide-model."},
		"404": {status: 404, body: `{"error":{"message":"model not found"}}`, code: packet.CodeModelNotFound,
			says: "ENDPOINT does not have the model tide-model"},
		"404 of a page": {status: 404, body: "<html>", code: packet.CodeModelNotFound,
			says: "or base_url does not lead to its API."},
		"405": {status: 405, code: packet.CodeModelNotFound, says: "ENDPOINT takes no questions there."},
		"501 of a page": {status: 501, body: "<html>", code: packet.CodeModelNotFound,
			says: "Does base_url lead to its API?"},
		"402": {status: 402, body: `{"error":{"message":"pay"}}`, code: packet.CodeModelRateLimited,
			says: "The account at ENDPOINT has no budget left."},
		"429": {status: 429, body: `{"error":{"message":"slow"}}`, code: packet.CodeModelRateLimited, retryable: true,
			says: "ENDPOINT asks to wait 11s before the next request."},
		"500": {status: 500, body: "boom " + testKey, code: packet.CodeModelFailed, retryable: true,
			says: "ENDPOINT reported a fault of its own (status 500)."},
		"502": {status: 502, body: "<html>bad gateway</html>", code: packet.CodeModelFailed, retryable: true,
			says: "ENDPOINT reported a fault of its own (status 502)."},
		"504": {status: 504, code: packet.CodeModelTimeout, retryable: true, says: "ENDPOINT did not answer in time."},
		"529": {status: 529, body: `{"error":{"type":"overloaded_error"}}`, code: packet.CodeModelRateLimited,
			retryable: true, says: "ENDPOINT has no room"},
	} {
		for provider, a := range providers {
			t.Run(name+" "+provider, func(t *testing.T) {
				s := server(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "11") // longer than is waited
					w.WriteHeader(tc.status)
					io.WriteString(w, tc.body)
				})
				e := a.refused(t, s.URL, tc.change)
				says := strings.ReplaceAll(tc.says, "ENDPOINT", strings.TrimPrefix(s.URL, "http://"))
				if e.Code != tc.code || e.Retryable != tc.retryable || !strings.Contains(e.Message, says) ||
					e.Status != tc.status {
					t.Errorf("got %s, retryable %v, %q", e.Code, e.Retryable, e.Message)
				}
			})
		}
	}
}

// TestEachProvidersWordsForAPromptThatIsTooLong: one code for all.
func TestEachProvidersWordsForAPromptThatIsTooLong(t *testing.T) {
	for status, bodies := range map[int][]string{
		400: {
			`{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","code":"context_length_exceeded"}}`,
			`{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`,
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}`,
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and " +
				"`max_tokens` exceed context limit: 198000 + 8192 > 200000\"}}",
			`{"error":"the input length exceeds the context length"}`,
			`{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}`,
			`{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError"}`,
			`[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`,
			`{"message":"Input is too long for requested model."}`,
			`{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error"}}`,
		},
		413: {`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`},
		422: {"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= " +
			"4096\",\"error_type\":\"validation\"}"},
	} {
		for _, body := range bodies {
			for provider, a := range providers {
				s := server(t, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(status)
					io.WriteString(w, body)
				})
				if e := a.refused(t, s.URL, nil); e.Code != packet.CodeContextTooLong || e.Retryable {
					t.Errorf("%s, %s: %v", provider, body, e)
				}
			}
		}
	}
}

// nameless is the client of a machine on which no name server answers: the machine's own
// may take longer to say so than a connection may.
func nameless(string) *http.Client {
	dialer := &net.Dialer{Resolver: &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("there is no name server")
		}}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}

// TestEachProviderSaysThatNobodyIsThere, in words of the kind of failure.
func TestEachProviderSaysThatNobodyIsThere(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	for name, tc := range map[string]struct {
		base, says string
		client     func(string) *http.Client
	}{
		"refused":     {"http://127.0.0.1:1", "Nothing answers at ENDPOINT.", nil},
		"certificate": {secure.URL, "No secure connection to ENDPOINT could be made.", nil},
		"no name": {"http://model.invalid", "The name of the model server model.invalid:80 could not be resolved.",
			nameless},
	} {
		for provider, a := range providers {
			t.Run(name+" "+provider, func(t *testing.T) {
				t.Parallel()
				e := failing(t, catalog.Config{Models: []config.Model{a.model(tc.base)}, Client: tc.client})
				_, address, _ := strings.Cut(tc.base, "://")
				if says := strings.ReplaceAll(tc.says, "ENDPOINT", address); e.Code != packet.CodeModelUnreachable ||
					!e.Retryable || !strings.Contains(e.Message, says) {
					t.Errorf("got %s %q", e.Code, e.Message)
				}
			})
		}
	}
}

// TestEachProviderKeepsItsTimeouts: the three of them, each with a sentence of its
// own.
func TestEachProviderKeepsItsTimeouts(t *testing.T) {
	begun := map[string]string{
		"openai":    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n",
		"responses": "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n",
		"anthropic": "event: content_block_start\ndata: " +
			"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n",
		"ollama": "{\"message\":{\"content\":\"x\"}}\n",
	}
	for provider, a := range providers {
		hang := server(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		stops := server(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", map[bool]string{true: "application/x-ndjson",
				false: "text/event-stream"}[provider == "ollama"])
			io.WriteString(w, begun[provider])
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		e := a.refused(t, hang.URL, func(m *config.Model) { m.FirstTokenTimeout = "50ms" })
		if e.Code != packet.CodeModelTimeout || !strings.Contains(e.Message, "did not begin to answer within 50ms") {
			t.Errorf("%s, no first byte: %v", provider, e)
		}
		e = a.refused(t, stops.URL, func(m *config.Model) { m.IdleTimeout = "50ms" })
		if e.Code != packet.CodeModelTimeout || !strings.Contains(e.Message,
			"stopped sending in the middle of the answer") {
			t.Errorf("%s, between tokens: %v", provider, e)
		}
		e = a.unconnected(t)
		if e.Code != packet.CodeModelUnreachable ||
			!strings.Contains(e.Message, "No connection to 192.0.2.1:80 could be made in time.") {
			t.Errorf("%s, no connection: %v", provider, e)
		}
	}
}

// unconnected asks where no connection comes about.
func (a asked) unconnected(t *testing.T) *llm.Error {
	t.Helper()
	m := a.model("http://192.0.2.1")
	m.ConnectTimeout, m.FirstTokenTimeout = "50ms", "1h"
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return failing(t, catalog.Config{
		Models: []config.Model{m},
		Client: func(string) *http.Client { return &http.Client{Transport: &http.Transport{DialContext: dial}} },
	})
}
