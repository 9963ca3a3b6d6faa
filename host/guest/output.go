package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

// The bounds of what one call may show.
const (
	maxDocuments = 1000
	maxFiles     = 100
)

// content is one piece of what a tool returns.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

// text is what of it the model reads.
func (c content) text() string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource" && c.Resource.Text != "":
		return c.Resource.Text
	case c.Type == "resource":
		return fmt.Sprintf("[a resource: %s]", c.Resource.URI)
	default:
		return fmt.Sprintf("[content of type %s %s, which is not shown to you]", c.Type, c.MIMEType)
	}
}

// result reads what call_tool returned.
func (c Call) result(data []byte) tool.Result {
	var out struct {
		Content    []content       `json:"content"`
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
		Meta       struct {
			Documents json.RawMessage `json:"bulkhead/documents"`
			Files     json.RawMessage `json:"bulkhead/files"`
		} `json:"_meta"`
	}
	err := json.Unmarshal(data, &out)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("it is not UTF-8")
	}
	if err == nil && out.Content == nil {
		err = errors.New("content is missing")
	}
	if err != nil {
		c.Logger.Warn("a plugin returned what is not the protocol", "plugin", c.Manifest.Name,
			"tool", c.Tool, "error", err)
		return tool.Fail(tool.FailureFailed,
			fmt.Sprintf("%s returned something that cannot be read. Its author has to mend that.", c.Title),
			fmt.Sprintf("The tool %s returned invalid JSON instead of a result. "+
				"Calling it again with the same arguments will not help; try others, or go on without it.", c.Exposed))
	}
	texts := make([]string, len(out.Content))
	for i, piece := range out.Content {
		texts[i] = piece.text()
	}
	r := tool.Result{Text: strings.Join(texts, "\n")}
	if out.IsError {
		return c.reported(r.Text)
	}
	if s := bytes.TrimSpace(out.Structured); len(s) > 0 && !bytes.Equal(s, []byte("null")) {
		r.Structured = s
	}
	if docs, ok := decodeList[tool.Document](c, "bulkhead/documents", out.Meta.Documents, maxDocuments); ok {
		r.Documents = hostfunc.CleanDocuments(docs)
	}
	if files, ok := decodeList[tool.File](c, "bulkhead/files", out.Meta.Files, maxFiles); ok {
		r.Files = files
	}
	return r
}

// reported is the result of a call whose tool said that it failed.
func (c Call) reported(text string) tool.Result {
	if text == "" {
		text = fmt.Sprintf("The tool %s failed and did not say why.", c.Exposed)
	}
	return tool.Fail(tool.FailureFailed, fmt.Sprintf("%s did not do it: %s", c.Title, shorten(text, 300)), text)
}

// decodeList reads a list of _meta; one that is wrong is left out and logged.
func decodeList[T any](c Call, field string, data json.RawMessage, most int) ([]T, bool) {
	if len(data) == 0 {
		return nil, false
	}
	var list []T
	err := json.Unmarshal(data, &list)
	if err == nil && len(list) > most {
		err = fmt.Errorf("it has %d entries, more than %d", len(list), most)
	}
	if err != nil {
		c.Logger.Warn("a list in a plugin's result is left out", "plugin", c.Manifest.Name,
			"tool", c.Tool, "field", field, "error", err)
		return nil, false
	}
	return list, true
}

// failed is the result of a call that the engine ended.
func (c Call) failed(ctx context.Context, err error) tool.Result {
	var ended *engine.CallError
	if !errors.As(err, &ended) {
		if ctx.Err() != nil {
			return Stopped(c.Title)
		}
		if !errors.Is(err, engine.ErrClosed) {
			c.Logger.Error("a plugin cannot be called", "plugin", c.Manifest.Name, "tool", c.Tool, "error", err)
		}
		return tool.Fail(tool.FailureUnavailable, fmt.Sprintf("%s is not available now.", c.Title),
			fmt.Sprintf("The tool %s is not available now. Go on without it.", c.Exposed))
	}
	c.Logger.Warn("a plugin's call failed", "plugin", c.Manifest.Name,
		"tool", c.Tool, "kind", ended.Kind, "error", ended.Message)
	switch ended.Kind {
	case engine.Cancelled:
		return Stopped(c.Title)
	case engine.Timeout:
		return tool.Fail(tool.FailureTimeout, fmt.Sprintf("%s took too long and was stopped.", c.Title),
			fmt.Sprintf("The tool %s took too long and was stopped. Ask for less at once, or go on without it.",
				c.Exposed))
	case engine.CPU:
		return tool.Fail(tool.FailureQuota,
			fmt.Sprintf("%s used up the instructions that one call may execute and was stopped.", c.Title),
			fmt.Sprintf("The tool %s used up its computing budget and was stopped. "+
				"Ask for less at once, or go on without it.", c.Exposed))
	case engine.OutputTooLarge:
		return tool.Fail(tool.FailureTooLarge, fmt.Sprintf("%s returned more than it may. %s", c.Title, ended.Message),
			fmt.Sprintf("The result of %s was too large and was dropped. "+
				"Ask for less, such as fewer items or one part.", c.Exposed))
	case engine.Trap, engine.Exit:
		return tool.Fail(tool.FailureTrap,
			fmt.Sprintf("%s crashed. Nothing else was harmed. %s", c.Title, ended.Message),
			fmt.Sprintf("The tool %s crashed on these arguments: %s Try other arguments, or go on without it.",
				c.Exposed, ended.Message))
	case engine.GuestError:
		return c.reported(ended.Message)
	default:
		return tool.Fail(tool.FailureFailed, fmt.Sprintf("%s could not be run. %s", c.Title, ended.Message),
			fmt.Sprintf("The tool %s could not be run. Go on without it.", c.Exposed))
	}
}

// Stopped is the result of a call that the caller cancelled.
func Stopped(title string) tool.Result {
	return tool.Fail(tool.FailureFailed, title+" was stopped.", "The call was stopped before it was done.")
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
