package openai

import (
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/intext"
)

// params translates a request, minding the quirks learned so far.
func (m *Model) params(req llm.Request) sdk.ChatCompletionNewParams {
	known := quirk(m.quirks.Load())
	if known&noTools != 0 && m.cfg.Able.Tools != llm.Yes {
		req = intext.Request(req)
	}
	p := sdk.ChatCompletionNewParams{Model: m.cfg.Model, Messages: m.messages(req.Messages, known),
		Tools: tools(req.Tools)}
	choice := req.Choice
	if len(p.Tools) == 0 && known&toolsForHistory != 0 && (request{Request: req}).hasCalls() {
		p.Tools, choice = tools(llm.Definitions(req)), llm.ChoiceNone
	}
	if known&noStreamOptions == 0 {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if len(p.Tools) > 0 && known&noToolChoice == 0 && choice != "" {
		p.ToolChoice.OfAuto = param.NewOpt(string(choice))
	}
	if len(p.Tools) > 0 && known&noParallel == 0 && m.cfg.Able.Parallel == llm.No {
		p.ParallelToolCalls = param.NewOpt(false)
	}
	if known&noEffort == 0 && m.cfg.Able.Reasoning.Or(false) {
		p.ReasoningEffort = shared.ReasoningEffortMedium
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

// read is what stands between a result and a question where an endpoint wants an
// answer there.
const read = "I have read the result."

// arranged puts messages into the order that an endpoint insists on.
func arranged(in []llm.Message, known quirk) []llm.Message {
	if known&(noSystemRole|strictRoles) == 0 {
		return in
	}
	var out []llm.Message
	lead := ""
	for _, msg := range in {
		last := len(out) - 1
		switch {
		case msg.Role == llm.RoleSystem && known&noSystemRole != 0:
			lead += msg.Text + "\n\n"
			continue
		case msg.Role == llm.RoleUser && lead != "":
			msg.Text, lead = lead+msg.Text, ""
		}
		if known&strictRoles != 0 && msg.Role == llm.RoleUser && last >= 0 {
			switch out[last].Role {
			case llm.RoleUser:
				out[last].Text += "\n\n" + msg.Text
				out[last].Attachments = append(out[last].Attachments[:len(out[last].Attachments):len(out[last].Attachments)], msg.Attachments...)
				continue
			case llm.RoleTool:
				out = append(out, llm.Message{Role: llm.RoleAssistant, Text: read})
			}
		}
		out = append(out, msg)
	}
	return out
}

func (m *Model) messages(in []llm.Message, known quirk) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(in))
	for _, msg := range arranged(in, known) {
		switch msg.Role {
		case llm.RoleSystem:
			if known&developerRole != 0 {
				out = append(out, sdk.DeveloperMessage(msg.Text))
			} else {
				out = append(out, sdk.SystemMessage(msg.Text))
			}
		case llm.RoleAssistant:
			out = append(out, m.assistant(msg, known))
		case llm.RoleTool:
			out = append(out, sdk.ToolMessage(msg.Text, callID(msg.ToolCallID, known)))
		default:
			out = append(out, m.user(msg, known))
		}
	}
	return out
}

// user writes a question, with its images where the model sees them.
func (m *Model) user(msg llm.Message, known quirk) sdk.ChatCompletionMessageParamUnion {
	if !m.cfg.Able.Vision.Or(false) || known&noImages != 0 || !msg.HasImages() {
		return sdk.UserMessage(msg.Content())
	}
	text, images := msg.Seen()
	parts := []sdk.ChatCompletionContentPartUnionParam{sdk.TextContentPart(text)}
	for _, image := range images {
		parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: image.DataURI()}))
	}
	return sdk.UserMessage(parts)
}

func (m *Model) assistant(msg llm.Message, known quirk) sdk.ChatCompletionMessageParamUnion {
	var p sdk.ChatCompletionAssistantMessageParam
	if msg.Text != "" || len(msg.ToolCalls) == 0 || known&contentRequired != 0 {
		p.Content.OfString = param.NewOpt(msg.Text)
	}
	for _, call := range msg.ToolCalls {
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: callID(call.ID, known),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: llm.CallName(call.Name), Arguments: llm.ArgumentsJSON(call.Arguments),
				},
			},
		})
	}
	if known&reasoningBack != 0 && len(msg.ToolCalls) > 0 {
		p.SetExtraFields(map[string]any{reasoningField: m.reasoned(msg)})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &p}
}

// callID returns the id of a call as the endpoint takes it: as it is, or nine
// letters and digits made of it.
func callID(id string, known quirk) string {
	if known&shortIDs == 0 {
		return id
	}
	return shortID(id)
}

func tools(in []llm.ToolDef) []sdk.ChatCompletionToolUnionParam {
	var out []sdk.ChatCompletionToolUnionParam
	for _, def := range in {
		fn := shared.FunctionDefinitionParam{Name: def.Name, Parameters: def.Schema()}
		if def.Description != "" {
			fn.Description = param.NewOpt(def.Description)
		}
		out = append(out, sdk.ChatCompletionFunctionTool(fn))
	}
	return out
}
