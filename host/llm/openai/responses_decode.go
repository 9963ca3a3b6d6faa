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
	// told are the parts of which something came: texts, refusals and reasoning by the
	// place of their item, and items that are done.
	told map[string]bool
}

// decodeResponse reads the stream to its end and emits its events, Usage and
// Finish last.
func (m *Model) decodeResponse(w *endpoint.Watch, reply *http.Response, emit func(llm.Event) bool) error {
	stream := ssestream.NewStream[responses.ResponseStreamEventUnion](newEvents(w, reply), nil)
	defer stream.Close()
	r := &response{model: m, emit: emit, numbers: map[int64]int{}, written: map[int64]bool{}, ids: map[string]bool{},
		cited: map[string]bool{}, told: map[string]bool{}}
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
		return r.text(ev.OutputIndex, ev.ContentIndex, ev.Delta, false)
	case "response.output_text.done":
		return r.text(ev.OutputIndex, ev.ContentIndex, ev.Text, true)
	case "response.refusal.delta":
		return r.refusal(ev.OutputIndex, ev.Delta, false)
	case "response.refusal.done":
		return r.refusal(ev.OutputIndex, ev.Refusal, true)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return r.reasoning(ev.OutputIndex, ev.Delta, false)
	case "response.reasoning_summary_text.done", "response.reasoning_text.done":
		return r.reasoning(ev.OutputIndex, ev.Text, true)
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
		for i, it := range ev.Response.Output {
			if err := r.done(int64(i), it); err != nil {
				return err
			}
		}
	case "response.failed":
		return r.model.end.Inside(endpoint.NewRefusal(0, []byte(ev.Response.JSON.Error.Raw())))
	case "error":
		return r.model.end.Inside(endpoint.NewRefusal(0, []byte(ev.RawJSON())))
	}
	return nil
}

// text takes a piece of a text, or all of it, which counts where no piece of it came.
func (r *response) text(item, part int64, text string, whole bool) error {
	if !r.first(fmt.Sprintf("text %d.%d", item, part), text, whole) {
		return nil
	}
	r.said = true
	return r.send(true, llm.Text{Delta: text})
}

func (r *response) refusal(item int64, text string, whole bool) error {
	r.refused = true
	return r.send(r.first(fmt.Sprintf("refusal %d", item), text, whole), llm.Refusal{Delta: text})
}

func (r *response) reasoning(item int64, text string, whole bool) error {
	return r.send(r.first(fmt.Sprintf("reasoning %d", item), text, whole), llm.Reasoning{Delta: text})
}

// first tells whether a text of a part is to go out, and notes that one did.
func (r *response) first(part, text string, whole bool) bool {
	if text == "" || whole && r.told[part] {
		return false
	}
	r.told[part] = true
	return true
}

// message takes a whole message: what of it no piece brought.
func (r *response) message(index int64, it responses.ResponseOutputItemUnion) error {
	for i, c := range it.Content {
		var err error
		switch c.Type {
		case "output_text":
			err = r.text(index, int64(i), c.Text, true)
		case "refusal":
			err = r.refusal(index, c.Refusal, true)
		}
		if err != nil {
			return err
		}
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
	key := fmt.Sprintf("item %d", index)
	if r.told[key] {
		return nil
	}
	r.told[key] = true
	switch it.Type {
	case "message":
		return r.message(index, it)
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
		for _, part := range it.Summary {
			if err := r.reasoning(index, part.Text, true); err != nil {
				return err
			}
		}
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
