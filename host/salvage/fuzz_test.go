package salvage_test

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

var fuzzTools = []salvage.Tool{
	{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string"}}}}`)},
	{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
}

// optionsFrom makes options of a number.
func optionsFrom(n uint64) salvage.Options {
	o := salvage.Options{ReasoningOpen: n&1 != 0, Required: n&2 != 0, None: n&6 == 4}
	if n&8 != 0 {
		o.Tools = fuzzTools
	}
	return o
}

// holds checks what holds of every text: any split gives the same, arguments are
// JSON objects, and nothing is shown that did not stand in the text.
func holds(t *testing.T, text string, seed uint64) {
	t.Helper()
	o := optionsFrom(seed)
	whole := salvage.Parse(text, o)
	var single []string
	for i := range len(text) {
		single = append(single, text[i:i+1])
	}
	if got := salvage.ParseChunks(single, o); !reflect.DeepEqual(got, whole) {
		t.Fatalf("%q with %d: byte by byte\n%+v\nwhole\n%+v", text, seed, got, whole)
	}
	if chunks := cut(text, int64(seed)); !reflect.DeepEqual(salvage.ParseChunks(chunks, o), whole) {
		t.Fatalf("%q with %d: as %q\n%+v\nwhole\n%+v", text, seed, chunks, salvage.ParseChunks(chunks, o), whole)
	}
	holdsTold(t, text, single, seed)
	for _, c := range whole.Calls {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.Arguments), &object); err != nil || object == nil {
			t.Fatalf("%q: the arguments of %s are %q: %v", text, c.Name, c.Arguments, err)
		}
	}
	if !strings.Contains(text, "<0x0A>") && !subsequence(whole.Content, text) {
		t.Fatalf("%q: content %q did not stand there", text, whole.Content)
	}
	if !strings.ContainsAny(text, "<[`{>*]~#(:") && !strings.Contains(text, "analysis") &&
		whole.Content+whole.Reasoning != text {
		t.Fatalf("%q: lost text: %+v", text, whole)
	}
}

// holdsTold checks that telling of calls while they come changes nothing else, and
// that what is told does not depend on the split.
func holdsTold(t *testing.T, text string, single []string, seed uint64) {
	t.Helper()
	o := optionsFrom(seed)
	o.Tools = []salvage.Tool{}
	for _, tool := range fuzzTools {
		tool.StreamArgs = true
		o.Tools = append(o.Tools, tool)
	}
	whole, out, broken := follow([]string{text}, o)
	if plain := salvage.Parse(text, silently(o)); broken != "" || compact(plain) != compact(out) {
		t.Fatalf("%q with %d: telling changes the outcome: %s\n%+v\nwithout\n%+v", text, seed, broken, out, plain)
	}
	for _, chunks := range [][]string{single, cut(text, int64(seed))} {
		if got, _, broken := follow(chunks, o); broken != "" || !reflect.DeepEqual(got, whole) {
			t.Fatalf("%q with %d: told %+v %s\nwhole\n%+v", text, seed, got, broken, whole)
		}
	}
}

func cut(text string, seed int64) []string {
	random := rand.New(rand.NewSource(seed))
	var out []string
	for text != "" {
		n := min(len(text), 1+random.Intn(1+random.Intn(20)))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

func subsequence(short, long string) bool {
	i := 0
	for j := 0; i < len(short) && j < len(long); j++ {
		if short[i] == long[j] {
			i++
		}
	}
	return i == len(short)
}

// FuzzArbitraryText reads arbitrary bytes at arbitrary splits.
func FuzzArbitraryText(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(s, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 1<<14 {
			return
		}
		holds(t, text, seed)
	})
}

// FuzzMutatedCalls takes well-formed calls apart and puts the pieces together
// anew: pieces are dropped, doubled, swapped and cut.
func FuzzMutatedCalls(f *testing.F) {
	for i := range fuzzSeeds {
		f.Add(uint16(i), uint16(i*7), uint64(i)*0x9E3779B97F4A7C15, "x")
	}
	f.Fuzz(func(t *testing.T, a, b uint16, seed uint64, extra string) {
		random := rand.New(rand.NewSource(int64(seed)))
		pieces := append(tokens(fuzzSeeds[int(a)%len(fuzzSeeds)]), tokens(fuzzSeeds[int(b)%len(fuzzSeeds)])...)
		for range random.Intn(6) {
			i, j := random.Intn(len(pieces)), random.Intn(len(pieces))
			switch random.Intn(5) {
			case 0:
				pieces[i] = ""
			case 1:
				pieces[i] += pieces[i]
			case 2:
				pieces[i], pieces[j] = pieces[j], pieces[i]
			case 3:
				pieces[i] = pieces[i][:random.Intn(len(pieces[i])+1)]
			case 4:
				pieces[i] += extra[:min(len(extra), 64)]
			}
		}
		holds(t, strings.Join(pieces, ""), seed)
	})
}

// tokens cuts a text at the edges of its words and marks.
func tokens(s string) []string {
	var out []string
	from := 0
	for i := 1; i < len(s); i++ {
		if strings.IndexByte("<>[]{}()\"':|=, \n", s[i]) >= 0 || strings.IndexByte("<>[]{}()\"':|=, \n", s[i-1]) >= 0 {
			out, from = append(out, s[from:i]), i
		}
	}
	return append(out, s[from:])
}

// fuzzSeeds are calls of every family.
var fuzzSeeds = []string{
	`<tool_call>{"name":"f","arguments":{"a":1,"b":["x"]}}</tool_call>`,
	"<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
	"<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call> and so",
	`<tool_calls><tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value></tool_call></tool_calls>`,
	`<function=f>{"a":1}</function>`,
	`<function name="f"><param name="a"><![CDATA[1]]></param></function>`,
	`<function_calls><invoke name="f"><parameter name="a">1</parameter></invoke></function_calls>`,
	`<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`,
	`]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<a>1]<]minimax[>[</a>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>`,
	`<use_mcp_tool><server_name>s</server_name><tool_name>f</tool_name><arguments>{"a":1}</arguments></use_mcp_tool>`,
	"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\":1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	`<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_calls_section_end|>`,
	`<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>`,
	`[TOOL_CALLS] [{"name":"f","arguments":{"a":1}}]`,
	`[TOOL_CALLS]f[CALL_ID]x1[ARGS]{"a":1}[TOOL_CALLS]f{"a":2}`,
	`<|python_tag|>{"name":"f","parameters":{"a":1}}; {"name":"f","parameters":{}}`,
	`<|tool_call_start|>[f(a=1, b=['x', "y"])]<|tool_call_end|>[f(a=1, b=['x', "y"])]`,
	`<|tool_call>call:f{a:1,b:[<|"|>x<|"|>]}<tool_call|>`,
	"Look:\n```tool_code\nprint(f(a=1))\n```",
	`<|START_ACTION|>[{"tool_call_id":"0","tool_name":"f","parameters":{"a":1}}]<|END_ACTION|>`,
	"Action: ```json\n[{\"tool_name\":\"f\",\"parameters\":{}}]\n```",
	`<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>`,
	">>>f\n{\"a\":1}\n>>>all\ntext",
	"<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\":\"f\",\"arguments\":{}}</s>",
	"<|tool_call:start|>f\n<|tool_arg:start|>a<|tool_arg:value|>1<|tool_arg:end|><|tool_call:end|>",
	`<|tools_prefix|>[{"f":{"a":1}}]<|tools_suffix|>`,
	"I look.\n[f(a=1), f()]", `{"name":"f","arguments":"{\"a\":1}"}`,
	"```json\n[{\"name\":\"f\",\"arguments\":{}}]\n```",
	`[Calling tool: f({"a":1})]`, "tool_code = f(a=1)\nprint(tool_code)", `functools[{"name":"f","arguments":{}}]`,
	"<think>hm <tool_call>f</tool_call></think>\n\nyes", "a </think> b", "<|channel>thought\nhm<channel|>yes",
	"analysisWe think.assistantfinalYes",
	"Say `<tool_call>` and \"</think>\" aloud [x](y) {z} <b>", "Here is my thought process: a Here is my response: b",
	"x\n\n  <|im_end|>", "prose, é, 語",
}
