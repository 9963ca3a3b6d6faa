package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-test-6f1d0c9b8a"

// scripted is a scripted server and a model that asks it.
type scripted struct {
	*llmtest.Server
	model *openai.Model
	waits []time.Duration
}

func newEndpoint(t *testing.T, change func(*openai.Config), replies ...*llmtest.Reply) *scripted {
	t.Helper()
	server, err := llmtest.Start(replies...)
	if err != nil {
		t.Fatal(err)
	}
	e := &scripted{Server: server}
	var ids atomic.Int64
	cfg := openai.Config{
		Name: "local", BaseURL: server.URL(), Model: "scripted", APIKey: llm.NewKey(testKey),
		Sleep: func(ctx context.Context, d time.Duration) error {
			e.waits = append(e.waits, d)
			return ctx.Err()
		},
		Jitter: func() float64 { return 0 },
		NewID:  func() string { return fmt.Sprintf("made_%d", ids.Add(1)) },
		Now:    func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	if change != nil {
		change(&cfg)
	}
	if e.model, err = openai.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.model.Close()
		server.Close()
	})
	return e
}

var question = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}

// collect ranges over a whole stream.
func collect(ctx context.Context, m llm.Model, req llm.Request) (events []llm.Event, err error) {
	for ev, e := range m.Stream(ctx, req) {
		if e != nil {
			err = e
			continue
		}
		events = append(events, ev)
	}
	return events, err
}

// joined puts a stream's pieces together, for comparing.
type joined struct {
	Text, Reasoning, Refusal string
	Calls                    []llm.ToolCall
	Usage                    *llm.Usage
	Finish                   llm.FinishReason
}

func join(t *testing.T, events []llm.Event) joined {
	t.Helper()
	var j joined
	for _, ev := range events {
		if j.Finish != "" {
			t.Errorf("%#v comes after Finish", ev)
		}
		switch ev := ev.(type) {
		case llm.Text:
			j.Text += ev.Delta
		case llm.Reasoning:
			j.Reasoning += ev.Delta
		case llm.Refusal:
			j.Refusal += ev.Delta
		case llm.ToolCallDelta:
			if ev.Index == len(j.Calls) {
				j.Calls = append(j.Calls, llm.ToolCall{ID: ev.ID, Name: ev.Name})
			} else if ev.ID != "" || ev.Name != "" {
				t.Errorf("id or name repeated: %#v", ev)
			}
			j.Calls[ev.Index].Arguments += ev.ArgumentsDelta
		case llm.Usage:
			j.Usage = &ev
		case llm.Finish:
			j.Finish = ev.Reason
		}
	}
	return j
}

func TestStreams(t *testing.T) {
	cases := []struct {
		name  string
		reply *llmtest.Reply
		want  joined
	}{
		{"text with usage", llmtest.Answer().Text("Hel", "lo").Usage(12, 3),
			joined{Text: "Hello", Usage: &llm.Usage{InputTokens: 12, OutputTokens: 3}, Finish: llm.FinishStop}},
		{"reasoning", llmtest.Answer().Reasoning("Let me ", "see.").Text("Yes"),
			joined{Reasoning: "Let me see.", Text: "Yes", Finish: llm.FinishStop}},
		{"reasoning_content", llmtest.Answer().ReasoningContent("Hm.").Text("No"),
			joined{Reasoning: "Hm.", Text: "No", Finish: llm.FinishStop}},
		{"both names of reasoning are one text", llmtest.Answer().Delta(map[string]any{"reasoning": "a",
			"reasoning_content": "a"}),
			joined{Reasoning: "a", Finish: llm.FinishStop}},
		{"refusal", llmtest.Answer().Refusal("I can't ", "help."),
			joined{Refusal: "I can't help.", Finish: llm.FinishStop}},
		{"cut by length", llmtest.Answer().Text("So").Finish("length"), joined{Text: "So", Finish: llm.FinishLength}},
		{"filtered", llmtest.Answer().Finish("content_filter"), joined{Finish: llm.FinishFiltered}},
		{"parallel calls", llmtest.Answer().Text("Looking.").ToolCall("a", "search", `{"q":`, `"x"}`).ToolCall("b",
			"open", `{}`),
			joined{Text: "Looking.", Finish: llm.FinishToolCalls,
				Calls: []llm.ToolCall{{ID: "a", Name: "search", Arguments: `{"q":"x"}`},
					{ID: "b", Name: "open", Arguments: "{}"}}}},
		{"stop after calls means tool_calls", llmtest.Answer().ToolCall("a", "f", "{}").Finish("stop"),
			joined{Finish: llm.FinishToolCalls, Calls: []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}},
		{"a stream without [DONE]", llmtest.Answer().Text("x").NoDone(), joined{Text: "x", Finish: llm.FinishStop}},
		{"[DONE] without a finish reason", llmtest.Answer().Text("x").Unfinished().Data("[DONE]"),
			joined{Text: "x", Finish: llm.FinishStop}},
		{"error null in every chunk", llmtest.Answer().Data(`{"error":null,"choices":[{"index":0,"delta":{"content":"x"}}]}`), joined{Text: "x", Finish: llm.FinishStop}},
		{"comments and carriage returns", llmtest.Answer().Bytes([]byte(": waiting\r\n\r\ndata: " +
			"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\r\n\r\n")),
			joined{Text: "x", Finish: llm.FinishStop}},
		{"a byte order mark", llmtest.Answer().Bytes([]byte("\uFEFFdata: " +
			"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n")),
			joined{Text: "x", Finish: llm.FinishStop}},
		{"usage before the last delta", llmtest.Answer().Text("x").Data(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}`).Text("y"),
			joined{Text: "xy", Finish: llm.FinishStop, Usage: &llm.Usage{InputTokens: 5, OutputTokens: 2}}},
		{"usage so far in every chunk, and null at the end",
			llmtest.Answer().Data(`{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`).
				Data(`{"choices":[{"index":0,"delta":{"content":"y"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`).Data(`{"choices":[],"usage":null}`),
			joined{Text: "xy", Finish: llm.FinishStop, Usage: &llm.Usage{InputTokens: 5, OutputTokens: 2}}},
		{"choices and deltas that are null", llmtest.Answer().Data(`{"choices":null}`).Data(`{"choices":[{"index":0,"delta":null}]}`).Text("x"), joined{Text: "x", Finish: llm.FinishStop}},
		{"a refusal after text", llmtest.Answer().Text("Well.").Refusal("No."),
			joined{Text: "Well.", Refusal: "No.", Finish: llm.FinishStop}},
		{"both names of reasoning, one of them empty",
			llmtest.Answer().Delta(map[string]any{"reasoning": "a",
				"reasoning_content": ""}).Delta(map[string]any{"reasoning": nil, "reasoning_content": "b"}).Text("x"),
			joined{Reasoning: "ab", Text: "x", Finish: llm.FinishStop}},
		{"reasoning with its details", llmtest.Answer().Data(`{"choices":[{"index":0,"delta":{"content":"","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"}]}}]}`).Text("x"),
			joined{Reasoning: "a", Text: "x", Finish: llm.FinishStop}},
		{"a safety system by another name", llmtest.Answer().Finish("sensitive"), joined{Finish: llm.FinishFiltered}},
		{"other choices are left out", llmtest.Answer().Data(`{"choices":[{"index":1,"delta":{"content":"no"}}]}`).Text("x"), joined{Text: "x", Finish: llm.FinishStop}},
		{"the old function_call", llmtest.Answer().Delta(map[string]any{"function_call": map[string]any{"name": "f",
			"arguments": "{}"}}).Finish("function_call"),
			joined{Finish: llm.FinishToolCalls, Calls: []llm.ToolCall{{ID: "made_1", Name: "f", Arguments: "{}"}}}},
		{"cached tokens and cost", llmtest.Answer().Text("x").Data(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4},"cost":0.25}}`),
			joined{Text: "x", Finish: llm.FinishStop,
				Usage: &llm.Usage{InputTokens: 5, OutputTokens: 2, CachedTokens: 4, Cost: 0.25}}},
	}
	for _, c := range cases {
		for _, split := range []int{0, 1, 7} {
			t.Run(fmt.Sprintf("%s/split %d", c.name, split), func(t *testing.T) {
				reply := *c.reply
				e := newEndpoint(t, nil, reply.Split(split))
				events, err := collect(t.Context(), e.model, question)
				if err != nil {
					t.Fatal(err)
				}
				if got := join(t, events); !reflect.DeepEqual(got, c.want) {
					t.Errorf("got  %+v\nwant %+v", got, c.want)
				}
			})
		}
	}
}

func TestALineBeyondAMegabyteIsRead(t *testing.T) {
	long := strings.Repeat("word ", 250_000)
	e := newEndpoint(t, nil, llmtest.Answer().Text(long))
	events, err := collect(t.Context(), e.model, question)
	if got := join(t, events); err != nil || got.Text != long || got.Finish != llm.FinishStop {
		t.Errorf("%d characters of %d, %v", len(got.Text), len(long), err)
	}
}

func TestToolCallFragmentsOfOddEndpoints(t *testing.T) {
	f := func(entries ...string) *llmtest.Reply {
		r := llmtest.Answer()
		for _, e := range entries {
			r.Fragment(e)
		}
		return r
	}
	call := func(id, name, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: name, Arguments: args} }
	cases := []struct {
		name  string
		reply *llmtest.Reply
		want  []llm.ToolCall
	}{
		{"no ids", f(`{"index":0,"function":{"name":"f","arguments":"{}"}}`,
			`{"index":1,"function":{"name":"g","arguments":"{}"}}`),
			[]llm.ToolCall{call("made_1", "f", "{}"), call("made_2", "g", "{}")}},
		{"no indexes, whole calls", f(`{"id":"a","function":{"name":"f","arguments":"{}"}}`,
			`{"id":"b","function":{"name":"f","arguments":"{}"}}`),
			[]llm.ToolCall{call("a", "f", "{}"), call("b", "f", "{}")}},
		{"no indexes, fragments by order", f(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
			`{"function":{"arguments":":1}"}}`, `{"id":"b","function":{"name":"g","arguments":"{}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", "{}")}},
		{"every call has index 0", f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`,
			`{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}`),
			[]llm.ToolCall{call("a", "f", "{}"), call("b", "f", "{}")}},
		{"index 0 and no ids at all", f(`{"index":0,"function":{"name":"f","arguments":"{}"}}`,
			`{"index":0,"function":{"name":"f","arguments":"{}"}}`),
			[]llm.ToolCall{call("made_1", "f", "{}"), call("made_2", "f", "{}")}},
		{"id and name repeated in each fragment", f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
			`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`)}},
		{"a new id in each fragment", f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
			`{"index":0,"id":"b","function":{"name":"f","arguments":":1}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`)}},
		{"one id for two calls", f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`,
			`{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`),
			[]llm.ToolCall{call("a", "f", "{}"), call("made_1", "g", "{}")}},
		{"indexes from 1 and interleaved", f(`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
			`{"index":2,"id":"b","function":{"name":"g","arguments":"{"}}`,
			`{"index":1,"function":{"arguments":":1}"}}`, `{"index":2,"function":{"arguments":"}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", "{}")}},
		{"name after id", f(`{"index":0,"id":"a"}`, `{"index":0,"function":{"name":"f","arguments":"{}"}}`),
			[]llm.ToolCall{call("a", "f", "{}")}},
		{"no name ever", f(`{"index":0,"id":"a","function":{"arguments":"{}"}}`), []llm.ToolCall{call("a", "", "{}")}},
		{"arguments as an object", f(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`)}},
		{"an index from the second fragment on", f(`{"id":"a","function":{"name":"f","arguments":""}}`,
			`{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`)}},
		{"an index in the first fragments only", f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
			`{"function":{"arguments":":1}"}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`,
			`{"function":{"arguments":"}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", "{}")}},
		{"no indexes, and the id of later fragments tells",
			f(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
				`{"id":"b","function":{"name":"g","arguments":"{"}}`, `{"id":"a","function":{"arguments":":1}"}}`,
				`{"id":"b","function":{"arguments":"}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", "{}")}},
		{"one id with two names, arguments later",
			f(`{"id":"a","function":{"name":"f","arguments":"{}"}}`,
				`{"id":"a","function":{"name":"g","arguments":""}}`, `{"function":{"arguments":"{\"x\":1}"}}`),
			[]llm.ToolCall{call("a", "f", "{}"), call("made_1", "g", `{"x":1}`)}},
		{"index 0 for two, the first of them cut",
			f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`,
				`{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}`,
				`{"index":0,"function":{"arguments":"}"}}`),
			[]llm.ToolCall{call("a", "f", `{"x"`), call("b", "g", "{}")}},
		{"arguments before the name", f(`{"index":0,"id":"a","function":{"arguments":"{\"x\""}}`,
			`{"index":0,"function":{"name":"f","arguments":":1}"}}`), []llm.ToolCall{call("a", "f", `{"x":1}`)}},
		{"an index that goes backwards", f(`{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`,
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`,
			`{"index":1,"function":{"arguments":"}"}}`),
			[]llm.ToolCall{call("b", "g", "{}"), call("a", "f", "{}")}},
		{"null for what does not come", f(`{"index":0,"id":"a","type":null,"function":{"name":"f","arguments":null}}`,
			`{"index":0,"id":null,"function":{"name":null,"arguments":"{}"}}`, `{"index":0,"id":null,"function":null}`),
			[]llm.ToolCall{call("a", "f", "{}")}},
		{"an empty id in later fragments", f(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`,
			`{"index":0,"id":"","function":{"name":"","arguments":"{}"}}`), []llm.ToolCall{call("a", "f", "{}")}},
		{"all so far in each fragment, with the id and the name",
			f(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`,
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			[]llm.ToolCall{call("a", "f", `{}{"x":1}{"x":1}`)}}, // which the step reads
		{"a name in pieces", f(`{"index":0,"id":"a","function":{"name":"inter"}}`,
			`{"index":0,"function":{"name":"nal_","arguments":""}}`, `{"index":0,"function":{"name":"search","arguments":"{"}}`,
			`{"index":0,"function":{"arguments":"}"}}`), []llm.ToolCall{call("a", "internal_search", "{}")}},
		{"a name that grows", f(`{"index":0,"id":"a","function":{"name":"inter"}}`,
			`{"index":0,"function":{"name":"internal_search"}}`, `{"index":0,"function":{"arguments":"{}"}}`),
			[]llm.ToolCall{call("a", "internal_search", "{}")}},
		{"a call without arguments before another",
			f(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`,
				`{"index":0,"id":"b","function":{"name":"g","arguments":""}}`),
			[]llm.ToolCall{call("a", "f", ""), call("b", "g", "")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := newEndpoint(t, nil, c.reply)
			events, err := collect(t.Context(), e.model, question)
			if err != nil {
				t.Fatal(err)
			}
			if got := join(t, events).Calls; !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestRequestCarriesTheConversation(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Answer().Text("ok"))
	_, err := collect(t.Context(), e.model, llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "be brief"},
			{Role: llm.RoleUser, Text: "question"},
			{Role: llm.RoleAssistant, Text: "looking",
				ToolCalls: []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"},
					{ID: "b", Name: "g", Arguments: `{"broken`}}},
			{Role: llm.RoleTool, Text: "found", ToolCallID: "a", ToolName: "f"},
			{Role: llm.RoleTool, Text: "bad arguments", ToolCallID: "b", ToolName: "g"},
		},
		Tools: []llm.ToolDef{{Name: "f", Description: "finds",
			Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}},
		Choice:          llm.ChoiceRequired,
		MaxOutputTokens: 99,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := e.Requests()[0]
	if len(got.Body.Messages) != 5 || got.Body.Messages[2].ToolCalls[0].ID != "a" ||
		got.Body.Messages[3].ToolCallID != "a" {
		t.Errorf("messages: %+v", got.Body.Messages)
	}
	if args := got.Body.Messages[2].ToolCalls[1].Function.Arguments; !json.Valid([]byte(args)) ||
		!strings.Contains(args, `broken`) {
		t.Errorf("malformed arguments went out as %q", args)
	}
	if !got.Offers("f") || string(got.Body.ToolChoice) != `"required"` || got.Body.MaxTokens != 99 || !got.Body.Stream {
		t.Errorf("request: %s", got.Raw)
	}
	if got.Header.Get("Authorization") != "Bearer "+testKey || got.Header.Get("X-Stainless-Os") != "" {
		t.Errorf("headers: %v", got.Header)
	}
}

func TestNoToolsMeansNoToolFields(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Answer().Text("ok"))
	req := question
	req.Choice = llm.ChoiceNone
	if _, err := collect(t.Context(), e.model, req); err != nil {
		t.Fatal(err)
	}
	raw := string(e.Requests()[0].Raw)
	if strings.Contains(raw, "tool") {
		t.Errorf("request: %s", raw)
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_ORG_ID", "org")
	e := newEndpoint(t, func(c *openai.Config) { c.APIKey = llm.Key{} }, llmtest.Answer().Text("ok"))
	if _, err := collect(t.Context(), e.model, question); err != nil {
		t.Fatal(err)
	}
	h := e.Requests()[0].Header
	if h.Get("Authorization") != "" || h.Get("Openai-Organization") != "" {
		t.Errorf("headers: %v", h)
	}
}

func TestRefusedFieldsAreLearnedOnce(t *testing.T) {
	refuse := func(what string) *llmtest.Reply {
		return llmtest.Status(400, `{"error":{"message":"Unrecognized request argument supplied: `+what+`"}}`)
	}
	e := newEndpoint(t, nil, refuse("stream_options"), refuse("use 'max_completion_tokens' instead"),
		llmtest.Answer().Text("one"), llmtest.Answer().Text("two"))
	req := question
	req.MaxOutputTokens = 5
	for range 2 {
		if _, err := collect(t.Context(), e.model, req); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(e.Requests()); n != 4 {
		t.Fatalf("%d requests, want 4", n)
	}
	last := string(e.Requests()[3].Raw)
	if strings.Contains(last, "stream_options") || strings.Contains(last, `"max_tokens"`) ||
		!strings.Contains(last, "max_completion_tokens") {
		t.Errorf("the last request still has what was refused: %s", last)
	}
	if len(e.waits) != 0 {
		t.Errorf("waited %v for something that waiting does not mend", e.waits)
	}
}

func TestLeavingTheRangeEndsTheRequest(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Answer().Text("a", "b").Gate(nil))
	for ev, err := range e.model.Stream(t.Context(), question) {
		if err != nil || ev == nil {
			t.Fatal(ev, err)
		}
		break
	}
	if err := e.WaitEnded(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

func TestCancelEndsTheRequestAtOnce(t *testing.T) {
	held := make(chan struct{}, 1)
	for name, reply := range map[string]*llmtest.Reply{
		"before the headers": llmtest.Hang(),
		"in the middle": llmtest.Answer().Text("a").Wait(func(ctx context.Context) error {
			held <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, nil, reply)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				defer cancel()
				if err := e.WaitRequests(t.Context(), 1); err != nil || name == "before the headers" {
					return
				}
				select {
				case <-held:
				case <-t.Context().Done():
				}
			}()
			_, err := collect(ctx, e.model, question)
			if !errors.Is(err, context.Canceled) || err != ctx.Err() {
				t.Errorf("got %v", err)
			}
			if err := e.WaitEnded(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		})
	}
}
