package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// response is what is known of one answer of the responses API.
type response struct {
	model *Model
	emit  func(llm.Event) bool
	// numbers are our indexes of calls, by the place of their items.
	numbers map[int64]int
	// written tells of calls whose arguments came in pieces.
	written map[int64]bool
	ids     map[string]bool
	cited   map[string]bool
	kept    keptItems
	// final is the response as the last event has it, nil before that.
	final   *responses.Response
	refused bool
	// said tells that there is text.
	said bool
}

// decodeResponse reads the stream to its end and emits its events, Usage and
// Finish last.
func (m *Model) decodeResponse(w *endpoint.Watch, reply *http.Response, emit func(llm.Event) bool) error {
	stream := ssestream.NewStream[responses.ResponseStreamEventUnion](newEvents(w, reply), nil)
	defer stream.Close()
	r := &response{model: m, emit: emit, numbers: map[int64]int{}, written: map[int64]bool{}, ids: map[string]bool{},
		cited: map[string]bool{}}
	for r.final == nil && stream.Next() {
		if err := r.take(stream.Current()); err != nil {
			return err
		}
	}
	if r.final != nil {
		return r.finish()
	}
	if err := stream.Err(); err != nil {
		var inside *ssestream.StreamError
		if errors.As(err, &inside) {
			return m.end.Inside(endpoint.NewRefusal(0, inside.Event.Data))
		}
		return m.end.Broken(w, err)
	}
	return m.end.CutOff()
}

func (r *response) take(ev responses.ResponseStreamEventUnion) error {
	switch ev.Type {
	case "response.output_text.delta":
		r.said = r.said || ev.Delta != ""
		return r.send(ev.Delta != "", llm.Text{Delta: ev.Delta})
	case "response.refusal.delta":
		r.refused = true
		return r.send(ev.Delta != "", llm.Refusal{Delta: ev.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return r.send(ev.Delta != "", llm.Reasoning{Delta: ev.Delta})
	case "response.reasoning_summary_part.added":
		return r.send(ev.SummaryIndex > 0, llm.Reasoning{Delta: "\n\n"})
	case "response.output_item.added":
		switch ev.Item.Type {
		case "function_call":
			return r.begin(ev.OutputIndex, ev.Item)
		case "message": // one after another, each a text of its own
			return r.send(r.said, llm.Text{Delta: "\n\n"})
		}
	case "response.function_call_arguments.delta":
		return r.arguments(ev.OutputIndex, ev.Delta)
	case "response.output_item.done":
		return r.done(ev.OutputIndex, ev.Item)
	case "response.output_text.annotation.added":
		return r.cite(ev.Annotation.RawJSON())
	case "response.completed", "response.incomplete":
		r.final = &ev.Response
	case "response.failed":
		return r.model.end.Inside(endpoint.NewRefusal(0, []byte(ev.Response.JSON.Error.Raw())))
	case "error":
		return r.model.end.Inside(endpoint.NewRefusal(0, []byte(ev.RawJSON())))
	}
	return nil
}

func (r *response) send(something bool, ev llm.Event) error {
	if something && !r.emit(ev) {
		return endpoint.ErrLeft
	}
	return nil
}

// begin announces a call.
func (r *response) begin(index int64, it responses.ResponseOutputItemUnion) error {
	id := it.CallID
	if id == "" || r.ids[id] {
		id = r.model.cfg.NewID()
	}
	r.ids[id] = true
	r.numbers[index] = len(r.numbers)
	return r.send(true, llm.ToolCallDelta{Index: r.numbers[index], ID: id, Name: it.Name})
}

func (r *response) arguments(index int64, delta string) error {
	number, begun := r.numbers[index]
	if !begun {
		return r.model.end.Unreadable(fmt.Errorf("arguments of item %d, which is no call", index))
	}
	r.written[index] = r.written[index] || delta != ""
	return r.send(delta != "", llm.ToolCallDelta{Index: number, ArgumentsDelta: delta})
}

// done takes a whole item: a call that came without a beginning or without pieces,
// reasoning to keep, a search that ran.
func (r *response) done(index int64, it responses.ResponseOutputItemUnion) error {
	switch it.Type {
	case "function_call":
		if _, begun := r.numbers[index]; !begun {
			if err := r.begin(index, it); err != nil {
				return err
			}
		}
		var whole struct {
			Arguments string `json:"arguments"`
		}
		if !r.written[index] && json.Unmarshal([]byte(it.RawJSON()), &whole) == nil {
			return r.arguments(index, whole.Arguments)
		}
	case "reasoning":
		if it.EncryptedContent != "" {
			r.kept.Items = append(r.kept.Items, json.RawMessage(it.RawJSON()))
		}
	case "web_search_call":
		var search struct {
			Action struct {
				Query string `json:"query"`
			} `json:"action"`
		}
		_ = json.Unmarshal([]byte(it.RawJSON()), &search) // a query that cannot be read is not shown
		return r.send(true, llm.ServerTool{Name: llm.SearchTool, Query: search.Action.Query,
			Failed: it.Status == "failed"})
	}
	return nil
}

// cite writes a source, each once in an answer, as a link that a person can
// follow.
func (r *response) cite(raw string) error {
	var c struct {
		URL   string `json:"url"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(raw), &c) != nil || r.cited[c.URL] {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil
	}
	r.cited[c.URL] = true
	return r.send(true, llm.Text{Delta: " (" + llm.Link(c.Title, u) + ")"})
}

// finish emits the end of a complete answer.
func (r *response) finish() error {
	var tail []llm.Event
	if len(r.kept.Items) > 0 {
		if data, err := json.Marshal(r.kept); err == nil { // what was decoded encodes
			tail = append(tail, llm.Native{Provider: r.model.cfg.Provider, Model: r.model.cfg.Model, Data: data})
		}
	}
	if u := r.final.Usage; r.final.JSON.Usage.Valid() {
		tail = append(tail, llm.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CachedTokens: u.InputTokensDetails.CachedTokens})
	}
	reason := llm.FinishStop
	switch {
	case r.final.IncompleteDetails.Reason == "max_output_tokens":
		reason = llm.FinishLength
	case r.final.IncompleteDetails.Reason == "content_filter", r.refused:
		reason = llm.FinishFiltered
	case r.final.Status == "incomplete":
		return r.model.end.Fail(packet.CodeModelInterrupted, "", nil)
	case len(r.numbers) > 0:
		reason = llm.FinishToolCalls
	}
	for _, ev := range append(tail, llm.Finish{Reason: reason}) {
		if err := r.send(true, ev); err != nil {
			return err
		}
	}
	return nil
}
