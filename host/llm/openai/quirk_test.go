package openai_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
)

// history is a request with everything that endpoints refuse: a system message, a
// call with its result, a question after it, tools, an image.
func history() llm.Request {
	return llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "Be brief."},
			{Role: llm.RoleUser, Text: "first"},
			{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c_01H", Name: "f", Arguments: `{"x":1}`}},
				Native: &llm.Native{Provider: "openai", Model: "scripted",
					Data: json.RawMessage(`{"reasoning_content":"because"}`)}},
			{Role: llm.RoleTool, ToolCallID: "c_01H", ToolName: "f", Text: "found"},
			{Role: llm.RoleUser, Text: "second", Attachments: []llm.Attachment{{ID: "f_1", Name: "a.png",
				MediaType: "image/png", Bytes: 3, Image: []byte("png")}}},
		},
		Tools: []llm.ToolDef{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}, Choice: llm.ChoiceAuto,
		MaxOutputTokens: 9,
	}
}

// TestWhatAnEndpointRefusesIsLearnedOnceAndRemembered refuses the first request in
// the words of servers, and looks at what is sent then, and again later.
func TestWhatAnEndpointRefusesIsLearnedOnceAndRemembered(t *testing.T) {
	all := llm.Abilities{Vision: llm.Yes, Reasoning: llm.Yes, Parallel: llm.No}
	for name, tc := range map[string]struct {
		status  int
		says    string
		gone    string // no longer in the request
		there   string // in it from then on
		withAll func(*llm.Request)
	}{
		"stream_options": {400, `unknown field stream_options`, `"stream_options"`, `"stream":true`, nil},
		"max_tokens": {400, `use 'max_completion_tokens' instead`, `"max_tokens"`,
			`"max_completion_tokens":9`, nil},
		"tool_choice": {422, `extra fields not permitted: tool_choice`, `"tool_choice"`, `"tools"`, nil},
		"parallel_tool_calls": {400, `parallel_tool_calls is not supported with this model`, `"parallel_tool_calls"`,
			`"tools"`, nil},
		"reasoning_effort": {400, `Unrecognized request argument: reasoning_effort`, `"reasoning_effort"`, ``,
			nil},
		"tools, in Ollama's": {400, `registry.ollama.ai/library/gemma3 does not support tools`, `"tools"`,
			`You have these tools`, nil},
		"tools, in vLLM's":      {400, `\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, `"tools"`, `<tool_response`, nil},
		"tools, in llama.cpp's": {500, `tools param requires --jinja flag`, `"tools"`, `You have these tools`, nil},
		"images": {500, `image input is not supported - hint: you may need to provide the mmproj`,
			`image_url`, `an image that you cannot see`, nil},
		"system for developer":  {400, `Unsupported value: 'messages[0].role' does not support 'system' with this model.`, `"role":"system"`, `"role":"developer"`, nil},
		"no system role":        {400, `System role not supported`, `"role":"system"`, `Be brief.\n\nfirst`, nil},
		"question after result": {400, `Unexpected role 'user' after role 'tool'`, ``, `I have read the result.`, nil},
		"alternating roles": {500, `Conversation roles must alternate user/assistant/user/assistant/...`, ``,
			`I have read the result.`, nil},
		"ids of nine characters": {400, `Tool call id was c_01H but must be a-z, A-Z, 0-9, with a length of 9.`,
			`c_01H`, `"tool_call_id":"`, nil},
		"ids of forty": {400, `Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.`, `c_01H`, `"tool_call_id":"`, nil},
		"reasoning wanted back": {400, `Missing reasoning_content field in the assistant message`, ``,
			`"reasoning_content":"because"`, nil},
		"content is required": {422, `messages.2.content: Field required`, ``, `"content":""`, nil},
		"definitions wanted": {400, "litellm.UnsupportedParamsError: `tools=` param must be specified", ``,
			`"tool_choice":"none"`,
			func(r *llm.Request) { r.Withheld, r.Tools, r.Choice = r.Tools, nil, llm.ChoiceNone }},
	} {
		t.Run(name, func(t *testing.T) {
			memory := new(atomic.Uint32)
			e := newEndpoint(t, func(c *openai.Config) { c.Able, c.Remember = all, memory },
				llmtest.Status(tc.status, `{"error":{"message":"`+tc.says+`"}}`), llmtest.Answer().Text("one"),
				llmtest.Answer().Text("two"))
			req := history()
			if tc.withAll != nil {
				tc.withAll(&req)
			}
			for range 2 {
				if _, err := collect(t.Context(), e.model, req); err != nil {
					t.Fatal(err)
				}
			}
			sent := e.Requests()
			if len(sent) != 3 {
				t.Fatalf("%d requests, want 3", len(sent))
			}
			if first := string(sent[0].Raw); tc.gone != "" && !strings.Contains(first, tc.gone) || tc.there != "" &&
				tc.there != `"stream":true` && strings.Contains(first, tc.there) && tc.there != `"tools"` &&
				tc.there != `"tool_call_id":"` {
				t.Errorf("the first request does not show the difference: %s", first)
			}
			for _, r := range sent[1:] {
				if raw := string(r.Raw); tc.gone != "" && strings.Contains(raw, tc.gone) ||
					!strings.Contains(raw, tc.there) {
					t.Errorf("sent %s", raw)
				}
			}
			if memory.Load() == 0 {
				t.Error("nothing was remembered")
			}
			if len(e.waits) != 0 {
				t.Errorf("waited %v", e.waits)
			}
			// Another model with the same memory does not ask twice.
			fresh := newEndpoint(t, func(c *openai.Config) { c.Able, c.Remember = all, memory },
				llmtest.Answer().Text("three"))
			if _, err := collect(t.Context(), fresh.model, req); err != nil || len(fresh.Requests()) != 1 {
				t.Errorf("%v, %d requests", err, len(fresh.Requests()))
			}
		})
	}
}

// TestToolsThatMustBeNativeStayNative: what the operator says is not unlearned.
func TestToolsThatMustBeNativeStayNative(t *testing.T) {
	e := newEndpoint(t, func(c *openai.Config) { c.Able.Tools = llm.Yes },
		llmtest.Status(400, `{"error":{"message":"m does not support tools"}}`))
	if _, err := collect(t.Context(), e.model, history()); err == nil || len(e.Requests()) != 1 {
		t.Errorf("%v, %d requests", err, len(e.Requests()))
	}
}

// TestRefusalsTeachOnlyWhatTheRequestHas: a refusal that names something which was
// not sent is a refusal.
func TestRefusalsTeachOnlyWhatTheRequestHas(t *testing.T) {
	for _, says := range []string{"m does not support tools", "use max_completion_tokens", "reasoning_effort",
		"image_url", "length of 9", "System role not supported"} {
		e := newEndpoint(t, nil, llmtest.Status(400, `{"error":{"message":"`+says+`"}}`))
		if _, err := collect(t.Context(), e.model, question); err == nil || len(e.Requests()) != 1 {
			t.Errorf("%s: %v, %d requests", says, err, len(e.Requests()))
		}
	}
}

func TestContentPartsAreReadAsTextAndThought(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Answer().
		Delta(map[string]any{"content": []any{map[string]any{"type": "thinking",
			"thinking": []any{map[string]any{"type": "text", "text": "hm"}}}}}).
		Delta(map[string]any{"content": []any{map[string]any{"type": "text", "text": "yes"},
			map[string]any{"type": "reference", "reference_ids": []int{1}}}}))
	events, err := collect(t.Context(), e.model, question)
	if got := join(t, events); err != nil || got.Text != "yes" || got.Reasoning != "hm" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReasoningOfAStepWithCallsIsKept: endpoints that want it back get it from the
// history.
func TestReasoningOfAStepWithCallsIsKept(t *testing.T) {
	e := newEndpoint(t, nil, llmtest.Answer().ReasoningContent("be", "cause").ToolCall("a", "f", `{}`))
	events, err := collect(t.Context(), e.model, question)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if n, ok := ev.(llm.Native); ok {
			if !n.Of("openai", "scripted") || string(n.Data) != `{"reasoning_content":"because"}` {
				t.Errorf("kept %+v", n)
			}
			return
		}
	}
	t.Error("nothing was kept")
}
