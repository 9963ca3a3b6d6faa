package step

import (
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// TestWhatTheProviderRanIsShownInItsPlace: with the labels of a tool that reaches
// the outside and brings in what strangers wrote.
func TestWhatTheProviderRanIsShownInItsPlace(t *testing.T) {
	got := perform(t, t.Context(), said{events: []llm.Event{
		llm.Reasoning{Delta: "hm"}, llm.ServerTool{Name: "web_search", Query: "tide"}, llm.Text{Delta: "High."},
		llm.ServerTool{Name: "web_search", Failed: true}, llm.Text{Delta: "Or not."},
		llm.ToolCallDelta{Index: 0, Name: "plain", ArgumentsDelta: `{}`}, llm.Finish{Reason: llm.FinishToolCalls},
	}}, llm.ChoiceAuto)
	if got.types("1.0") != "tool_start tool_args section_end" ||
		got.types("3.0") != "tool_start tool_args tool_error section_end" ||
		len(got.ServerTools) != 2 || got.CallTurn != 5 || len(got.done) != 1 {
		got.fail(t, "blocks")
	}
	lines := strings.Join(got.lines, "\n")
	for _, want := range []string{`"labels":["untrusted_content","egress"]`, `"arguments":{"query":"tide"}`,
		`"plugin":""`} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, lines)
		}
	}
}

// TestNoBlockOpensAfterOneOfACallOfOurs: the order of blocks holds whatever a
// provider does.
func TestNoBlockOpensAfterOneOfACallOfOurs(t *testing.T) {
	got := perform(t, t.Context(), said{events: []llm.Event{
		llm.ToolCallDelta{Index: 0, Name: "write", ArgumentsDelta: `{"text":"a`},
		llm.ServerTool{Name: "web_search", Query: "tide"},
		llm.ToolCallDelta{Index: 0, ArgumentsDelta: `b"}`}, llm.Finish{Reason: llm.FinishToolCalls},
	}}, llm.ChoiceAuto)
	if len(got.ServerTools) != 1 || strings.Contains(strings.Join(got.lines, "\n"), "web_search") ||
		len(got.done) != 1 {
		got.fail(t, "blocks")
	}
}
