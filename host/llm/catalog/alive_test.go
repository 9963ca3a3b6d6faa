package catalog_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// alive is a server on the clock of the test: it sends a sign of life every ten
// seconds for a time, its event, signs for another time, and the end. "forever"
// stands for a sign until the client leaves.
type alive struct {
	sign, event, end string
	before, after    time.Duration
}

const forever = 1000 * time.Hour

// RoundTrip implements http.RoundTripper.
func (a alive) RoundTrip(r *http.Request) (*http.Response, error) {
	response := &http.Response{StatusCode: http.StatusNotFound, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: http.NoBody, Request: r}
	if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/api/show") {
		return response, nil
	}
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	response.StatusCode = http.StatusOK
	response.Header.Set("Content-Type", map[bool]string{true: "application/x-ndjson",
		false: "text/event-stream"}[strings.HasSuffix(r.URL.Path, "/api/chat")])
	read, write := io.Pipe()
	response.Body = read
	go a.write(r.Context(), write)
	return response, nil
}

func (a alive) write(ctx context.Context, w *io.PipeWriter) {
	for _, part := range []struct {
		alive time.Duration
		text  string
	}{{a.before, a.event}, {a.after, a.end}} {
		for until := time.Now().Add(part.alive); time.Now().Before(until); {
			select {
			case <-ctx.Done():
				w.CloseWithError(context.Cause(ctx))
				return
			case <-time.After(10 * time.Second):
			}
			if _, err := io.WriteString(w, a.sign); err != nil {
				return
			}
		}
		if _, err := io.WriteString(w, part.text); err != nil {
			return
		}
	}
	w.Close()
}

// TestSignsOfLifeAreNoAnswer: they hold a stream while a model takes its time, and not
// for ever.
func TestSignsOfLifeAreNoAnswer(t *testing.T) {
	streams := map[string]alive{
		"openai": {sign: ": PROCESSING\n\n", event: "data: " +
			"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n",
			end: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"},
		"responses": {sign: "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":1}\n\n",
			event: "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n",
			end:   "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"},
		"anthropic": {sign: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
			event: "event: content_block_start\ndata: " +
				"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n",
			end: "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		"ollama": {sign: "\n", event: "{\"message\":{\"content\":\"x\"}}\n",
			end: "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n"},
	}
	for _, tc := range []struct {
		name          string
		before, after time.Duration
		says, text    string
	}{
		{"a model that takes its time", 170 * time.Second, 200 * time.Second, "", "x"},
		{"signs and never an answer", forever, 0, "did not begin to answer within 3m0s", ""},
		{"signs and never the rest", 0, forever, "kept the connection open and wrote nothing for 4m0s", "x"},
	} {
		for provider, a := range providers {
			t.Run(tc.name+" "+provider, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := streams[provider]
					server.before, server.after = tc.before, tc.after
					model, err := open(t, catalog.Config{
						Models: []config.Model{{Name: "m", Provider: a.provider, BaseURL: "http://model.test",
							Model: "x", Tuning: config.Tuning{API: a.api}}},
						Client: func(string) *http.Client { return &http.Client{Transport: server} },
					}).Get("m")
					if err != nil {
						t.Fatal(err)
					}
					text := ""
					for ev, e := range model.Stream(t.Context(), hello) {
						if said, ok := ev.(llm.Text); ok {
							text += said.Delta
						}
						err = e
					}
					var failed *llm.Error
					if tc.says == "" && err != nil || tc.says != "" &&
						(!errors.As(err, &failed) || failed.Code != packet.CodeModelTimeout ||
							!strings.Contains(failed.Message, tc.says)) {
						t.Errorf("got %v", err)
					}
					if text != tc.text {
						t.Errorf("text %q, want %q", text, tc.text)
					}
				})
			})
		}
	}
}
