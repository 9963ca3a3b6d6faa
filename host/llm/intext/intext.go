// Package intext is for models without a tool-call channel of their own, and for
// those whose channel is not to be trusted (native_tools: no). It wraps a model:
// the tools are described in the prompt, and the calls and results of the history
// are written into the text, in one clear format. A request with tools comes in,
// one without any goes to the wrapped model.
//
// The model's calls come out as text; host/salvage reads them. The package knows
// nothing of that parser beyond the format that both know, nor of packets.
package intext

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// Wrap returns a model that is told of its tools in the prompt. It is safe for
// concurrent use if m is.
func Wrap(m llm.Model) llm.Model { return model{m} }

type model struct{ llm.Model }

// Prepare prepares the wrapped model.
func (m model) Prepare(ctx context.Context) error { return llm.Prepare(ctx, m.Model) }

// Stream asks the wrapped model.
func (m model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.Model.Stream(ctx, Request(req))
}

// Request writes the tools, calls and results of a request into its text. The
// request that comes in is not changed.
func Request(req llm.Request) llm.Request {
	out := req
	out.Tools, out.Choice, out.Messages = nil, llm.ChoiceNone, nil
	described := req.Choice == llm.ChoiceNone || len(req.Tools) == 0
	for _, m := range req.Messages {
		switch {
		case m.Role == llm.RoleSystem && !described:
			m.Text = strings.TrimRight(m.Text, "\n") + "\n\n" + Describe(req.Tools, req.Choice)
			described = true
		case m.Role == llm.RoleAssistant && len(m.ToolCalls) > 0:
			m.Text, m.ToolCalls = withCalls(m), nil
		case m.Role == llm.RoleTool:
			m = result(m)
			if last := len(out.Messages) - 1; last >= 0 && out.Messages[last].Role == llm.RoleUser &&
				strings.HasPrefix(out.Messages[last].Text, openResult) {
				out.Messages[last].Text += "\n" + m.Text
				continue
			}
		}
		out.Messages = append(out.Messages, m)
	}
	if !described {
		system := llm.Message{Role: llm.RoleSystem, Text: Describe(req.Tools, req.Choice)}
		out.Messages = append([]llm.Message{system}, out.Messages...)
	}
	return out
}

const (
	openCall    = "<tool_call>\n"
	closeCall   = "\n</tool_call>"
	openResult  = "<tool_response"
	closeResult = "\n</tool_response>"
)

// Describe tells a model of its tools and how to call them.
func Describe(tools []llm.ToolDef, choice llm.Choice) string {
	var b strings.Builder
	b.WriteString("You have these tools, one a line:\n<tools>\n")
	for _, t := range tools {
		b.Write(encoded(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}{t.Name, t.Description, object(t.Parameters)}))
		b.WriteByte('\n')
	}
	b.WriteString("</tools>\nTo call a tool, write exactly this and nothing after it, with the name of the tool and " +
		"its arguments as one JSON object:\n")
	b.WriteString(openCall + `{"name": "NAME", "arguments": {"KEY": "VALUE"}}` + closeCall + "\n")
	b.WriteString("To call several at once, write several such blocks. Each result comes back in a block " +
		"<tool_response>. ")
	if choice == llm.ChoiceRequired {
		b.WriteString("You must call a tool now.\n")
	} else {
		b.WriteString("When you need no tool, answer in plain text without such a block.\n")
	}
	return b.String()
}

// withCalls writes an assistant's narration and its calls.
func withCalls(m llm.Message) string {
	parts := []string{}
	if text := strings.TrimSpace(m.Text); text != "" {
		parts = append(parts, text)
	}
	for _, c := range m.ToolCalls {
		arguments := object(json.RawMessage(c.Arguments))
		if arguments == nil {
			arguments = json.RawMessage("{}")
		}
		parts = append(parts, openCall+string(encoded(struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}{c.Name, arguments}))+closeCall)
	}
	return strings.Join(parts, "\n")
}

// result writes a tool's result as a message to the model.
func result(m llm.Message) llm.Message {
	open := openResult + ">\n"
	if m.ToolName != "" {
		open = openResult + ` name="` + m.ToolName + "\">\n"
	}
	return llm.Message{Role: llm.RoleUser, Text: open + m.Text + closeResult}
}

// object returns raw if it is JSON, else nil.
func object(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return raw
}

func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // strings and checked JSON encode
		return []byte("{}")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
