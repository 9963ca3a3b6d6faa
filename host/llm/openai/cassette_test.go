package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette/cassettetest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
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
func adapter(t testing.TB, base string, raw json.RawMessage) llm.Model {
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

// FuzzResponses holds what cassettetest.Fuzz says.
func FuzzResponses(f *testing.F) {
	cassettetest.Fuzz(f, "testdata/cassettes/responses_*.txtar", "text/event-stream", adapter,
		`{"responses":true,"native_search":true}`,
		"data: {\"type\":\"response.failed\"}\n\n",
		"data: {\"type\":\"response.output_item.done\",\"output_index\":-1,\"item\":{\"type\":\"function_call\",\"arguments\":7}}\n\n")
}

// FuzzStream holds what cassettetest.Fuzz says.
func FuzzStream(f *testing.F) {
	cassettetest.Fuzz(f, "testdata/cassettes/*.txtar", "text/event-stream", adapter, `{}`,
		string(recorded().Stream()),
		"data: {\"error\":{\"message\":1}}\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1,\"function\":null},null,{}]}}]}\n\ndata: "+
			"[DONE]\n\n",
		"data: [1,2]\n\ndata: null\n\ndata: \"\"\n\nevent: x\n\n:\n\n",
		strings.Repeat("\r\n", 10)+"data:{\"choices\":[{\"finish_reason\":7,\"delta\":{\"content\":[{\"type\":\"text\"}]}}]}\n\n")
}
