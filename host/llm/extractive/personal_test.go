package extractive

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

var rememberTool = llm.ToolDef{Name: "add_memory",
	Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
var readTool = llm.ToolDef{Name: "read_file", Parameters: json.RawMessage(`{"type":"object","properties":{"file":{"type":"string"},"offset":{"type":"integer"}},"required":["file"]}`)}

func remembering(items ...string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Text: "You are careful.\n\n" + llm.RememberedHeading + "\n- " +
		strings.Join(items, "\n- ") + "\n\nUse it."}
}

func TestWhatItWasToldIsAnsweredPlainly(t *testing.T) {
	system := remembering("My favourite tea is Assam.", "My dog is called Rex.",
		"The harbour pilot course begins in May.")
	for _, c := range []struct{ question, answer, call string }{
		{"What is my favourite tea?", "You told me: My favourite tea is Assam.", ""},
		{"What is the name of my dog, and how old is it?", "", toolSearch},
		{"How is my dog called?", "You told me: My dog is called Rex.", ""},
		{"What do you remember about me?", "I remember:\n\n- My favourite tea is Assam.\n- My dog is called Rex.\n- " +
			"The harbour pilot course begins in May.", ""},
		{"List my memories", "I remember:", ""},
		{"When does the harbour pilot course begin?", "", toolSearch},
		{"How do I declare a capability?", "", toolSearch},
	} {
		s := ask(t, llm.Request{Messages: []llm.Message{system, user(c.question)},
			Tools: []llm.ToolDef{searchTool, rememberTool}})
		if c.call == "" && (len(s.calls) != 0 || !strings.HasPrefix(s.text, c.answer)) || c.call != "" &&
			(len(s.calls) != 1 || s.calls[0].Name != c.call) {
			t.Errorf("%q: %+v", c.question, s)
		}
	}
	s := ask(t, llm.Request{Messages: []llm.Message{user("What do you remember about me?")}})
	if !strings.HasPrefix(s.text, "Nothing is remembered about you") {
		t.Errorf("%+v", s)
	}
}

func TestItSaysWhatItWillRemember(t *testing.T) {
	question := user("Remember that my favourite tea is Assam.")
	s := ask(t, llm.Request{Messages: []llm.Message{question}, Tools: []llm.ToolDef{searchTool, rememberTool}})
	if len(s.calls) != 1 || s.calls[0].Arguments != `{"text":"my favourite tea is Assam."}` {
		t.Fatalf("%+v", s)
	}
	for result, answer := range map[string]string{
		"Remembered: my favourite tea is Assam. (id mem_1).": "I will remember: my favourite tea is " +
			"Assam.",
		"This is remembered already: My favourite tea is Assam (id mem_1)": "I remember that already: My favourite " +
			"tea is Assam",
		"Memory may not be used here.": "I found no document to quote. The tool says:\n\n> Memory may not be used here.",
	} {
		s := ask(t, llm.Request{Tools: []llm.ToolDef{searchTool, rememberTool}, Messages: []llm.Message{question,
			{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "add_memory", Arguments: "{}"}}},
			{Role: llm.RoleTool, ToolCallID: "1", ToolName: "add_memory", Text: result}}})
		if s.text != answer || len(s.calls) != 0 {
			t.Errorf("%q: %+v", result, s)
		}
	}
}

func TestAttachedFilesAreQuotedWithTheirRef(t *testing.T) {
	text := strings.Repeat("The weather was fair and nothing happened.\n\n", 100) +
		"The lighthouse burns colza oil, forty litres a night.\n\n" + strings.Repeat("Nothing else is known.\n\n", 100)
	question := user("What does the lighthouse burn?")
	question.Attachments = []llm.Attachment{{ID: "f_1", Ref: 3, Name: "log.md", Text: text, Whole: true}}
	s := ask(t, llm.Request{Messages: []llm.Message{question}, Tools: []llm.ToolDef{searchTool}})
	if len(s.calls) != 0 || !strings.Contains(s.text, "The lighthouse burns colza oil, forty litres a night. [3]") {
		t.Errorf("%+v", s)
	}
	question.Attachments[0].Whole = false
	s = ask(t, llm.Request{Messages: []llm.Message{question}, Tools: []llm.ToolDef{searchTool, readTool}})
	if len(s.calls) != 1 || s.calls[0].Name != "read_file" || s.calls[0].Arguments != `{"file":"f_1"}` {
		t.Errorf("%+v", s)
	}
}

func TestPiecesLoseNothing(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("ä", 5000), strings.Repeat("word ", 2000),
		strings.Repeat("line\n", 2000), strings.Repeat("a\n\nb", 3000)} {
		if got := strings.Join(pieces(text), ""); got != text {
			t.Errorf("%.20q: %d of %d bytes", text, len(got), len(text))
		}
	}
}
