package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// events is the SDK's decoder of server-sent events for what servers make of them: it
// notes the [DONE] that tells a complete stream from a cut one, drops the "error":null
// that some put into every chunk and that the SDK takes for an error, passes over events
// that are not of the protocol, and takes a whole message for its one piece.
type events struct {
	ssestream.Decoder
	watch *endpoint.Watch
	event ssestream.Event
	done  bool
	// halves are those of characters that came in two events.
	halves endpoint.Surrogates
	// deltas tells that pieces of an answer came, passed that data came which is none of
	// the protocol's and has no other name.
	deltas, passed bool
}

func newEvents(w *endpoint.Watch, response *http.Response) *events {
	endpoint.Clean(response)
	return &events{Decoder: ssestream.NewDecoder(response), watch: w}
}

// Next implements ssestream.Decoder.
func (e *events) Next() bool {
	for e.Decoder.Next() {
		e.event = e.Decoder.Event()
		data := bytes.TrimSpace(e.event.Data)
		if len(data) == 0 || e.event.Type == "keepalive" {
			continue
		}
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			e.watch.Heard()
			e.done = true
			e.event.Data = data
			return true
		}
		if data[0] != '{' || foreign(e.event.Type, data) {
			e.passed = e.passed || e.event.Type == "" || e.event.Type == "message"
			continue
		}
		e.watch.Heard()
		if bytes.Contains(data, []byte(`"error"`)) {
			data = withoutNullError(data)
		}
		if bytes.Contains(data, []byte(`"message"`)) && bytes.Contains(data, []byte(`"choices"`)) && !e.deltas {
			data = asChunk(data)
		}
		e.deltas = e.deltas || bytes.Contains(data, []byte(`"delta"`))
		if e.event.Data = e.halves.Join(data); strings.HasPrefix(e.event.Type, "thread.") {
			e.event.Type = "" // the SDK reads those otherwise
		}
		return true
	}
	return false
}

// Event implements ssestream.Decoder.
func (e *events) Event() ssestream.Event { return e.event }

// foreign tells whether an event has a name that the protocol does not know, and nothing
// of the protocol in it.
func foreign(name string, data []byte) bool {
	switch name {
	case "", "message", "error", "data", "chunk", "completion", "delta":
		return false
	}
	return !strings.HasPrefix(name, "response.") && !bytes.Contains(data, []byte(`"choices"`)) &&
		!bytes.Contains(data, []byte(`"error"`))
}

// asChunk writes a whole completion as the one chunk of a stream.
func asChunk(data []byte) []byte {
	var whole map[string]json.RawMessage
	var choices []map[string]json.RawMessage
	if json.Unmarshal(data, &whole) != nil || json.Unmarshal(whole["choices"], &choices) != nil {
		return data
	}
	for _, c := range choices {
		if d := string(c["delta"]); len(c["message"]) == 0 || d != "" && d != "null" && d != "{}" {
			continue
		}
		c["delta"] = c["message"]
		delete(c, "message")
		if reason := string(c["finish_reason"]); reason == "" || reason == "null" {
			c["finish_reason"] = json.RawMessage(`"stop"`)
		}
	}
	var err error
	if whole["choices"], err = json.Marshal(choices); err != nil {
		return data
	}
	out, err := json.Marshal(whole)
	if err != nil {
		return data
	}
	return out
}

// wholeReply writes a reply that came in one as a stream, nil for what is no answer.
func wholeReply(data []byte) []byte {
	var kind struct {
		Object  string            `json:"object"`
		Status  string            `json:"status"`
		Choices []json.RawMessage `json:"choices"`
		Output  json.RawMessage   `json:"output"`
	}
	if json.Unmarshal(data, &kind) != nil {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, data) != nil {
		return nil
	}
	switch {
	case len(kind.Choices) > 0:
		return fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", compact.Bytes())
	case kind.Object == "response" || len(kind.Output) > 0:
		name := "response.completed"
		if kind.Status == "failed" || kind.Status == "incomplete" {
			name = "response." + kind.Status
		}
		return fmt.Appendf(nil, "event: %s\ndata: {\"type\":%q,\"response\":%s}\n\n", name, name, compact.Bytes())
	}
	return nil
}

func withoutNullError(data []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return data
	}
	switch string(fields["error"]) {
	case "null", `""`, "{}", "false":
	default:
		return data
	}
	delete(fields, "error")
	out, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return out
}
