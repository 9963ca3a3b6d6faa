package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// noting is a tool of no label that notes what it is told of the path.
type noting struct{ told *[]string }

func (noting) Spec() tool.Spec {
	return tool.Spec{Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (n noting) Call(_ context.Context, in tool.Invocation) (tool.Result, error) {
	*n.told = append(*n.told, fmt.Sprint(in.Met))
	return tool.Result{Text: "noted"}, nil
}

// TestCallsAreToldWhatTheAnswerHasMet looks at what a tool is told at each of its calls.
func TestCallsAreToldWhatTheAnswerHasMet(t *testing.T) {
	end := []llm.Event{llm.Text{Delta: "Done."}, llm.Finish{Reason: llm.FinishStop}}
	agent := []llm.Event{llm.ToolCallDelta{Name: tool.ResearchAgent, ArgumentsDelta: `{"task":"look"}`},
		llm.Finish{Reason: llm.FinishToolCalls}}
	beside := []llm.Event{llm.ToolCallDelta{Index: 0, Name: "mail", ArgumentsDelta: `{}`},
		llm.ToolCallDelta{Index: 1, Name: tool.ResearchAgent, ArgumentsDelta: `{"task":"look"}`},
		llm.Finish{Reason: llm.FinishToolCalls}}
	served := []llm.Event{llm.ServerTool{Name: "web_search"}, llm.ToolCallDelta{Name: "note", ArgumentsDelta: `{}`},
		llm.Finish{Reason: llm.FinishToolCalls}}
	for name, tc := range map[string]struct {
		steps [][]llm.Event
		want  string
	}{
		"nothing yet": {[][]llm.Event{call("note"), end}, "[[]]"},
		"step by step": {[][]llm.Event{call("mail"), call("note"), call("page"), call("note"), end},
			"[[private_data] [private_data untrusted_content]]"},
		"before an agent": {[][]llm.Event{call("page"), agent, call("note"), end, end},
			"[[untrusted_content]]"},
		"beside an agent": {[][]llm.Event{beside, call("note"), end, end}, "[[private_data]]"},
		"inside an agent, all it may": {[][]llm.Event{agent, call("note"), end, call("note"), end},
			"[[] [private_data untrusted_content]]"},
		"by the provider's own search": {[][]llm.Event{served, end}, "[[untrusted_content]]"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []llm.Request
			told := []string{}
			answered(t, searching{tc.steps, &asked, false}, labelled{"mail", tool.LabelPrivateData},
				labelled{"page", tool.LabelUntrustedContent}, noting{&told})
			if got := fmt.Sprint(told); got != tc.want {
				t.Errorf("told %s, want %s", got, tc.want)
			}
		})
	}
}
