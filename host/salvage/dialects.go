package salvage

import "strings"

// dialect is one way to write calls. Most need no more than their markers: what
// stands between them is recognised by how it begins (see header.go).
type dialect struct {
	name  string
	open  []string
	close []string
	// body says how to read what follows the opener.
	body body
	// filler are tokens between the opener and the body.
	filler []string
	// alone says that a name at the end of the answer is a call without arguments.
	alone bool
	// keyed says that an object's key is the name: {"NAME":{…}}.
	keyed bool
	// guess says that values without a schema are typed by their looks.
	guess bool
	// concludes says that the opener ends reasoning.
	concludes bool
	// lineStart says that the opener counts only at the start of a line.
	lineStart bool
	// prose says that people write the opener in sentences too.
	prose bool
}

// body names the reader of what stands behind an opener. The zero body recognises
// what it reads by how it begins.
type body uint8

const (
	anyBody body = iota
	functionBody
	m3Body
	mcpBody
	openBody
	fencedBody
	harmonyBody
	recipientBody
	gigachatBody
	solarBody
	plamoBody
	toolCodeBody
	skipBody
	pythonTagBody
	toolFenceBody
	messageBody
	contentBody
)

// dialects is the catalogue. A new dialect is an entry here.
var dialects = []dialect{
	{name: "tool_call", open: []string{"<tool_call>", "<tool_calls>", "<TOOLCALL>", "<tools_call>"},
		close: []string{"</tool_call>", "</tool_calls>", "</TOOLCALL>", "</tools_call>"}, guess: true, prose: true},
	{name: "tool_call cased", open: cased("<", "tool_call"), close: cased("</", "tool_call"), guess: true, prose: true},
	{name: "tools", open: []string{"<tools>"}, close: []string{"</tools>"}, lineStart: true, prose: true},
	{name: "function_call", open: []string{"<function_call>", "<function_calls>"},
		close: []string{"</function_call>", "</function_calls>"}, prose: true},
	{name: "function_call cased", open: cased("<", "function_call"), close: cased("</", "function_call"), prose: true},
	{name: "minimax", open: []string{"<minimax:tool_call>"}, close: []string{"</minimax:tool_call>"}},
	{name: "minimax_m3", open: []string{m3 + "<invoke name="}, close: []string{m3 + "</invoke>", m3 + "</tool_call>"},
		body: m3Body},
	{name: "dots", open: []string{"<dots_function_call>"}, close: []string{"</dots_function_call>"}},
	{name: "seed", open: []string{"<seed:tool_call>"}, close: []string{"</seed:tool_call>"}},
	{name: "longcat", open: []string{"<longcat_tool_call>"}, close: []string{"</longcat_tool_call>"}, guess: true},
	{name: "mcp", open: []string{"<use_mcp_tool>"}, close: []string{"</use_mcp_tool>"}, body: mcpBody},
	{name: "deepseek", open: append(bothBars("tool▁call▁begin"), bothBars("tool▁calls▁begin")...),
		close: bothBars("tool▁call▁end"), filler: bothBars("tool▁sep")},
	{name: "step3", open: append(bothBars("tool_call_begin"),
		append(bothBars("tool_calls_begin"), "<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")...),
		close: bothBars("tool_call_end"), filler: append(bothBars("tool_sep"), "<|tool_call_argument_begin|>")},
	{name: "kimi_k3", open: []string{"<|open|>"}, close: []string{"<|close|>"}, body: openBody},
	{name: "mistral", open: []string{"[TOOL_CALLS]"}, close: []string{"[/TOOL_CALLS]"}, alone: true},
	{name: "python_tag", open: []string{"<|python_tag|>"}, close: []string{"<|eom_id|>", "<|eot_id|>"},
		body: pythonTagBody},
	{name: "python_start", open: []string{"<|python_start|>"}, close: []string{"<|python_end|>"}},
	{name: "lfm2", open: []string{"<|tool_call_start|>", "[unused11]"},
		close: []string{"<|tool_call_end|>", "[unused12]"}},
	{name: "gemma4", open: []string{"<|tool_call>"}, close: []string{"<tool_call|>"}},
	{name: "functiongemma", open: []string{"<start_function_call>"}, close: []string{"<end_function_call>"}},
	{name: "granite", open: []string{"<|tool_call|>", "<|tool_calls|>"},
		close: []string{"<|/tool_call|>", "<|end_tool_call|>"}},
	{name: "functools", open: []string{"functools"}, lineStart: true},
	{name: "cohere", open: []string{"<|START_ACTION|>"}, close: []string{"<|END_ACTION|>"}},
	{name: "cohere action", open: []string{"Action:"}, lineStart: true, body: fencedBody},
	{name: "rwkv", open: []string{"**Tool Call:**", "**Tool Call**:"}, lineStart: true, body: fencedBody},
	{name: "internlm", open: []string{"<|action_start|>"}, close: []string{"<|action_end|>"},
		filler: []string{"<|plugin|>", "<|interpreter|>"}},
	{name: "apertus", open: []string{"<|tools_prefix|>"}, close: []string{"<|tools_suffix|>"}, keyed: true},
	{name: "harmony", open: []string{"<|channel|>", "<|start|>"},
		close: []string{"<|call|>", "<|end|>", "<|return|>", "<|eom|>"}, body: harmonyBody, concludes: true},
	{name: "functionary", open: []string{">>>"}, lineStart: true, body: recipientBody},
	{name: "functionary v2", open: []string{"<|recipient|>"}, close: []string{"<|stop|>"}, body: contentBody},
	{name: "gigachat", open: []string{"<|message_sep|>"}, close: []string{"</s>"}, body: gigachatBody},
	{name: "gigachat31", open: []string{"<|function_call|>"}, close: []string{"</s>"}},
	{name: "inkling", open: []string{"<|content_invoke_tool_json|>"}, close: []string{"<|end_message|>"}},
	{name: "inkling message", open: []string{"<|message_model|>"}, body: messageBody},
	{name: "solar", open: []string{"<|tool_call:start|>", "<|tool_call:begin|>"}, close: []string{"<|tool_call:end|>"},
		body: solarBody},
	{name: "plamo", open: []string{"<|plamo:begin_tool_request:plamo|>", "<|plamo:begin_tool_request|>"},
		close: []string{"<|plamo:end_tool_request:plamo|>", "<|plamo:end_tool_request|>"}, body: plamoBody},
	{name: "outputs", open: bothBars("tool▁outputs▁begin"), close: bothBars("tool▁outputs▁end"), body: skipBody},
	{name: "harmony headless", open: []string{"commentary to=", "analysis to=", "assistant to=", "to="},
		lineStart: true, body: harmonyBody},
	{name: "tool_code", open: []string{"tool_code"}, lineStart: true, body: toolCodeBody},
	{name: "tool fence", open: []string{"```tool_code\n", "```tool_call\n", "```tool_calls\n"}, lineStart: true,
		body: toolFenceBody},
}

// elementDialect is the dialect of calls that are elements: <function=NAME>,
// <function name="NAME">, <invoke name="NAME">, also with a namespace. Their
// openers are tags, which tagAt reads.
var elementDialect = dialect{name: "element", close: []string{"</function>", "</invoke>"}, body: functionBody}

// museDialect is that of Muse-Glimmer, whose elements have a namespace of their own.
var museDialect = dialect{name: "muse", close: elementDialect.close, body: functionBody, guess: true}

// closeDialect reads what stands behind the closing token of Kimi K3.
var closeDialect = dialect{name: "kimi_k3 close", open: []string{"<|close|>"}, body: openBody}

// newlineToken is a newline that a tokenizer did not decode.
const newlineToken = "<0x0A>"

// m3 is what MiniMax M3 puts before every tag.
const m3 = "]<]minimax[>["

// cased writes a tag of two words in the other ways in which models do, alone and as a
// plural.
func cased(open, word string) []string {
	a, b, _ := strings.Cut(word, "_")
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	var out []string
	for _, plural := range []string{"", "s"} {
		w := b + plural
		for _, form := range []string{strings.ToUpper(a + "_" + w), strings.ToUpper(a) + strings.ToUpper(w), title(a) + "_" + title(w),
			title(a) + title(w), a + title(w), a + w, a + "-" + w} {
			if tag := open + form + ">"; tag != "<TOOLCALL>" && tag != "</TOOLCALL>" { // has an entry
				out = append(out, tag)
			}
		}
	}
	return out
}

// bothBars writes a special token with fullwidth and with ASCII bars.
func bothBars(word string) []string { return []string{"<｜" + word + "｜>", "<|" + word + "|>"} }

// wrappers stand around the openers above. Kimi's ends reasoning.
var wrappers = []string{
	m3 + "<tool_call>", "<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_requests|>",
	"<｜DSML｜tool_calls>", "<｜DSML｜function_calls>",
}

// closers end what the wrappers and the malformed calls of the field open.
var closers = []string{
	"<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>", "<｜tool_calls_end｜>", "<|tool_calls_end|>",
	"<|tool_calls_section_end|>", "<|tool_call_section_end|>", m3 + "</tool_call>",
	"<|plamo:end_tool_requests:plamo|>", "<|plamo:end_tool_requests|>",
	"<|role_sep|>", "</function_invocation>", "</tools>", "<|tool_call_argument_begin|>",
	"</parameter>", "</param>", "</arg_value>", "</arg_key>",
}

// discarded are dropped wherever they stand outside of code.
var discarded = []string{
	"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
	"<|content_text|>", "<|end_message|>", "<|message_user|>",
	"<|message|>", "<|return|>", "<|call|>", "<|end|>", "<|eom|>", "<|eom_id|>", "<|eot_id|>", "<|constrain|>",
	"<tool_call|>", "<|tool_response>", "<tool_response|>", "<SPECIAL_12>", "<SPECIAL_11>",
	newlineToken, "[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<|close|>", "<|sep|>",
}

// edges are the tokens of chat templates.
var edges = []string{
	"<|im_end|>", "<|im_start|>", "<|im_start|>assistant", "<|start_header_id|>assistant<|end_header_id|>",
	"<|start_of_role|>assistant<|end_of_role|>", "</s>", "<s>", "<｜end▁of▁sentence｜>", "<|end▁of▁sentence|>",
	"<｜begin▁of▁sentence｜>",
	"<|END_OF_TURN_TOKEN|>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>", "<end_of_turn>", "<start_of_turn>",
	"<turn|>", "<|turn>",
	"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|assistant|>", "<|user|>", "<|observation|>",
	"<|system|>",
	"<|end_of_msg|>", "<eos>", "<bos>", "[EOS]", "<|im_middle|>", "<|endofprompt|>", "[e~[", "<[EOS]>",
	"<|im_assistant|>",
	"<|start_of_role|>", "<|end_of_role|>", "<｜Assistant｜>", "<｜User｜>", "<|CHATBOT_TOKEN|>", "<|START_OF_TURN_TOKEN|>",
	"<|hy_eos|>", "<|eot|>", "<|role_end|>", "<|iquest_end|>", "<|ifm|im_end|>", "<|ifm|endoftext|>",
	"<|assistant_start|>", "<|assistant_end|>", "<|from|>assistant", "<|from|> assistant",
}

// reasoners are the markers of reasoning.
var reasoners = []struct {
	open  []string
	close []string
}{
	{[]string{"<think>"}, []string{"</think>"}},
	{[]string{"<thinking>"}, []string{"</thinking>"}},
	{[]string{"<reasoning>"}, []string{"</reasoning>"}},
	{[]string{"<thought>"}, []string{"</thought>"}},
	{[]string{"<scratch_pad>", "<scratchpad>"}, []string{"</scratch_pad>", "</scratchpad>"}},
	{[]string{"[THINK]"}, []string{"[/THINK]"}},
	{[]string{"<|START_THINKING|>"}, []string{"<|END_THINKING|>"}},
	{[]string{"<seed:think>"}, []string{"</seed:think>"}},
	{[]string{"<|think:start|>"}, []string{"<|think:end|>"}},
	{[]string{"<mm:think>"}, []string{"</mm:think>"}},
	{[]string{"<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"},
		[]string{"</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"}},
	{[]string{"<think:opensource>"}, []string{"</think:opensource>"}},
	{[]string{"<|channel>thought\n", "<|channel>thought", "<|channel>"}, []string{"<channel|>"}},
	{[]string{"<|content_thinking|>"}, []string{"<|end_message|>"}},
	{[]string{"<|begin_of_thought|>"}, []string{"<|end_of_thought|>"}},
	{[]string{"<|inner_prefix|>"}, []string{"<|inner_suffix|>"}},
}

// spokenReasoners are sentences with which answers begin that are reasoning.
var spokenReasoners = []struct{ open, close string }{
	{"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"},
	{"Here is my thought process:", "Here is my response:"},
	{"Here's my thought process:", "Here's my response:"},
}

// framers are tags that stand around the whole answer.
var framers = []string{"answer", "response", "final_answer"}

func allMarkers() []marker {
	var all []marker
	add := func(r role, d *dialect, texts ...string) {
		for _, t := range texts {
			all = append(all, marker{text: t, role: r, dialect: d})
		}
	}
	for i := range dialects {
		d := &dialects[i]
		if !d.lineStart {
			add(opens, d, d.open...)
		}
	}
	add(opens, &closeDialect, closeDialect.open...)
	for _, r := range reasoners {
		for _, t := range r.open {
			all = append(all, marker{text: t, role: reasons, closers: r.close})
		}
		for _, t := range r.close {
			if t != "<|end_message|>" {
				add(ends, nil, t)
			}
		}
	}
	add(wraps, nil, wrappers...)
	add(dropped, nil, discarded...)
	add(edge, nil, edges...)
	for i := range dialects { // after the two above, which have some of these too
		add(closes, &dialects[i], dialects[i].close...)
	}
	add(closes, &elementDialect, elementDialect.close...)
	add(closes, nil, closers...)
	for _, f := range framers {
		add(frames, nil, "<"+f+">")
		add(unframes, nil, "</"+f+">")
	}
	return all
}
