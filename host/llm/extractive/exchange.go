package extractive

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// The tools that the model knows what to do with.
const (
	toolSearch  = "internal_search"
	toolOpenURL = "open_url"
)

// memoryTools take something to remember, in order of preference.
var memoryTools = []string{"add_memory", "memory"}

// exchange is a request as this model reads it: the question, and what happened
// since it was asked.
type exchange struct {
	question string
	// before is the question before this one, "" for none.
	before string
	tools  []llm.ToolDef
	choice llm.Choice
	called map[string]bool
	// results are the tool messages since the question.
	results []llm.Message
	// remembered is what the system message says of the person, the newest first.
	remembered []string
	// attached are the files of the conversation, the last attached first.
	attached []llm.Attachment
}

func readExchange(req llm.Request) exchange {
	e := exchange{tools: req.Tools, choice: req.Choice, called: map[string]bool{}}
	for _, msg := range req.Messages {
		switch msg.Role {
		case llm.RoleSystem:
			e.remembered = llm.Remembered(msg.Text)
		case llm.RoleUser:
			if msg.Note { // it goes on about the same question
				continue
			}
			e.attached = append(slices.Clone(msg.Attachments), e.attached...)
			e.before, e.question = e.question, strings.TrimSpace(msg.Text)
			e.results, e.called = nil, map[string]bool{}
		case llm.RoleAssistant:
			for _, call := range msg.ToolCalls {
				e.called[call.Name] = true
			}
		case llm.RoleTool:
			e.results = append(e.results, msg)
			e.called[msg.ToolName] = true
		}
	}
	return e
}

// tool returns the tool of that name if it is offered and was not called yet.
func (e *exchange) tool(name string) (llm.ToolDef, bool) {
	for _, def := range e.tools {
		if def.Name == name && !e.called[name] {
			return def, true
		}
	}
	return llm.ToolDef{}, false
}

// calls returns the calls to make now, none when it is time to answer.
func (e *exchange) calls() []llm.Event {
	if e.choice == llm.ChoiceNone || len(e.tools) == 0 {
		return nil
	}
	if def, want, ok := e.wish(); ok {
		return []llm.Event{callOf(def, want)}
	}
	if e.choice == llm.ChoiceRequired && len(e.results) == 0 {
		def := e.tools[0]
		for _, d := range e.tools {
			if d.Name == toolSearch {
				def = d
			}
		}
		return []llm.Event{callOf(def, material{text: e.question, query: e.query(), urls: urls(e.question)})}
	}
	return nil
}

// wish is the tool that the question itself asks for.
func (e *exchange) wish() (llm.ToolDef, material, bool) {
	if links := urls(e.question); len(links) > 0 {
		if def, ok := e.tool(toolOpenURL); ok {
			return def, material{text: e.question, query: e.query(), urls: links}, true
		}
	}
	if what, ok := toRemember(e.question); ok {
		for _, name := range memoryTools {
			if e.called[name] {
				return llm.ToolDef{}, material{}, false
			}
			if def, ok := e.tool(name); ok {
				return def, material{text: what, query: what}, true
			}
		}
	}
	if a, waiting := e.unread(); waiting {
		if def, ok := e.tool(toolReadFile); ok {
			return def, material{text: a.ID, query: a.ID}, true
		}
	}
	if e.asksForMemories() || e.recalls() || len(e.attachedPassages()) > 0 {
		return llm.ToolDef{}, material{}, false
	}
	if len(e.results) > 0 || e.smallTalk() != "" || e.query() == "" {
		return llm.ToolDef{}, material{}, false
	}
	def, ok := e.tool(toolSearch)
	return def, material{text: e.question, query: e.query()}, ok
}

// maxQueryTerms bounds what is searched for; a pasted page is no query.
const maxQueryTerms = 24

// query is the question without filler; of a question that is nothing but
// filler ("tell me more") it is the one before.
func (e *exchange) query() string {
	if q := withoutFiller(e.question); q != "" {
		return q
	}
	if q := withoutFiller(e.before); q != "" {
		return q
	}
	return ""
}

func withoutFiller(text string) string {
	var kept []string
	for _, word := range wordsOf(text) {
		if !filler[fold(word)] && len(kept) < maxQueryTerms {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

// urlPattern finds addresses in running text.
var urlPattern = regexp.MustCompile(`https?://[^\s<>"'\x60]+`)

// maxURLs bounds what is opened for one question.
const maxURLs = 5

func urls(text string) []string {
	var out []string
	for _, u := range urlPattern.FindAllString(text, maxURLs) {
		u = strings.TrimRight(u, ".,;:!?)]}。、")
		if !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// rememberPattern recognises being told to remember something.
var rememberPattern = regexp.MustCompile(`(?is)^(?:please\s+)?(?:remember|note|keep in mind|don't forget|do not forget|merke? dir|retiens|recuerda)\b[\s,:]*(?:that\s+|dass\s+|que\s+)?(.+)$`)

// toRemember returns what to remember; a question ("remember what I said?") is
// none.
func toRemember(text string) (string, bool) {
	m := rememberPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || strings.HasSuffix(strings.TrimSpace(text), "?") {
		return "", false
	}
	return strings.TrimSpace(m[1]), true
}

func callOf(def llm.ToolDef, m material) llm.Event {
	args, err := json.Marshal(fit(def.Parameters, m))
	if err != nil { // fit makes only what encodes
		args = []byte("{}")
	}
	return llm.ToolCallDelta{Index: 0, ID: "call_" + def.Name, Name: def.Name, ArgumentsDelta: string(args)}
}
