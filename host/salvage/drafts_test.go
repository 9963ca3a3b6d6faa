package salvage_test

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

func TestReasoningThatEndsWithACallAsksForIt(t *testing.T) {
	tools := []salvage.Tool{{Name: "clock", Parameters: []byte(`{"type":"object","properties":{"zone":{"type":"string"}}}`)}, {Name: "ping"}}
	const call = "<tool_call>\n{\"name\": \"clock\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>"
	for text, want := range map[string]int{
		"I need the time.\n" + call: 1,
		call + "\n":                 1,
		call + "\n" + call:          2,
		"<function=clock>\n<parameter=zone>UTC</parameter>\n</function>":      1,
		call + "\nOr shall I ask first?":                                      0,
		"First " + call + ", then I think, then\n" + call:                     1,
		`{"name": "clock", "arguments": {"zone": "UTC"}}`:                     0,
		"<tool_call>\n{\"name\": \"clock\", \"arguments\": {\"zone\": \"UT":   0,
		"<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>": 0,
		"I could use `" + call + "`":                                          0,
		"Nothing.":                                                            0,
		"":                                                                    0,
	} {
		if got := salvage.Drafts(text, tools); len(got) != want {
			t.Errorf("%q: %+v, want %d", text, got, want)
		}
	}
	if got := salvage.Drafts(call, nil); got != nil {
		t.Errorf("without tools: %+v", got)
	}
}
