package openai

import (
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// quirk is one thing that an endpoint turned out to refuse or to insist on. A
// model learns it from the refusal and remembers it. The bits are stored: their
// meaning never changes.
type quirk uint32

const (
	// noStreamOptions: stream_options is refused; there will be no usage.
	noStreamOptions quirk = 1 << iota
	// newMaxTokens: max_tokens is refused in favour of max_completion_tokens.
	newMaxTokens
	// noToolChoice: tool_choice is refused.
	noToolChoice
	// noTools: tools are refused altogether; they are described in the prompt.
	noTools
	// noParallel: parallel_tool_calls is refused.
	noParallel
	// noEffort: reasoning_effort is refused.
	noEffort
	// noImages: images are refused; a text stands for each.
	noImages
	// developerRole: the system message must have the role developer.
	developerRole
	// noSystemRole: there is no system message; it stands before the first question.
	noSystemRole
	// strictRoles: a question may not follow a tool's result or another question.
	strictRoles
	// shortIDs: the id of a call must be short; nine letters and digits do.
	shortIDs
	// toolsForHistory: the definitions must be there where the history has calls.
	toolsForHistory
	// contentRequired: an assistant message must have a content, even an empty one.
	contentRequired
	// reasoningBack: the reasoning of a step with calls must come back with it.
	reasoningBack
	// noEncrypted: there is no reasoning to be had back encrypted.
	noEncrypted
	// chatOnly: there are no responses; chat completions work.
	chatOnly
	// responsesOnly: there are no chat completions; responses work.
	responsesOnly
	// noSummary: summaries of the reasoning are refused.
	noSummary
)

// lesson tells by which words of a refusal a quirk is recognised, and whether a
// request has what it is about.
type lesson struct {
	quirk quirk
	// words are in lower case; all of one entry must occur.
	words [][]string
	about func(request) bool
}

var lessons = []lesson{
	{noStreamOptions, [][]string{{"stream_options"}, {"include_usage"}}, always},
	{newMaxTokens, [][]string{{"max_completion_tokens"}}, func(r request) bool { return r.MaxOutputTokens > 0 }},
	{noTools, [][]string{{"does not support tools"}, {"does not support tool"}, {"does not support function"},
		{"tools are not supported"},
		{"tool calling is not supported"}, {"function calling is not supported"}, {"tool use is not supported"},
		{"enable-auto-tool-choice"},
		{"no endpoints found that support tool use"}, {"tools param requires --jinja"}, {"tools", "--jinja"}},
		request.hasTools},
	{noParallel, [][]string{{"parallel_tool_calls"}},
		func(r request) bool { return r.able.Parallel == llm.No && r.hasTools() }},
	{noToolChoice, [][]string{{"tool_choice"}}, request.hasTools},
	{noEncrypted, [][]string{{"encrypted_content"}, {"encrypted content"}},
		func(r request) bool { return r.responses }},
	{noSummary, [][]string{{"reasoning.summary"}, {"reasoning summar"}},
		func(r request) bool { return r.responses && r.able.Reasoning.Or(false) }},
	{noEffort, [][]string{{"reasoning_effort"}, {"reasoning.effort"}},
		func(r request) bool { return r.able.Reasoning.Or(false) }},
	{noImages, [][]string{{"image_url"}, {"image input"}, {"not support image"}, {"does not support vision"},
		{"not a multimodal"}, {"mmproj"}}, request.hasImages},
	{developerRole, [][]string{{"role", "does not support 'system'"}, {"use 'developer'"}}, request.hasSystem},
	{noSystemRole, [][]string{{"system role not supported"}, {"system role is not supported"},
		{"developer instruction is not enabled"},
		{"does not support system"}, {"does not support 'developer'"}}, request.hasSystem},
	{strictRoles, [][]string{{"roles must alternate"}, {"unexpected role 'user' after role 'tool'"},
		{"unexpected role \\\"user\\\" after role \\\"tool\\\""},
		{"after role", "tool"}, {"must alternate"}}, always},
	{shortIDs, [][]string{{"length of 9"}, {"tool_call", "id", "string too long"}, {"call_id", "string too long"}},
		request.hasCalls},
	{toolsForHistory, [][]string{{"tools=", "must be", "history"}, {"toolconfig field must be defined"},
		{"tools", "required", "tool_use"},
		{"must be specified when conversation contains tool"}, {"`tools=` param"}},
		func(r request) bool { return r.hasCalls() && len(r.Tools) == 0 }},
	{reasoningBack, [][]string{{"reasoning_content"}}, request.hasCalls},
	{contentRequired, [][]string{{"content", "field required"}, {"content", "missing"}, {"content", "null"},
		{"content", "should be a valid string"}}, request.hasCalls},
}

// request is an llm.Request with what the model is able to.
type request struct {
	llm.Request
	able llm.Abilities
	// responses tells that it goes to the responses API.
	responses bool
}

func always(request) bool         { return true }
func (r request) hasTools() bool  { return len(r.Tools) > 0 }
func (r request) hasSystem() bool { return r.hasRole(llm.RoleSystem) }
func (r request) hasCalls() bool  { return r.hasRole(llm.RoleTool) }

func (r request) hasRole(role llm.Role) bool {
	return slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Role == role })
}

func (r request) hasImages() bool {
	return r.able.Vision.Or(false) && slices.ContainsFunc(r.Messages, llm.Message.HasImages)
}

// learn reads a refusal and tells whether it taught something new that the
// request can do without. responses tells by which interface it was sent, with what was
// known when it was; another answer may have learned more meanwhile.
func (m *Model) learn(refusal string, req llm.Request, responses bool, with quirk) bool {
	refusal = strings.ToLower(refusal)
	m.learning.Lock()
	defer m.learning.Unlock()
	known := quirk(m.quirks.Load())
	if known != with {
		return true
	}
	r := request{req, m.cfg.Able, responses}
	for _, l := range lessons {
		if known&l.quirk != 0 || !l.about(r) || l.quirk == noTools && m.cfg.Able.Tools == llm.Yes {
			continue
		}
		if slices.ContainsFunc(l.words, func(all []string) bool { return containsAll(refusal, all) }) {
			m.quirks.Store(uint32(known | l.quirk))
			return true
		}
	}
	return false
}

// Forget implements llm.Forgetter.
func (m *Model) Forget() {
	m.learning.Lock()
	defer m.learning.Unlock()
	m.quirks.Store(0)
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
