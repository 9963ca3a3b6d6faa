package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

const (
	chatStream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"by " +
		"chat\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	responsesStream = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"by responses\"}\n\ndata: " +
		"{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
	noPath = `{"detail":"Not Found"}`
)

// answering is what one interface of an endpoint says: a status with a body.
type answering struct {
	status int
	body   string
}

// interfaces is an endpoint with two of them. Its paths are noted.
type interfaces struct {
	chat, responses answering

	mu    sync.Mutex // guards paths
	paths []string
}

// ServeHTTP implements http.Handler.
func (i *interfaces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	i.mu.Lock()
	i.paths = append(i.paths, strings.TrimPrefix(r.URL.Path, "/v1/"))
	i.mu.Unlock()
	says := i.chat
	if r.URL.Path == "/v1/responses" {
		says = i.responses
	}
	w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream",
		false: "application/json"}[says.status == 200])
	w.WriteHeader(says.status)
	io.WriteString(w, says.body)
}

// elsewhere sends what is meant for one host to another.
type elsewhere struct{ to string }

// RoundTrip implements http.RoundTripper.
func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", e.to
	return http.DefaultTransport.RoundTrip(r)
}

// TestTheInterfaceIsFoundOutOnceAndRemembered asks three times, the last time with
// a fresh model that has the memory of the one before.
func TestTheInterfaceIsFoundOutOnceAndRemembered(t *testing.T) {
	works, there := answering{200, chatStream}, answering{200, responsesStream}
	missing := answering{404, noPath}
	for name, tc := range map[string]struct {
		api             openai.API
		official        bool
		chat, responses answering
		want            string
		text            string
		code            packet.Code
	}{
		"OpenAI itself": {official: true, chat: works, responses: there,
			want: "responses responses responses", text: "by responses"},
		"OpenAI itself, chat chosen": {api: openai.APIChat, official: true, chat: works, responses: there,
			want: "chat/completions chat/completions chat/completions", text: "by chat"},
		"another endpoint": {chat: works, responses: there,
			want: "chat/completions chat/completions chat/completions", text: "by chat"},
		"another endpoint, responses chosen": {api: openai.APIResponses, chat: works, responses: there,
			want: "responses responses responses", text: "by responses"},
		"a proxy of OpenAI without responses": {official: true, chat: works, responses: missing,
			want: "responses chat/completions chat/completions chat/completions", text: "by chat"},
		"a model without responses": {official: true, chat: works, text: "by chat",
			want:      "responses chat/completions chat/completions chat/completions",
			responses: answering{400, `{"error":{"message":"The requested model 'x' is not supported with the Responses API."}}`}},
		"a model of responses alone": {responses: there, text: "by responses",
			want: "chat/completions responses responses responses",
			chat: answering{404, `{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions."}}`}},
		"a field of responses alone": {responses: there, text: "by responses",
			want: "chat/completions responses responses responses",
			chat: answering{400, `{"error":{"message":"Function tools with reasoning_effort are not supported for x in /v1/chat/completions. Please use /v1/responses instead."}}`}},
		"no chat completions there": {chat: answering{405, ""}, responses: there,
			want: "chat/completions responses responses responses", text: "by responses"},
		// What does not work is not remembered, and the reason is told.
		"neither": {chat: missing, responses: missing,
			want: "chat/completions responses chat/completions responses chat/completions responses",
			code: packet.CodeModelNotFound},
		"a model that is unknown": {chat: answering{404, `{"error":{"message":"The model x does not exist"}}`},
			responses: there, want: "chat/completions chat/completions chat/completions",
			code: packet.CodeModelNotFound},
		"a key that is refused": {chat: missing, responses: answering{401, `{}`},
			want: "chat/completions responses chat/completions responses chat/completions responses",
			code: packet.CodeModelAuth},
		"chosen and missing": {api: openai.APIResponses, chat: works, responses: missing,
			want: "responses responses responses", code: packet.CodeModelNotFound},
		// After the first byte nothing is sent again.
		"cut after the first byte": {official: true, chat: works,
			responses: answering{200, "data: {\"type\":\"response.created\"}\n\n"},
			want:      "responses responses responses", code: packet.CodeModelInterrupted},
		"an error in the stream that names the other": {chat: answering{200,
			"data: {\"error\":{\"message\":\"use v1/responses\"}}\n\n"}, responses: there,
			want: "chat/completions chat/completions chat/completions", code: packet.CodeModelFailed},
	} {
		t.Run(name, func(t *testing.T) {
			i := &interfaces{chat: tc.chat, responses: tc.responses}
			server := httptest.NewServer(i)
			defer server.Close()
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			cfg := openai.Config{Name: "n", Model: "x", BaseURL: server.URL + "/v1", API: tc.api,
				Remember: new(atomic.Uint32)}
			if tc.official {
				cfg.BaseURL, cfg.HTTPClient = "https://api.openai.com/v1",
					&http.Client{Transport: elsewhere{strings.TrimPrefix(server.URL, "http://")}}
			}
			for range 2 {
				m, err := openai.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				for range map[bool]int{true: 2, false: 1}[len(i.paths) == 0] {
					events, err := collect(t.Context(), m, question)
					if tc.code != "" {
						if got := asError(t, err); got.Code != tc.code {
							t.Errorf("got %v", got)
						}
						continue
					}
					if got := join(t, events); err != nil || got.Text != tc.text {
						t.Errorf("%+v, %v", got, err)
					}
				}
				m.Close()
			}
			if got := strings.Join(i.paths, " "); got != tc.want {
				t.Errorf("asked %s\nwant  %s", got, tc.want)
			}
		})
	}
}

// TestSummariesThatAreRefusedAreLeftOut: reasoning goes on without them.
func TestSummariesThatAreRefusedAreLeftOut(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(data))
		if strings.Contains(string(data), `"summary"`) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","param":"reasoning.summary"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, responsesStream)
	}))
	defer server.Close()
	m, err := openai.New(openai.Config{Name: "n", Model: "x", BaseURL: server.URL + "/v1", API: openai.APIResponses,
		Able: llm.Abilities{Reasoning: llm.Yes}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for range 2 {
		if _, err := collect(t.Context(), m, question); err != nil {
			t.Fatal(err)
		}
	}
	var last struct{ Reasoning map[string]any }
	if err := json.Unmarshal([]byte(bodies[len(bodies)-1]), &last); err != nil || len(bodies) != 3 ||
		last.Reasoning["effort"] != "medium" {
		t.Errorf("%d requests, the last %v, %v", len(bodies), last, err)
	}
	if slices.ContainsFunc(bodies[1:], func(b string) bool { return strings.Contains(b, "summary") }) {
		t.Error("a summary was asked for again")
	}
}
