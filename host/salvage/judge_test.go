package salvage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// markers of all dialects: none may be left in the content beside a call.
var markers = []string{
	"<tool_call", "</tool_call", "<tool_sep", "<arg_key", "</arg_key", "<arg_value", "</arg_value", "<function=",
	"</function",
	"<parameter", "</parameter", "<function name=", "<param name=", "</param>", "<function_call", "</function_call",
	"<invoke", "</invoke",
	"DSML", "minimax:", "]<]minimax[>[", "dots_function_call", "seed:tool_call", "longcat_", "steptml:", "<TOOLCALL>",
	"</TOOLCALL>",
	"use_mcp_tool", "tool▁", "tool_calls_begin", "<|tool_call", "<|open|>", "<|sep|>", "<|close|>", "[TOOL_CALLS]",
	"[/TOOL_CALLS]",
	"[ARGS]", "[CALL_ID]", "<|python_", "[unused1", "<tool_call|>", "<|\"|>", "<start_function_call>",
	"<end_function_call>", "<escape>",
	"```tool_c", "functools[", "_ACTION|>", "<|action_", "<|plugin|>", "<|tools_", "<|channel|>", "<|message|>",
	"<|call|>", "<|constrain|>",
	"<|start|>", "<|end|>", "<|return|>", ">>>", "<|message_sep|>", "<|role_sep|>", "<|function_call|>", "<|content_",
	"<|end_message|>",
	"<|message_model|>", "<|eom|>", "<|tool_arg", "<|plamo:", "**Tool Call:**", "<think", "</think", "[THINK]",
	"[/THINK]", "_THINKING|>",
	"<seed:", "</seed:", "<|channel>", "<channel|>", "scratch_pad>", "<response>", "</response>", "<answer>",
	"</answer>", "<|im_end|>",
	"</s>", "<|eom_id|>", "<|eot_id|>", "<SPECIAL_12>", "<0x0A>", "BEGIN FINAL RESPONSE",
}

func compact(o salvage.Outcome) string {
	var calls []string
	for _, c := range o.Calls {
		calls = append(calls, c.Name+c.Arguments)
	}
	return fmt.Sprintf("content=%q reasoning=%q calls=%v malformed=%q", o.Content, o.Reasoning, calls, o.Malformed)
}

// judgeCall compares with expected. Whitespace at the edges of content, of
// reasoning and around calls is left open.
func judgeCall(v vector, got salvage.Outcome) []string {
	found := judgeNames(v, got)
	if v.Expected.Content != nil && !v.Expected.Content.match(got.Content) {
		found = append(found, fmt.Sprintf("want content %q", []string(v.Expected.Content)))
	}
	want := ""
	if v.Expected.Reasoning != nil {
		want = *v.Expected.Reasoning
	}
	if !slices.Contains(v.Open, "reasoning") && strings.TrimSpace(got.Reasoning) != strings.TrimSpace(want) {
		found = append(found, fmt.Sprintf("want reasoning %q", want))
	}
	return append(found, judgeLeak(v, got)...)
}

func judgeNames(v vector, got salvage.Outcome) []string {
	if slices.Contains(v.Open, "calls") {
		return nil
	}
	var want []string
	same := len(got.Calls) == len(v.Expected.Calls)
	for i, c := range v.Expected.Calls {
		want = append(want, c.Name+string(c.Arguments))
		same = same && got.Calls[i].Name == c.Name && sameJSON(got.Calls[i].Arguments, string(c.Arguments))
	}
	if same {
		return nil
	}
	return []string{fmt.Sprintf("want calls %v", want)}
}

func judgeLeak(v vector, got salvage.Outcome) []string {
	for _, m := range markers {
		if !v.LeakOK && len(v.Expected.Calls) > 0 && strings.Contains(got.Content, m) {
			return []string{fmt.Sprintf("marker %q leaks into content", m)}
		}
	}
	return nil
}

func judgeProse(v vector, got salvage.Outcome) []string {
	if got.Content == v.Text && got.Reasoning == "" && len(got.Calls) == 0 && len(got.Malformed) == 0 {
		return nil
	}
	return []string{"want the text as it is and no call"}
}

// sameJSON compares values, numbers by value: 1e3 is 1000.
func sameJSON(a, b string) bool {
	x, okX := decode(a)
	y, okY := decode(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

func decode(s string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return plain(v), true
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return "number " + r.RatString()
		}
	case string:
		return "string " + v
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	}
	return v
}
