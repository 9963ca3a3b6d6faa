package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// answer is what is known of one answer, over all its pauses.
type answer struct {
	model *Model
	watch *endpoint.Watch
	emit  func(llm.Event) bool

	// bare tells that the endpoint does not take back the model's own blocks of this
	// history.
	bare bool
	// blocks are those of the whole answer; open are those of this response by the
	// endpoint's index.
	blocks []*block
	open   map[int64]*block
	// text is the answer's text as it was emitted.
	text    strings.Builder
	cited   map[string]bool
	calls   int
	total   llm.Usage
	current sdk.MessageDeltaUsage
	counted bool
	reason  sdk.StopReason
	// pending are the provider's own tools that have not come back yet.
	pending []*block
}

// events is the SDK's decoder with two things added: an error event ends the
// stream as a refusal, and an event without a name takes that of its data.
type events struct {
	ssestream.Decoder
	watch   *endpoint.Watch
	event   ssestream.Event
	refused *endpoint.Refusal
	// stopped tells that message_stop came.
	stopped bool
}

// Next implements ssestream.Decoder.
func (e *events) Next() bool {
	for e.Decoder.Next() {
		e.event = e.Decoder.Event()
		if len(bytes.TrimSpace(e.event.Data)) == 0 {
			continue
		}
		if e.event.Type == "" || e.event.Type == "message" {
			var named struct {
				Type string `json:"type"`
			}
			_ = json.Unmarshal(e.event.Data, &named) // what cannot be read is an error below
			e.event.Type = cmp.Or(named.Type, "unnamed")
		}
		if e.event.Type != "ping" {
			e.watch.Heard()
		}
		if e.event.Type == "error" {
			e.refused = endpoint.NewRefusal(0, e.event.Data)
			return false
		}
		e.stopped = e.stopped || e.event.Type == "message_stop"
		return true
	}
	return false
}

// Event implements ssestream.Decoder.
func (e *events) Event() ssestream.Event { return e.event }

// decode reads one response to its end.
func (m *Model) decode(response *http.Response, a *answer) error {
	a.open, a.reason, a.current = map[int64]*block{}, "", sdk.MessageDeltaUsage{}
	source := &events{Decoder: ssestream.NewDecoder(response), watch: a.watch}
	stream := ssestream.NewStream[sdk.MessageStreamEventUnion](source, nil)
	defer stream.Close()
	for !source.stopped && stream.Next() {
		if err := a.take(stream.Current()); err != nil {
			return err
		}
	}
	if source.refused != nil && a.reason == "" {
		return m.end.Inside(source.refused)
	}
	if err := stream.Err(); a.reason == "" && err != nil {
		return m.end.Broken(a.watch, err)
	}
	// Once the model has finished, what happens to the connection is no matter.
	if a.reason == "" && !source.stopped {
		return m.end.CutOff()
	}
	a.count()
	return nil
}

func (a *answer) take(ev sdk.MessageStreamEventUnion) error {
	switch ev.Type {
	case "message_start":
		u := ev.Message.Usage
		a.current = sdk.MessageDeltaUsage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CacheReadInputTokens: u.CacheReadInputTokens, CacheCreationInputTokens: u.CacheCreationInputTokens}
		a.counted = a.counted || ev.Message.JSON.Usage.Valid()
	case "content_block_start":
		return a.begin(ev.Index, ev.ContentBlock)
	case "content_block_delta":
		return a.delta(ev)
	case "content_block_stop":
		return a.end(a.open[ev.Index])
	case "message_delta":
		if ev.JSON.Usage.Valid() {
			a.counted = true
			a.update(ev.Usage)
		}
		if ev.Delta.StopReason != "" {
			a.reason = ev.Delta.StopReason
			a.watch.Settle()
		}
	}
	return nil
}

// update takes cumulative counts; those that are left out stay as they were.
func (a *answer) update(u sdk.MessageDeltaUsage) {
	a.current.OutputTokens = u.OutputTokens
	if u.JSON.InputTokens.Valid() {
		a.current.InputTokens = u.InputTokens
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		a.current.CacheReadInputTokens = u.CacheReadInputTokens
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		a.current.CacheCreationInputTokens = u.CacheCreationInputTokens
	}
}

// count adds a response's usage to the answer's. The API counts cached input
// apart; ours is all that the model read.
func (a *answer) count() {
	a.total.InputTokens += a.current.InputTokens + a.current.CacheReadInputTokens + a.current.CacheCreationInputTokens
	a.total.OutputTokens += a.current.OutputTokens
	a.total.CachedTokens += a.current.CacheReadInputTokens
}

// begin takes a new block. Its place is where it comes: endpoints exist that leave
// indexes out or use one twice.
func (a *answer) begin(index int64, c sdk.ContentBlockStartEventContentBlockUnion) error {
	b := &block{kind: c.Type, raw: json.RawMessage(c.RawJSON()), id: c.ID, name: c.Name}
	a.blocks, a.open[index] = append(a.blocks, b), b
	switch c.Type {
	case "text":
		return a.say(b, c.Text)
	case "thinking":
		b.signature.WriteString(c.Signature)
		return a.think(b, c.Thinking)
	case "tool_use":
		b.number = a.calls
		a.calls++
		return a.send(llm.ToolCallDelta{Index: b.number, ID: b.id, Name: b.name})
	case "server_tool_use":
		a.pending = append(a.pending, b)
	case "web_search_tool_result":
		return a.ran(c.ToolUseID, failed(c.JSON.Content.Raw()))
	}
	return nil
}

func (a *answer) delta(ev sdk.MessageStreamEventUnion) error {
	b := a.open[ev.Index]
	if b == nil {
		return a.model.end.Unreadable(fmt.Errorf("a piece of block %d, which did not begin", ev.Index))
	}
	switch d := ev.Delta; d.Type {
	case "text_delta":
		return a.say(b, d.Text)
	case "thinking_delta":
		return a.think(b, d.Thinking)
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	case "citations_delta":
		b.citations = append(b.citations, json.RawMessage(d.JSON.Citation.Raw()))
	case "input_json_delta":
		b.input.WriteString(d.PartialJSON)
		if b.kind == "tool_use" && d.PartialJSON != "" {
			return a.send(llm.ToolCallDelta{Index: b.number, ArgumentsDelta: d.PartialJSON})
		}
	}
	return nil
}

// end closes a block: a call whose input came whole with its beginning is given
// it, and a text is given its sources.
func (a *answer) end(b *block) error {
	switch {
	case b == nil:
	case b.kind == "tool_use" && b.input.Len() == 0:
		var whole struct {
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(b.raw, &whole) == nil && len(whole.Input) > 0 && string(whole.Input) != "null" {
			b.input.Write(whole.Input)
			return a.send(llm.ToolCallDelta{Index: b.number, ArgumentsDelta: string(whole.Input)})
		}
	case b.kind == "text":
		return a.cite(b)
	}
	return nil
}

func (a *answer) say(b *block, delta string) error {
	if delta == "" {
		return nil
	}
	b.text.WriteString(delta)
	a.text.WriteString(delta)
	return a.send(llm.Text{Delta: delta})
}

func (a *answer) think(b *block, delta string) error {
	b.text.WriteString(delta)
	if delta == "" {
		return nil
	}
	return a.send(llm.Reasoning{Delta: delta})
}

func (a *answer) send(ev llm.Event) error {
	if !a.emit(ev) {
		return endpoint.ErrLeft
	}
	return nil
}

// finish emits the end of a complete answer.
func (a *answer) finish() error {
	if a.reason == sdk.StopReasonModelContextWindowExceeded && a.text.Len() == 0 && a.calls == 0 {
		return llm.NewError(packet.CodeContextTooLong, "", nil)
	}
	var tail []llm.Event
	for _, b := range a.pending {
		tail = append(tail, serverTool(b, false))
	}
	if native := a.model.keep(a.blocks, a.text.String()); native != nil && a.reason != sdk.StopReasonRefusal {
		tail = append(tail, *native)
	}
	if a.counted {
		tail = append(tail, a.total)
	}
	tail = append(tail, llm.Finish{Reason: a.finishReason()})
	for _, ev := range tail {
		if err := a.send(ev); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) finishReason() llm.FinishReason {
	switch a.reason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.FinishLength
	case sdk.StopReasonRefusal:
		return llm.FinishFiltered
	}
	if a.calls > 0 {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}
