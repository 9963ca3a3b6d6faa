package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/intext"
)

// item is one entry of the input of the responses API: a message, a call, the
// result of one. The format is that of OpenAI's API reference, "Create a model
// response".
type item struct {
	Type string `json:"type,omitempty"`
	// Role and Content are a message's; Content is a text or a list of parts.
	Role    string `json:"role,omitempty"`
	Content any    `json:"content,omitempty"`
	// CallID, Name and Arguments are a call's; Output is a result's.
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
}

// responseBody is what POST /responses takes. Nothing is stored at the provider.
type responseBody struct {
	Model             string         `json:"model"`
	Input             []any          `json:"input"`
	Store             bool           `json:"store"`
	Include           []string       `json:"include,omitempty"`
	Reasoning         map[string]any `json:"reasoning,omitempty"`
	Tools             []any          `json:"tools,omitempty"`
	ToolChoice        any            `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls,omitempty"`
	MaxOutputTokens   int            `json:"max_output_tokens,omitempty"`
}

// responseBody translates a request, minding the quirks learned so far.
func (m *Model) responseBody(req llm.Request) responseBody {
	known := quirk(m.quirks.Load())
	if known&noTools != 0 && m.cfg.Able.Tools != llm.Yes {
		req = intext.Request(req)
	}
	b := responseBody{Model: m.cfg.Model, Input: m.input(req.Messages, known), MaxOutputTokens: req.MaxOutputTokens}
	if m.cfg.Able.Reasoning != llm.No && known&noEncrypted == 0 {
		b.Include = []string{"reasoning.encrypted_content"}
	}
	if m.cfg.Able.Reasoning.Or(false) && known&noEffort == 0 {
		b.Reasoning = map[string]any{"effort": "medium"}
		if known&noSummary == 0 {
			b.Reasoning["summary"] = "auto"
		}
	}
	m.responseTools(&b, req, known)
	return b
}

// responseTools sets the tools and the choice.
func (m *Model) responseTools(b *responseBody, req llm.Request, known quirk) {
	search := m.cfg.NativeSearch && m.cfg.API == APIResponses && req.Choice != llm.ChoiceNone &&
		req.Choice != llm.ChoiceRequired && !req.NoServerTools
	for _, def := range req.Tools {
		if search && def.Name == llm.SearchTool {
			continue
		}
		b.Tools = append(b.Tools, map[string]any{"type": "function", "name": def.Name, "description": def.Description,
			"parameters": def.Schema(), "strict": false})
	}
	if search {
		b.Tools = append(b.Tools, map[string]any{"type": llm.SearchTool})
	}
	if len(b.Tools) == 0 {
		return
	}
	if known&noToolChoice == 0 && req.Choice != "" {
		b.ToolChoice = string(req.Choice)
		if req.Choice == llm.ChoiceRequired && len(req.Tools) == 1 {
			b.ToolChoice = map[string]any{"type": "function", "name": req.Tools[0].Name}
		}
	}
	if m.cfg.Able.Parallel == llm.No && known&noParallel == 0 {
		b.ParallelToolCalls = new(bool)
	}
}

// input writes the history as items. Reasoning that the provider encrypted goes
// before the answer that it led to.
func (m *Model) input(in []llm.Message, known quirk) []any {
	out := []any{}
	for _, msg := range arranged(in, known) {
		switch msg.Role {
		case llm.RoleSystem:
			role := "system"
			if known&developerRole != 0 {
				role = "developer"
			}
			out = append(out, item{Role: role, Content: msg.Text})
		case llm.RoleAssistant:
			if strings.TrimSpace(msg.Text) != "" || len(msg.ToolCalls) > 0 { // reasoning alone is refused
				for _, raw := range m.encrypted(msg) {
					out = append(out, raw)
				}
			}
			if strings.TrimSpace(msg.Text) != "" {
				out = append(out, item{Role: "assistant", Content: msg.Text})
			}
			for _, call := range msg.ToolCalls {
				out = append(out, item{Type: "function_call", CallID: callID(call.ID, known),
					Name: llm.CallName(call.Name), Arguments: llm.ArgumentsJSON(call.Arguments)})
			}
		case llm.RoleTool:
			out = append(out, item{Type: "function_call_output", CallID: callID(msg.ToolCallID, known),
				Output: &msg.Text})
		default:
			out = append(out, item{Role: "user", Content: m.userParts(msg, known)})
		}
	}
	return out
}

// userParts is the content of a question: a text, or parts where it has images
// that the model sees.
func (m *Model) userParts(msg llm.Message, known quirk) any {
	if !m.cfg.Able.Vision.Or(false) || known&noImages != 0 || !msg.HasImages() {
		return msg.Content()
	}
	text, images := msg.Seen()
	parts := []any{map[string]any{"type": "input_text", "text": text}}
	for _, image := range images {
		parts = append(parts, map[string]any{"type": "input_image", "image_url": image.DataURI()})
	}
	return parts
}

// keptItems is what a Native of the responses API holds: reasoning items, each as
// it came, with its content encrypted.
type keptItems struct {
	Items []json.RawMessage `json:"items"`
}

// encrypted returns the reasoning items that came with a message.
func (m *Model) encrypted(msg llm.Message) []json.RawMessage {
	var k keptItems
	if !msg.Native.Of(m.cfg.Provider, m.cfg.Model) || json.Unmarshal(msg.Native.Data, &k) != nil {
		return nil
	}
	return slices.DeleteFunc(k.Items, func(raw json.RawMessage) bool { return string(raw) == "null" })
}
