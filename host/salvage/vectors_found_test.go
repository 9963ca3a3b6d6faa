package salvage_test

import (
	"strings"
	"testing"
)

// found are texts for which the outcome once depended on the split, or which
// made the parser panic.
var found = []vector{
	{Text: "<｜｜DSML｜｜function_calls>\n<｜｜DSML｜｜invoke name=\"f\">\n</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜function_calls>"},
	{Text: "Some models write <think> in a sentence."},
	{Text: "The token <|im_end|> ends a turn, </s> ends a text, in a sentence."},
	{Text: "<think>\nSo I call:\n functools[{\"name\": \"f\", \"arguments\": {}}]"},
	{Text: "<think>\nSo I call:\nAction: ```json\n[{\"tool_name\": \"f\", \"parameters\": {}}]\n```"},
	{Text: ">>>set_light\r\n{\"room\": \"hallway\"}"},
	{Text: "a[TOOL_CALLS]<|call|>dots_function_call", ReasoningOpen: true},
	{Text: "`<TOOLCALL>{\"name\":a}", ReasoningOpen: true},
	{Text: "`<invoke=g><invoke>", ReasoningOpen: true},
	{Text: "\"[TOOL_CALLS]l", ReasoningOpen: true},
	{Text: "`<|channel|>to=g<|message|>", ReasoningOpen: true},
	{Text: "<|tools_prefix|><|channel>`<start_function_call>g{"},
	{Text: "<s:invoke></l:invoke>["},
	{Text: "<invoke=f></invoke.>{"},
	{Text: ">>>¬\n{"},
	{Text: "<|start|>s" + strings.Repeat("w", 350) + "<|channel|>commentary json<|message|>"},
}

func TestFoundTextsDoNotDependOnTheSplit(t *testing.T) {
	for _, v := range found {
		v.ID = v.Text
		if problem := splitProblem(t, v); problem != "" {
			t.Errorf("%q open %v\n\t%s", v.Text, v.ReasoningOpen, problem)
		}
	}
}
