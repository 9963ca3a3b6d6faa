package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// The imports of hyper-mcp's plugins (version 2 of its plugin interface) beside those of
// this host. They speak MCP's shapes and know no {"ok":…} around an answer.
//
// https://github.com/hyper-mcp-rs/hyper-mcp, xtp-plugin-schema.json

// hyper serves them for one call.
type hyper struct {
	call Call
	gate *gate.Call
	log  func(level, message string)
}

// function returns the function of a name, nil for one that is not hyper-mcp's.
func (h hyper) function(name string) engine.HostFunc {
	switch name {
	case "create_message":
		return h.message
	case "create_elicitation":
		return h.elicitation
	case "list_roots":
		return func(context.Context, []byte) []byte { return []byte(`{"roots":[]}`) }
	case "get_keyring_secret", "get_access_token":
		return func(context.Context, []byte) []byte {
			// An error in the place of a secret could be sent somewhere as one, so
			// the answer is empty.
			h.log("warn", name+" is denied: secrets do not enter plugins. Name a credential in the manifest; "+
				"the host puts it into the request.")
			return nil
		}
	case "notify_progress":
		return h.progress
	case "notify_logging_message":
		return h.logging
	case "notify_tool_list_changed":
		return func(context.Context, []byte) []byte {
			// A plugin keeps nothing in its memory from call to call, so its list
			// is another one only when what it reads has changed.
			if !h.call.Manifest.Dynamic {
				h.log("info", `The plugin says that its tools have changed. They are listed again only if its manifest says "dynamic": true.`)
			} else if h.call.Changed != nil {
				h.call.Changed()
			}
			return nil
		}
	case "notify_prompt_list_changed", "notify_resource_list_changed", "notify_resource_updated",
		"notify_url_elicitation_completed":
		// Prompts, resources and elicitations are not offered here, so nobody waits
		// for the news.
		return func(context.Context, []byte) []byte { return nil }
	}
	return nil
}

// samplingRequest is MCP's request for a message of a model.
type samplingRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	SystemPrompt string `json:"systemPrompt"`
	MaxTokens    int64  `json:"maxTokens"`
}

// samplingContent is one piece of a message.
type samplingContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// samplingResult is MCP's answer.
type samplingResult struct {
	Role       string          `json:"role"`
	Content    samplingContent `json:"content"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason"`
}

// message asks a model by the host function model_complete, so that the grant of the
// capability model decides. What is denied or fails is {"error":…}: no message, which the
// plugin sees when it reads it.
func (h hyper) message(ctx context.Context, in []byte) []byte {
	args, err := completion(in)
	if err != nil {
		return refused(gate.Invalid, "create_message: %v.", err)
	}
	asked, err := json.Marshal(args)
	if err != nil { // strings and numbers always encode
		return refused(gate.Invalid, "create_message: %v.", err)
	}
	answer := h.gate.Host(hostfunc.ModelComplete)(ctx, asked)
	var done struct {
		OK *hostfunc.Completed `json:"ok"`
	}
	if err := json.Unmarshal(answer, &done); err != nil || done.OK == nil {
		return answer
	}
	result := samplingResult{
		Role: "assistant", Content: samplingContent{"text", done.OK.Text}, Model: done.OK.Model, StopReason: "endTurn",
	}
	if done.OK.Truncated {
		result.StopReason = "maxTokens"
	}
	out, err := json.Marshal(result)
	if err != nil { // strings always encode
		return refused(gate.Failed, "%v", err)
	}
	return out
}

// completion makes the arguments of model_complete of MCP's request.
func completion(in []byte) (hostfunc.Completion, error) {
	var r samplingRequest
	if err := json.Unmarshal(in, &r); err != nil {
		return hostfunc.Completion{}, fmt.Errorf("the request is not the JSON that MCP describes")
	}
	args := hostfunc.Completion{MaxTokens: r.MaxTokens}
	if r.SystemPrompt != "" {
		args.Messages = append(args.Messages, hostfunc.Said{Role: "system", Text: r.SystemPrompt})
	}
	for i, m := range r.Messages {
		text, err := samplingText(m.Content)
		if err != nil {
			return hostfunc.Completion{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		args.Messages = append(args.Messages, hostfunc.Said{Role: m.Role, Text: text})
	}
	return args, nil
}

// samplingText returns the text of a message's content, one piece or a list.
func samplingText(content json.RawMessage) (string, error) {
	var list []samplingContent
	if err := json.Unmarshal(content, &list); err != nil {
		var one samplingContent
		if err := json.Unmarshal(content, &one); err != nil {
			return "", fmt.Errorf("the content is not what MCP describes")
		}
		list = []samplingContent{one}
	}
	var texts []string
	for _, c := range list {
		if c.Type != "text" {
			return "", fmt.Errorf("a model here reads text only, not %q", shorten(c.Type, 20))
		}
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// refused is an answer without a result.
func refused(kind gate.Kind, format string, args ...any) []byte {
	out, err := json.Marshal(map[string]any{"error": map[string]string{"kind": string(kind),
		"message": fmt.Sprintf(format, args...)}})
	if err != nil { // strings always encode
		return nil
	}
	return out
}

// elicitation answers a question to the person as MCP says that a person declines.
func (h hyper) elicitation(context.Context, []byte) []byte {
	h.log("info", "The plugin asked the person something. "+
		"This host asks nobody in the middle of a call, so the answer was: decline.")
	return []byte(`{"action":"decline"}`)
}

// progress shows progress by the host function emit, so that its grant decides.
func (h hyper) progress(ctx context.Context, in []byte) []byte {
	var p struct {
		Progress float64  `json:"progress"`
		Total    *float64 `json:"total"`
		Message  string   `json:"message"`
	}
	if err := json.Unmarshal(in, &p); err != nil {
		h.log("warn", "notify_progress was called with what is not MCP's JSON.")
		return nil
	}
	shown := map[string]any{"message": p.Message}
	if p.Total != nil && *p.Total > 0 && p.Progress >= 0 {
		shown["fraction"] = min(1, p.Progress / *p.Total)
	}
	emitted, err := json.Marshal(map[string]any{"progress": shown})
	if err != nil { // numbers within 0 and 1 always encode
		return nil
	}
	h.gate.Host("emit")(ctx, emitted)
	return nil
}

// logging writes a line of the log.
func (h hyper) logging(_ context.Context, in []byte) []byte {
	var m struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(in, &m); err != nil {
		h.log("warn", "notify_logging_message was called with what is not MCP's JSON.")
		return nil
	}
	level := "error"
	switch m.Level {
	case "debug":
		level = "debug"
	case "info", "notice":
		level = "info"
	case "warning":
		level = "warn"
	}
	text := string(m.Data)
	var plain string
	if json.Unmarshal(m.Data, &plain) == nil {
		text = plain
	}
	if m.Logger != "" {
		text = m.Logger + ": " + text
	}
	h.log(level, shorten(text, maxLogged))
	return nil
}

// maxLogged is the longest line of the log that a notification makes, in characters.
const maxLogged = 4000
