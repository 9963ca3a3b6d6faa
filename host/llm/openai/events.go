package openai

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// events is the SDK's decoder of server-sent events with two things added: it
// notes the [DONE] that tells a complete stream from a cut one, and it drops the
// "error":null that some endpoints put into every chunk and that the SDK takes
// for an error.
type events struct {
	ssestream.Decoder
	watch *endpoint.Watch
	event ssestream.Event
	done  bool
}

func newEvents(w *endpoint.Watch, response *http.Response) *events {
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
		e.watch.Heard()
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			e.done = true
		} else if bytes.Contains(data, []byte(`"error"`)) {
			data = withoutNullError(data)
		}
		e.event.Data = data
		return true
	}
	return false
}

// Event implements ssestream.Decoder.
func (e *events) Event() ssestream.Event { return e.event }

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
