package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// quirk is one thing that an endpoint turned out to refuse. A model learns it
// from the refusal and remembers it for its lifetime.
type quirk uint32

const (
	// noStreamOptions: stream_options is refused; there will be no usage.
	noStreamOptions quirk = 1 << iota
	// newMaxTokens: max_tokens is refused in favour of max_completion_tokens.
	newMaxTokens
	// noToolChoice: tool_choice is refused.
	noToolChoice
)

// quirkWords tells by which words of a refusal a quirk is recognised.
var quirkWords = []struct {
	quirk quirk
	word  string
}{
	{noStreamOptions, "stream_options"},
	{noStreamOptions, "include_usage"},
	{newMaxTokens, "max_completion_tokens"},
	{noToolChoice, "tool_choice"},
}

// learn reads a refusal and tells whether it taught something new that the
// request can do without.
func (m *Model) learn(refusal string, sent sdk.ChatCompletionNewParams) bool {
	for _, entry := range quirkWords {
		if strings.Contains(refusal, entry.word) && uses(sent, entry.quirk) {
			m.quirks.Or(uint32(entry.quirk))
			return true
		}
	}
	return false
}

// uses tells whether the request has what the quirk takes away.
func uses(p sdk.ChatCompletionNewParams, q quirk) bool {
	switch q {
	case noStreamOptions:
		return p.StreamOptions.IncludeUsage.Valid()
	case newMaxTokens:
		return p.MaxTokens.Valid()
	default:
		return p.ToolChoice.OfAuto.Valid()
	}
}

// params translates a request, minding the quirks learned so far.
func (m *Model) params(req llm.Request) sdk.ChatCompletionNewParams {
	known := quirk(m.quirks.Load())
	p := sdk.ChatCompletionNewParams{Model: m.cfg.Model, Messages: messages(req.Messages), Tools: tools(req.Tools)}
	if known&noStreamOptions == 0 {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if len(p.Tools) > 0 && known&noToolChoice == 0 && req.Choice != "" {
		p.ToolChoice.OfAuto = param.NewOpt(string(req.Choice))
	}
	if n := int64(req.MaxOutputTokens); n > 0 {
		if known&newMaxTokens != 0 {
			p.MaxCompletionTokens = param.NewOpt(n)
		} else {
			p.MaxTokens = param.NewOpt(n)
		}
	}
	return p
}

func messages(in []llm.Message) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(in))
	for _, msg := range in {
		switch msg.Role {
		case llm.RoleSystem:
			out = append(out, sdk.SystemMessage(msg.Text))
		case llm.RoleAssistant:
			out = append(out, assistant(msg))
		case llm.RoleTool:
			out = append(out, sdk.ToolMessage(msg.Text, msg.ToolCallID))
		default:
			out = append(out, sdk.UserMessage(msg.Content()))
		}
	}
	return out
}

func assistant(msg llm.Message) sdk.ChatCompletionMessageParamUnion {
	var p sdk.ChatCompletionAssistantMessageParam
	if msg.Text != "" || len(msg.ToolCalls) == 0 {
		p.Content.OfString = param.NewOpt(msg.Text)
	}
	for _, call := range msg.ToolCalls {
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: call.Name, Arguments: validArguments(call.Arguments),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &p}
}

// validArguments returns arguments that every endpoint can parse: several refuse
// a whole history for one malformed call in it.
func validArguments(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	if json.Valid([]byte(text)) {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"malformed_arguments": text})
	if err != nil { // a map of strings always encodes
		return "{}"
	}
	return string(wrapped)
}

func tools(in []llm.ToolDef) []sdk.ChatCompletionToolUnionParam {
	var out []sdk.ChatCompletionToolUnionParam
	for _, def := range in {
		var schema shared.FunctionParameters
		if err := json.Unmarshal(def.Parameters, &schema); err != nil || schema == nil {
			schema = shared.FunctionParameters{"type": "object", "properties": map[string]any{}}
		}
		fn := shared.FunctionDefinitionParam{Name: def.Name, Parameters: schema}
		if def.Description != "" {
			fn.Description = param.NewOpt(def.Description)
		}
		out = append(out, sdk.ChatCompletionFunctionTool(fn))
	}
	return out
}
