package ollama

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// chunk is one line of a stream.
type chunk struct {
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name string `json:"name"`
				// Arguments is an object; some servers send its text.
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`
	// PromptEvalCount is left out where the whole prompt was cached.
	PromptEvalCount *int64          `json:"prompt_eval_count"`
	EvalCount       *int64          `json:"eval_count"`
	Error           json.RawMessage `json:"error"`
}

// answer is what is known of one answer.
type answer struct {
	model   *Model
	emit    func(llm.Event) bool
	ids     map[string]bool
	calls   int
	thought strings.Builder
	// halves are those of characters that came in two lines.
	halves endpoint.Surrogates
}

// kept is what a Native of this adapter holds.
type kept struct {
	Thinking string `json:"thinking"`
}

// decode reads the stream to its end and emits its events, Usage and Finish last.
func (m *Model) decode(w *endpoint.Watch, response *http.Response, emit func(llm.Event) bool) error {
	a := &answer{model: m, emit: emit, ids: map[string]bool{}}
	reader := bufio.NewReader(response.Body)
	for {
		// The watched body bounds the line.
		line, err := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			w.Heard()
			last, err := a.line(line, err)
			if err != nil || last {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return m.end.CutOff()
		}
		if err != nil {
			return m.end.Broken(w, err)
		}
	}
}

// line takes one line and tells whether it was the last. ended is what ended the
// reading of it, nil for a line end.
func (a *answer) line(data []byte, ended error) (last bool, err error) {
	var c chunk
	data = bytes.TrimPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("data:"))), []byte("\uFEFF"))
	if len(data) == 0 || data[0] != '{' && ended == nil { // a sign of life
		return false, nil
	}
	data = a.halves.Join(data)
	if err := json.Unmarshal(data, &c); err != nil {
		if ended != nil {
			return false, nil // cut within the line
		}
		return false, a.model.end.Unreadable(err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, a.model.end.Inside(endpoint.NewRefusal(0, data))
	}
	if err := a.take(c); err != nil {
		return false, err
	}
	if c.Done {
		return true, a.finish(c)
	}
	return false, nil
}

func (a *answer) take(c chunk) error {
	var out []llm.Event
	if c.Message.Thinking != "" {
		a.thought.WriteString(c.Message.Thinking)
		out = append(out, llm.Reasoning{Delta: c.Message.Thinking})
	}
	if c.Message.Content != "" {
		out = append(out, llm.Text{Delta: c.Message.Content})
	}
	for _, call := range c.Message.ToolCalls {
		out = append(out, llm.ToolCallDelta{Index: a.calls, ID: a.id(call.ID), Name: call.Function.Name,
			ArgumentsDelta: argumentsText(call.Function.Arguments)})
		a.calls++
	}
	return a.send(out...)
}

// id returns id, or a new one where it is missing or taken.
func (a *answer) id(id string) string {
	if id == "" || a.ids[id] {
		id = a.model.cfg.NewID()
	}
	a.ids[id] = true
	return id
}

// argumentsText is the JSON text of arguments, which come as an object or as its
// text.
func argumentsText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func (a *answer) send(events ...llm.Event) error {
	for _, ev := range events {
		if !a.emit(ev) {
			return endpoint.ErrLeft
		}
	}
	return nil
}

// finish emits the end of a complete answer.
func (a *answer) finish(c chunk) error {
	var tail []llm.Event
	if a.calls > 0 && a.thought.Len() > 0 {
		if data, err := json.Marshal(kept{a.thought.String()}); err == nil { // a string always encodes
			tail = append(tail, llm.Native{Provider: Provider, Model: a.model.cfg.Model, Data: data})
		}
	}
	if c.PromptEvalCount != nil || c.EvalCount != nil {
		tail = append(tail, llm.Usage{InputTokens: count(c.PromptEvalCount), OutputTokens: count(c.EvalCount)})
	}
	reason := llm.FinishStop
	switch {
	case c.DoneReason == "length":
		reason = llm.FinishLength
	case a.calls > 0:
		reason = llm.FinishToolCalls
	}
	return a.send(append(tail, llm.Finish{Reason: reason})...)
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
