package extractive

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var searchTool = llm.ToolDef{Name: toolSearch, Parameters: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},"maxItems":5}},"required":["queries"]}`)}

// said is what a stream says, put together.
type said struct {
	text   string
	calls  []llm.ToolCall
	finish llm.FinishReason
}

func ask(t *testing.T, req llm.Request) said {
	t.Helper()
	var s said
	for ev, err := range New().Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Text:
			s.text += ev.Delta
		case llm.ToolCallDelta:
			s.calls = append(s.calls, llm.ToolCall{ID: ev.ID, Name: ev.Name, Arguments: ev.ArgumentsDelta})
		case llm.Finish:
			s.finish = ev.Reason
		default:
			t.Fatalf("unexpected %#v", ev)
		}
	}
	return s
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

// searched is a conversation whose search has come back.
func searched(t *testing.T, question string, passages []passage) llm.Request {
	t.Helper()
	list := []map[string]any{}
	for _, p := range passages {
		list = append(list, map[string]any{"ref": p.Ref, "title": p.Title, "section": p.Section, "source": "knowledge",
			"content": p.Content})
	}
	text, err := json.Marshal(map[string]any{"results": list})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Request{Tools: []llm.ToolDef{searchTool}, Choice: llm.ChoiceAuto, Messages: []llm.Message{
		user(question),
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "a", Name: toolSearch, Arguments: "{}"}}},
		{Role: llm.RoleTool, ToolCallID: "a", ToolName: toolSearch, Text: string(text)},
	}}
}

// TestAnswersFromRealDocuments holds what the ranking is good at. Documents:
// 1 is contributing, 2 plugins, 3 readme.
func TestAnswersFromRealDocuments(t *testing.T) {
	cases := []struct {
		question string
		// says must all stand in the answer, in this order; never must not.
		says, never []string
	}{
		{"How do I declare a capability?", []string{"The manifest declares the capabilities the plugin wants", "[1]"},
			[]string{"Open the link, ask"}},
		{"What is a plugin?", []string{"A plugin is **one `.wasm` file**. [2]", "It may offer several tools. [2]"},
			nil},
		{"What is Bulkhead?", []string{"Bulkhead is an agent host", "[3]"}, nil},
		{"How do I add a model?", []string{"Models are configured, not compiled in. [3]", "```yaml", "base_url:",
			"default_model: local\n```"}, nil},
		{"Add a provider", []string{"1. `host/llm/NAME`", "2. `host/config`", "3. `host/llm/catalog`", "4. Tests",
			"[1]"}, nil},
		{"What does the manifest look like?", []string{"JSON in the custom section `bulkhead.manifest`", "[2]",
			"```json", `"manifest":1`}, nil},
		{"How do I start it?", []string{"You need git, Go", "```sh", "[3]"}, nil},
		{"Does it work without internet?", []string{"also without internet. [3]"}, nil},
		{"Which command adds documents?", []string{"- `knowledge add PATH", "[3]"}, nil},
		{"what happens when a grant is revoked?", []string{"revoking works at once", "[2]"}, nil},
		{"What is the capital of France?", []string{"I found nothing"}, []string{"[1]", "[2]", "[3]"}},
	}
	all := documents(t)
	for _, c := range cases {
		t.Run(c.question, func(t *testing.T) {
			turn := readExchange(llm.Request{Messages: []llm.Message{user(c.question)}})
			s := ask(t, searched(t, c.question, find(turn.query(), all)))
			if s.finish != llm.FinishStop || len(s.calls) > 0 {
				t.Fatalf("finish %q, calls %v", s.finish, s.calls)
			}
			rest := s.text
			for _, want := range c.says {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q does not come in its place in:\n%s", want, s.text)
				}
				rest = after
			}
			for _, bad := range c.never {
				if strings.Contains(s.text, bad) {
					t.Errorf("%q stands in:\n%s", bad, s.text)
				}
			}
		})
	}
}

// TestEachClaimIsQuotedAndCited checks a law: outside code, whatever an answer
// says stands in the cited passage.
func TestEachClaimIsQuotedAndCited(t *testing.T) {
	all := documents(t)
	code := regexp.MustCompile("(?s)(\n*From “[^”]*” \\[\\d\\]:)?\n*```.*?```")
	cited := regexp.MustCompile(`(?s)^(.*?) \[(\d)\]`)
	for _, question := range []string{"What is a plugin?", "How are labels computed?", "Which capabilities are there?",
		"How do I build and test?", "What does a call cost?"} {
		text := code.ReplaceAllString(ask(t, searched(t, question, find(question, all))).text, "")
		if _, quoted, found := strings.Cut(text, "passage:\n\n"); found {
			text = quoted
		}
		for strings.TrimSpace(text) != "" {
			m := cited.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("%s: no citation after %q", question, text)
			}
			text = text[len(m[0]):]
			claim := strings.Join(terms(strings.TrimLeft(m[1], "-1234567890. \n")), " ")
			if !slices.ContainsFunc(all, func(p passage) bool {
				return string('0'+rune(p.Ref)) == m[2] &&
					strings.Contains(strings.Join(terms(plain(p.Content)), " "),
						strings.TrimSpace(strings.TrimSuffix(claim, ".")))
			}) {
				t.Errorf("%s: %q is not in document %s", question, m[1], m[2])
			}
		}
	}
}

func TestSearchesBeforeItAnswers(t *testing.T) {
	cases := map[string]string{
		"How do I declare a capability?":          `{"queries":["declare capability"]}`,
		"What's the difference between ask/deny?": `{"queries":["difference between ask/deny"]}`,
		"Что такое плагин?":                       `{"queries":["Что такое плагин"]}`,
		"如何声明权限？":                                 `{"queries":["如何声明权限"]}`,
		"compare host_functions with WASI":        `{"queries":["compare host_functions WASI"]}`,
	}
	for question, args := range cases {
		s := ask(t, llm.Request{Messages: []llm.Message{user(question)}, Tools: []llm.ToolDef{searchTool}})
		if len(s.calls) != 1 || s.calls[0].Name != toolSearch || s.calls[0].Arguments != args ||
			s.finish != llm.FinishToolCalls {
			t.Errorf("%q: %+v", question, s)
		}
	}
}

func TestFollowUpWithoutAWordOfItsOwnAsksTheQuestionBefore(t *testing.T) {
	s := ask(t, llm.Request{Tools: []llm.ToolDef{searchTool}, Messages: []llm.Message{
		user("How do I declare a capability?"), {Role: llm.RoleAssistant, Text: "In the manifest."},
		user("Tell me more"),
	}})
	if len(s.calls) != 1 || s.calls[0].Arguments != `{"queries":["declare capability"]}` {
		t.Errorf("%+v", s)
	}
}

func TestSmallTalkIsNotSearched(t *testing.T) {
	for _, message := range []string{"hello", "Hi!", "Guten Tag", "你好", "who are you?", "help", "thanks", "👋"} {
		s := ask(t, llm.Request{Messages: []llm.Message{user(message)}, Tools: []llm.ToolDef{searchTool}})
		if len(s.calls) != 0 || s.text == "" {
			t.Errorf("%q: %+v", message, s)
		}
		if message != "thanks" && !strings.Contains(s.text, "no language model") {
			t.Errorf("%q: it does not say what it is: %s", message, s.text)
		}
	}
}

func TestWithoutToolsItSaysWhatItIs(t *testing.T) {
	s := ask(t, llm.Request{Messages: []llm.Message{user("How do I declare a capability?")}, Choice: llm.ChoiceNone})
	if !strings.Contains(s.text, "no language model") || !strings.Contains(s.text, "no search tool") ||
		len(s.calls) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestNothingFoundIsSaidPlainly(t *testing.T) {
	req := searched(t, "How tall is the Eiffel tower?", nil)
	if s := ask(t, req); !strings.HasPrefix(s.text, "I found nothing about “tall Eiffel tower” in the documents.") {
		t.Error(s.text)
	}
	req = searched(t, "How tall is the Eiffel tower?",
		[]passage{{Ref: 4, Title: "Bread", Content: "Knead the dough for ten minutes."}})
	s := ask(t, req)
	if !strings.HasPrefix(s.text, "I found nothing that answers") ||
		!strings.Contains(s.text, "Knead the dough for ten minutes. [4]") {
		t.Error(s.text)
	}
}

func TestAFailedSearchIsReported(t *testing.T) {
	req := searched(t, "How do I declare a capability?", nil)
	req.Messages[2].Text = "The tool is not available: the index is being rebuilt."
	if s := ask(t, req); !strings.Contains(s.text, "> The tool is not available") || len(s.calls) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCallsOtherToolsOnlyWhenOffered(t *testing.T) {
	open := llm.ToolDef{Name: toolOpenURL, Parameters: json.RawMessage(`{"type":"object","properties":{"urls":{"type":"array","items":{"type":"string"}}},"required":["urls"]}`)}
	remember := llm.ToolDef{Name: "add_memory", Parameters: json.RawMessage(`{"type":"object","properties":{"memory":{"type":"string"},"kind":{"enum":["fact","wish"]}},"required":["memory","kind"]}`)}
	cases := []struct {
		question string
		tools    []llm.ToolDef
		name     string
		args     string
	}{
		{"Summarise https://example.org/a, and https://example.org/b.", []llm.ToolDef{searchTool, open}, toolOpenURL,
			`{"urls":["https://example.org/a","https://example.org/b"]}`},
		{"Summarise https://example.org/a", []llm.ToolDef{searchTool}, toolSearch, ""},
		{"Remember that I like short answers.", []llm.ToolDef{searchTool, remember}, "add_memory",
			`{"kind":"fact","memory":"I like short answers."}`},
		{"Remember that I like short answers.", []llm.ToolDef{searchTool}, toolSearch, ""},
		{"Remember what I said?", []llm.ToolDef{searchTool, remember}, toolSearch, ""},
	}
	for _, c := range cases {
		s := ask(t, llm.Request{Messages: []llm.Message{user(c.question)}, Tools: c.tools})
		if len(s.calls) != 1 || s.calls[0].Name != c.name || c.args != "" && s.calls[0].Arguments != c.args {
			t.Errorf("%q: %+v", c.question, s.calls)
		}
	}
}

func TestRequiredMeansACallThatFits(t *testing.T) {
	def := llm.ToolDef{Name: "plan", Parameters: json.RawMessage(`{"type":"object","required":["goal","steps","when","deep","mode","nested"],"properties":{
		"goal":{"type":"string"},"steps":{"type":"array","items":{"type":"object","required":["url"],"properties":{"url":{"type":"string","format":"uri"}}}},
		"when":{"type":["null","integer"],"minimum":3},"deep":{"type":"boolean"},"mode":{"enum":["fast","slow"]},"nested":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`)}
	s := ask(t, llm.Request{Messages: []llm.Message{user("hello")}, Tools: []llm.ToolDef{def},
		Choice: llm.ChoiceRequired})
	if len(s.calls) != 1 {
		t.Fatalf("%+v", s)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(s.calls[0].Arguments), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"goal": "hello", "steps": []any{map[string]any{"url": "hello"}}, "when": 3.0, "deep": false,
		"mode": "fast", "nested": "hello"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestCancelEndsTheStream(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range New().Stream(ctx, llm.Request{Messages: []llm.Message{user("hello")}}) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}

func TestQuotedTextBringsNoForeignMarkers(t *testing.T) {
	s := ask(t, searched(t, "What is a limit?", []passage{{Ref: 7, Title: "Limits", Content: "A limit is set per " +
		"call [3] and [[4]], see [the page](../limits.md) and `a[1]`."}}))
	if want := "A limit is set per call (3) and (4), see the page and `a[1]`. [7]"; s.text != want {
		t.Errorf("got %q, want %q", s.text, want)
	}
}

func TestSentences(t *testing.T) {
	cases := map[string][]string{
		"One. Two! Three?":                       {"One.", "Two!", "Three?"},
		"Use e.g. Go. Version 1.26 is fine.":     {"Use e.g. Go.", "Version 1.26 is fine."},
		"Run `a. B` now. Then stop.":             {"Run `a. B` now.", "Then stop."},
		"He said \"Stop.\" Then he left.":        {"He said \"Stop.\"", "Then he left."},
		"声明权限。然后构建。":                             {"声明权限。", "然后构建。"},
		"No end":                                 {"No end"},
		"Wait... what? **Bold end.** Next one.":  {"Wait... what?", "**Bold end.**", "Next one."},
		"It is fast. it is lower. `code` begins": {"It is fast. it is lower.", "`code` begins"},
	}
	for text, want := range cases {
		if got := sentences(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("How do I?", `{"results":[{"ref":1,"title":"T","section":"S","content":"# H\n\n1. a\n2. b\n\n| a | b |\n|---|---|\n| c | d |\n\n`+"```go\\nx\\n"+`"}]}`)
	f.Add("", `{"results":[{"content":"`+"```"+`"}]}`)
	f.Add("what is `", `{"results":null,"note":"x"}`)
	f.Add("如何", `[1]`)
	f.Fuzz(func(t *testing.T, question, result string) {
		req := llm.Request{Tools: []llm.ToolDef{searchTool},
			Messages: []llm.Message{user(question), {Role: llm.RoleTool, ToolName: toolSearch, Text: result}}}
		first := ask(t, req)
		if first.text == "" && len(first.calls) == 0 {
			t.Error("neither an answer nor a call")
		}
		if again := ask(t, req); !reflect.DeepEqual(first, again) {
			t.Error("the same question got another answer")
		}
	})
}
