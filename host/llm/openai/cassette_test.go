package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette/cassettetest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// cassetteConfig is what config.json of a cassette may hold.
type cassetteConfig struct {
	Responses    bool       `json:"responses"`
	NativeSearch bool       `json:"native_search"`
	Reasoning    llm.Switch `json:"reasoning"`
	Parallel     llm.Switch `json:"parallel"`
	Vision       llm.Switch `json:"vision"`
}

// adapter makes the model that asks a cassette's server.
func adapter(t *testing.T, base string, raw json.RawMessage) llm.Model {
	t.Helper()
	var c cassetteConfig
	if raw != nil {
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
	}
	return cassetteModel(t, base, c)
}

func cassetteModel(t testing.TB, base string, c cassetteConfig) *openai.Model {
	t.Helper()
	var ids atomic.Int64
	api := openai.APIChat
	if c.Responses {
		api = openai.APIResponses
	}
	model, err := openai.New(openai.Config{
		Name: "local", BaseURL: base + "/v1", Model: "scripted", APIKey: llm.NewKey(testKey),
		Able: llm.Abilities{Reasoning: c.Reasoning, Parallel: c.Parallel, Vision: c.Vision},
		API:  api, NativeSearch: c.NativeSearch,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		NewID: func() string { return fmt.Sprintf("made_%d", ids.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

func TestCassettes(t *testing.T) { cassettetest.Run(t, "testdata/cassettes", 45, adapter) }

func TestResponsesCutAtEveryByte(t *testing.T) {
	cassettetest.Cut(t, "testdata/cassettes/responses_tool_call.txtar", adapter)
}

// TestStopEndsTheRequestWhereverItIs: before the headers, between tokens, and within
// the arguments of a call.
func TestStopEndsTheRequestWhereverItIs(t *testing.T) {
	for _, name := range []string{"calls_parallel", "reasoning", "responses_tool_call"} {
		cassettetest.Stop(t, "testdata/cassettes/"+name+".txtar", adapter)
	}
}

// FuzzResponses holds that any bytes give events that end with a Finish, or an
// *llm.Error of the closed list.
func FuzzResponses(f *testing.F) {
	for _, name := range []string{"reasoning", "calls_parallel", "native_search", "failed", "error_event"} {
		c, err := cassette.Load("testdata/cassettes/responses_" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.Replies[0].Body)
	}
	f.Add([]byte("data: {\"type\":\"response.failed\"}\n\n"))
	f.Add([]byte("data: {\"type\":\"response.output_item.done\",\"output_index\":-1,\"item\":{\"type\":\"function_call\",\"arguments\":7}}\n\n"))
	var stream []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(stream)
	}))
	f.Cleanup(server.Close)
	model := cassetteModel(f, server.URL, cassetteConfig{Responses: true, NativeSearch: true})
	f.Fuzz(func(t *testing.T, data []byte) {
		stream = data
		var last llm.Event
		for ev, err := range model.Stream(context.Background(), question) {
			var known *llm.Error
			if err != nil && !errors.As(err, &known) {
				t.Fatalf("%T %v", err, err)
			}
			if err != nil {
				if _, listed := packet.Codes[known.Code]; !listed {
					t.Fatalf("code %q", known.Code)
				}
				return
			}
			last = ev
		}
		if _, ok := last.(llm.Finish); !ok {
			t.Fatalf("the last event is %#v", last)
		}
	})
}
