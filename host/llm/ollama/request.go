package ollama

import (
	"encoding/json"
	"strconv"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// body is what /api/chat takes.
type body struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []toolDef `json:"tools,omitempty"`
	Stream   bool      `json:"stream"`
	Think    *bool     `json:"think,omitempty"`
	// KeepAlive is a duration such as 5m, or a number of seconds.
	KeepAlive any            `json:"keep_alive,omitempty"`
	Options   map[string]any `json:"options"`
	// Truncate and Shift tell newer servers to refuse what does not fit instead of
	// leaving out its beginning.
	Truncate bool `json:"truncate"`
	Shift    bool `json:"shift"`
}

type message struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	Images    [][]byte   `json:"images,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
	ToolName  string     `json:"tool_name,omitempty"`
	// ToolCallID is for newer servers.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name string `json:"name"`
	// Arguments is an object.
	Arguments json.RawMessage `json:"arguments"`
}

type toolDef struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description,omitempty"`
		Parameters  map[string]any `json:"parameters"`
	} `json:"function"`
}

// body translates a request. There is no way to force a call or to forbid one but
// by the tools that are offered.
func (m *Model) body(req llm.Request, f facts) body {
	b := body{Model: m.cfg.Model, Stream: true, Think: m.thinks(f), KeepAlive: keepAlive(m.cfg.KeepAlive),
		Options: map[string]any{"num_ctx": m.window(f)}}
	if n := max(req.MaxOutputTokens, 0); n > 0 || m.cfg.MaxOutputTokens > 0 {
		if n == 0 {
			n = m.cfg.MaxOutputTokens
		}
		b.Options["num_predict"] = n
	}
	for _, msg := range req.Messages {
		b.Messages = append(b.Messages, m.message(msg, f))
	}
	if req.Choice == llm.ChoiceNone {
		return b
	}
	for _, def := range req.Tools {
		t := toolDef{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = def.Name, def.Description, def.Schema()
		b.Tools = append(b.Tools, t)
	}
	return b
}

// keepAlive is the setting as the server reads it: seconds only as a number.
func keepAlive(text string) any {
	if text == "" {
		return nil
	}
	if seconds, err := strconv.Atoi(text); err == nil {
		return seconds
	}
	return text
}

func (m *Model) message(msg llm.Message, f facts) message {
	out := message{Role: string(msg.Role), Content: msg.Content()}
	switch msg.Role {
	case llm.RoleUser:
		if m.sees(f) && msg.HasImages() {
			text, images := msg.Seen()
			out.Content = text
			for _, image := range images {
				out.Images = append(out.Images, image.Image)
			}
		}
	case llm.RoleTool:
		out.ToolName, out.ToolCallID = msg.ToolName, msg.ToolCallID
	case llm.RoleAssistant:
		for _, c := range msg.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, toolCall{ID: c.ID,
				Function: function{c.Name, llm.ArgumentsObject(c.Arguments)}})
		}
		var k kept
		if msg.Native.Of(Provider, m.cfg.Model) && json.Unmarshal(msg.Native.Data, &k) == nil {
			out.Thinking = k.Thinking
		}
	}
	return out
}
