package intext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/intext"
	"github.com/bulkhead-host/bulkhead/host/salvage"
)

var tools = []llm.ToolDef{{Name: "search", Description: "Finds <things>.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}}

func TestToolsCallsAndResultsStandInTheText(t *testing.T) {
	in := llm.Request{Choice: llm.ChoiceAuto, Tools: tools, Messages: []llm.Message{
		{Role: llm.RoleSystem, Text: "Be brief.\n"},
		{Role: llm.RoleUser, Text: "Where?"},
		{Role: llm.RoleAssistant, Text: "I look.",
			ToolCalls: []llm.ToolCall{{ID: "1", Name: "search", Arguments: `{"q":"a<b"}`},
				{ID: "2", Name: "search", Arguments: "oops"}}},
		{Role: llm.RoleTool, ToolCallID: "1", ToolName: "search", Text: "there"},
		{Role: llm.RoleTool, ToolCallID: "2", ToolName: "search", Text: "no object"},
	}}
	out := intext.Request(in)
	if len(out.Tools) != 0 || out.Choice != llm.ChoiceNone || len(out.Messages) != 4 {
		t.Fatalf("got %+v", out)
	}
	for i, want := range []string{
		`{"name":"search","description":"Finds <things>.","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}`,
		"Where?",
		"I look.\n<tool_call>\n{\"name\":\"search\",\"arguments\":{\"q\":\"a<b\"}}\n</tool_call>\n<tool_call>\n{\"name\":\"search\",\"arguments\":{}}\n</tool_call>",
		"<tool_response name=\"search\">\nthere\n</tool_response>\n<tool_response name=\"search\">\nno " +
			"object\n</tool_response>",
	} {
		if m := out.Messages[i]; !strings.Contains(m.Text, want) || len(m.ToolCalls) > 0 || m.Role == llm.RoleTool {
			t.Errorf("message %d: got %+v, want %s", i, m, want)
		}
	}
	if in.Messages[0].Text != "Be brief.\n" || len(in.Messages[2].ToolCalls) != 2 {
		t.Error("the request that came in was changed")
	}
}

func TestWithoutAWordForToolsNoneAreDescribed(t *testing.T) {
	out := intext.Request(llm.Request{Choice: llm.ChoiceNone,
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hi"}}})
	if len(out.Messages) != 1 {
		t.Errorf("got %+v", out.Messages)
	}
	out = intext.Request(llm.Request{Choice: llm.ChoiceRequired, Tools: tools,
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hi"}}})
	if len(out.Messages) != 2 || out.Messages[0].Role != llm.RoleSystem ||
		!strings.Contains(out.Messages[0].Text, "must call") {
		t.Errorf("got %+v", out.Messages)
	}
}

// The format that a model is taught is one that the parser reads.
func TestWhatModelsAreTaughtIsReadBack(t *testing.T) {
	call := intext.Request(llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Text: "I look.",
		ToolCalls: []llm.ToolCall{{Name: "search", Arguments: `{"q":"<x> & \"y\""}`}}}}}).Messages[0].Text
	got := salvage.Parse(call, salvage.Options{Tools: []salvage.Tool{{Name: "search",
		Parameters: tools[0].Parameters}}})
	if got.Content != "I look." || len(got.Calls) != 1 ||
		got.Calls[0] != (salvage.Call{Name: "search", Arguments: `{"q":"<x> & \"y\""}`}) {
		t.Errorf("got %+v", got)
	}
}
