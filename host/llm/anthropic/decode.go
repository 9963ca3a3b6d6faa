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
	// halves are those of characters that came in two events.
	halves endpoint.Surrogates
}

// Next implements ssestream.Decoder.
func (e *events) Next() bool {
	for e.Decoder.Next() {
		e.event = e.Decoder.Event()
		data := bytes.TrimSpace(e.event.Data)
		if len(data) == 0 || data[0] != '{' && e.event.Type != "error" {
			continue // a sign of life
		}
		e.event.Data = e.halves.Join(data)
		if e.event.Type == "" || e.event.Type == "message" {
			var named struct {
				Type string `json:"type"`
			}
			_ = json.Unmarshal(e.event.Data, &named) // what cannot be read is an error below
			if e.event.Type = cmp.Or(named.Type, "unnamed"); isError(e.event.Data) {
				e.event.Type = "error"
			}
		}
		if !known[e.event.Type] {
			continue
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

// known are the events of the protocol.
var known = map[string]bool{
	"message_start": true, "content_block_start": true, "content_block_delta": true, "content_block_stop": true,
	"message_delta": true, "message_stop": true, "ping": true, "error": true,
}

// Event implements ssestream.Decoder.
func (e *events) Event() ssestream.Event { return e.event }

// isError tells whether an event without a type is an error all the same.
func isError(data []byte) bool {
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(data, &object) == nil && len(object.Error) > 0 && string(object.Error) != "null"
}

// wholeReply writes a reply that came in one as a stream, nil for what is no answer.
func wholeReply(data []byte) []byte {
	var reply struct {
		Type       string            `json:"type"`
		Content    []json.RawMessage `json:"content"`
		StopReason json.RawMessage   `json:"stop_reason"`
		Usage      json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(data, &reply) != nil || reply.Type != "message" {
		return nil
	}
	var out bytes.Buffer
	event := func(v map[string]any) {
		line, _ := json.Marshal(v) // of what was decoded
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", v["type"], line)
	}
	start := map[string]any{"type": "message", "role": "assistant", "content": []any{}}
	if len(reply.Usage) > 0 {
		start["usage"] = reply.Usage
	}
	event(map[string]any{"type": "message_start", "message": start})
	for i, block := range reply.Content {
		event(map[string]any{"type": "content_block_start", "index": i, "content_block": block})
		event(map[string]any{"type": "content_block_stop", "index": i})
	}
	reason := reply.StopReason
	if len(reason) == 0 || string(reason) == "null" {
		reason = json.RawMessage(`"end_turn"`)
	}
	event(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}})
	event(map[string]any{"type": "message_stop"})
	return out.Bytes()
}

// decode reads one response to its end.
func (m *Model) decode(response *http.Response, a *answer) error {
	a.open, a.reason, a.current = map[int64]*block{}, "", sdk.MessageDeltaUsage{}
	endpoint.Clean(response)
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

// beginnings are the kinds of blocks that a piece can begin, by the type of the piece. A
// call cannot: its name stands in its beginning.
var beginnings = map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}

func (a *answer) delta(ev sdk.MessageStreamEventUnion) error {
	b := a.open[ev.Index]
	if b == nil { // its beginning was left out
		kind, begins := beginnings[ev.Delta.Type]
		if !begins {
			return a.model.end.Unreadable(fmt.Errorf("a piece of block %d, which did not begin", ev.Index))
		}
		b = &block{kind: kind, raw: json.RawMessage(`{"type":"` + kind + `"}`)}
		a.blocks, a.open[ev.Index] = append(a.blocks, b), b
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
