package anthropic

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

const (
	// DefaultMaxOutput bounds an answer where nothing else does; the API wants a
	// bound.
	DefaultMaxOutput = 16000
	// unknownMaxOutput is what every model of this API can write.
	unknownMaxOutput = 8192
	// thinkingBudget is what a model that wants a budget gets, in tokens; half of
	// the output where that is less, and never below minBudget.
	thinkingBudget, minBudget = 8000, 1024
	// maxSearches is how often the provider's own search may run in one answer.
	maxSearches = 5
	// goOn is what is asked where the history ends with an answer.
	goOn = "Go on."
)

// params translates a request. said is what a paused answer has said so far; bare
// leaves the model's own blocks out of the history and asks for no thinking.
func (m *Model) params(req llm.Request, said []*block, bare bool) sdk.MessageNewParams {
	f := m.known()
	p := sdk.MessageNewParams{Model: sdk.Model(m.cfg.Model), MaxTokens: int64(m.maxOutput(req, f))}
	how := m.thinks(f, req)
	if bare {
		how, req = thinkNever, req.WithoutNatives()
	}
	switch how {
	case thinkAdaptive:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
	case thinkBudget:
		budget := max(minBudget, min(thinkingBudget, p.MaxTokens/2))
		p.MaxTokens = max(p.MaxTokens, budget+1)
		p.Thinking.OfEnabled = &sdk.ThinkingConfigEnabledParam{BudgetTokens: budget}
	default:
		if m.cfg.Able.Reasoning == llm.No && f.mayNot && f.thinking != thinkNever {
			p.Thinking.OfDisabled = &sdk.ThinkingConfigDisabledParam{}
		}
	}
	m.tools(&p, req, how == thinkAdaptive || how == thinkBudget)
	p.System, p.Messages = m.messages(req.Messages, f)
	if len(said) > 0 {
		p.Messages = append(p.Messages, sdk.NewAssistantMessage(replayed(said)...))
	} else if n := len(p.Messages); n == 0 || p.Messages[n-1].Role == sdk.MessageParamRoleAssistant {
		p.Messages = append(p.Messages, sdk.NewUserMessage(sdk.NewTextBlock(goOn)))
	}
	if !f.noCache {
		mark(&p)
	}
	return p
}

func (m *Model) maxOutput(req llm.Request, f facts) int {
	n := cmp.Or(req.MaxOutputTokens, m.cfg.MaxOutputTokens)
	switch {
	case n == 0 && f.maxOutput == 0:
		return unknownMaxOutput
	case n == 0:
		return min(DefaultMaxOutput, f.maxOutput)
	case f.maxOutput > 0:
		return min(n, f.maxOutput)
	}
	return n
}

// tools sets the tools and the choice. Definitions stay where the history has
// calls, although none may be made now, and so does the order, for the cache's
// sake. A model that thinks cannot be forced: it is offered nothing else then.
func (m *Model) tools(p *sdk.MessageNewParams, req llm.Request, thinks bool) {
	defs := req.Tools
	search := m.cfg.NativeSearch && req.Choice != llm.ChoiceNone && req.Choice != llm.ChoiceRequired &&
		!req.NoServerTools
	switch {
	case req.Choice == llm.ChoiceRequired && !thinks:
		defs = slices.Concat(req.Tools, req.Withheld)
	case (req.Choice == llm.ChoiceNone || len(defs) == 0) && hasCalls(req):
		defs = llm.Definitions(req)
		if !search {
			p.ToolChoice.OfNone = &sdk.ToolChoiceNoneParam{}
		}
	case req.Choice == llm.ChoiceNone:
		return
	}
	defs = slices.SortedFunc(slices.Values(defs), func(a, b llm.ToolDef) int { return strings.Compare(a.Name, b.Name) })
	for _, def := range defs {
		if search && def.Name == llm.SearchTool {
			continue
		}
		t := sdk.ToolParam{Name: def.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](def.Schema())}
		if def.Description != "" {
			t.Description = param.NewOpt(def.Description)
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &t})
	}
	if search {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfWebSearchTool20250305: &sdk.WebSearchTool20250305Param{MaxUses: param.NewOpt[int64](maxSearches)}})
	}
	if len(p.Tools) == 0 || p.ToolChoice.OfNone != nil {
		return
	}
	serial := param.Opt[bool]{}
	if m.cfg.Able.Parallel == llm.No {
		serial = param.NewOpt(true)
	}
	switch {
	case req.Choice == llm.ChoiceRequired && !thinks && len(req.Tools) == 1:
		p.ToolChoice.OfTool = &sdk.ToolChoiceToolParam{Name: req.Tools[0].Name, DisableParallelToolUse: serial}
	case req.Choice == llm.ChoiceRequired && !thinks:
		p.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{DisableParallelToolUse: serial}
	default:
		p.ToolChoice.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: serial}
	}
}

func hasCalls(req llm.Request) bool {
	return slices.ContainsFunc(req.Messages, func(msg llm.Message) bool {
		return len(msg.ToolCalls) > 0 ||
			msg.Role == llm.RoleTool
	})
}

// markedMessages is how many messages are marked: the last, up to which the next
// request will find the cache, and the one up to which the request before this one
// filled it. Without that mark the API looks for the place itself, over twenty blocks,
// and one step with many calls has more.
const markedMessages = 2

// mark marks what the next request will begin with too: the tools with the system
// message, and the history as it is now.
func mark(p *sdk.MessageNewParams) {
	keep := sdk.NewCacheControlEphemeralParam()
	if n := len(p.System); n > 0 {
		p.System[n-1].CacheControl = keep
	} else if n := len(p.Tools); n > 0 && p.Tools[n-1].OfTool != nil {
		p.Tools[n-1].OfTool.CacheControl = keep
	}
	left := markedMessages
	for _, msg := range slices.Backward(p.Messages) {
		if msg.Role != sdk.MessageParamRoleUser || len(msg.Content) == 0 {
			continue
		}
		if c := msg.Content[len(msg.Content)-1].GetCacheControl(); c != nil {
			*c = keep
		}
		if left--; left == 0 {
			return
		}
	}
}

func (m *Model) messages(in []llm.Message, f facts) (system []sdk.TextBlockParam, out []sdk.MessageParam) {
	add := func(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		out = append(out, sdk.MessageParam{Role: role, Content: blocks})
	}
	for _, msg := range in {
		switch msg.Role {
		case llm.RoleSystem:
			if strings.TrimSpace(msg.Text) != "" {
				system = append(system, sdk.TextBlockParam{Text: msg.Text})
			}
		case llm.RoleAssistant:
			add(sdk.MessageParamRoleAssistant, m.assistant(msg)...)
		case llm.RoleTool:
			add(sdk.MessageParamRoleUser, result(msg))
		default:
			add(sdk.MessageParamRoleUser, m.user(msg, f)...)
		}
	}
	return system, out
}

// maxImageBytes is the largest image that the API takes: 5 MiB in base64.
const maxImageBytes = 5 << 20 / 4 * 3

// user writes a question, its images before its text as the API's guide advises.
func (m *Model) user(msg llm.Message, f facts) []sdk.ContentBlockParamUnion {
	if f.noImages || !m.cfg.Able.Vision.Or(f.vision) {
		return texts(msg.Content())
	}
	text, images := msg.ImagesUpTo(maxImageBytes).Seen()
	var blocks []sdk.ContentBlockParamUnion
	for _, image := range images {
		blocks = append(blocks, sdk.NewImageBlockBase64(image.MediaType,
			base64.StdEncoding.EncodeToString(image.Image)))
	}
	return append(blocks, texts(text)...)
}

// texts is a text as blocks: none for one of spaces, which the API refuses.
func texts(text string) []sdk.ContentBlockParamUnion {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(text)}
}

func result(msg llm.Message) sdk.ContentBlockParamUnion {
	r := sdk.ToolResultBlockParam{ToolUseID: callID(msg.ToolCallID)}
	if strings.TrimSpace(msg.Text) != "" {
		r.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: msg.Text}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &r}
}

// assistant writes an answer: the model's own blocks as they came where it said
// them and the text is still theirs, then the calls as history has them.
func (m *Model) assistant(msg llm.Message) []sdk.ContentBlockParamUnion {
	blocks := m.own(msg)
	for _, call := range msg.ToolCalls {
		blocks = append(blocks, sdk.NewToolUseBlock(callID(call.ID), llm.ArgumentsObject(call.Arguments),
			llm.CallName(call.Name)))
	}
	return blocks
}

// callID returns an id of the characters that the API takes.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

func hasImages(p sdk.MessageNewParams) bool {
	for _, msg := range p.Messages {
		if slices.ContainsFunc(msg.Content, func(b sdk.ContentBlockParamUnion) bool { return b.OfImage != nil }) {
			return true
		}
	}
	return false
}
