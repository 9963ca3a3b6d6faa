package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// answer is what is known of one streamed answer.
type answer struct {
	model  *Model
	watch  *endpoint.Watch
	emit   func(llm.Event) bool
	calls  calls
	usage  *llm.Usage
	reason string
	// thought is the reasoning so far.
	thought strings.Builder
	// spoke tells that something was emitted.
	spoke bool
}

// decode reads the stream to its end and emits its events, Usage and Finish
// last. known tells whether a tool is called so. It returns endpoint.ErrLeft when emit returned false.
func (m *Model) decode(
	w *endpoint.Watch, response *http.Response, known func(tool string) bool, emit func(llm.Event) bool,
) error {
	source := newEvents(w, response)
	stream := ssestream.NewStream[sdk.ChatCompletionChunk](source, nil)
	defer stream.Close()
	a := &answer{model: m, watch: w, emit: emit, calls: calls{newID: m.cfg.NewID, known: known}}
	for stream.Next() {
		if err := a.chunk(stream.Current()); err != nil {
			return err
		}
	}
	err := stream.Err()
	if a.reason == "" && err != nil {
		return m.broken(w, err)
	}
	if source.passed && !a.spoke {
		return m.end.Unreadable(errors.New("nothing in the stream is of the protocol"))
	}
	// Once the model has finished, what happens to the connection is no matter.
	if a.reason == "" && !source.done {
		return m.end.CutOff()
	}
	return a.finish()
}

// broke are the reasons to finish that say that the answer is not complete for a
// fault of the server.
var broke = map[string]bool{"error": true, "abort": true, "network_error": true, "insufficient_system_resource": true}

// chunk emits what one chunk says.
func (a *answer) chunk(chunk sdk.ChatCompletionChunk) error {
	if chunk.JSON.Usage.Valid() {
		a.usage = usage(chunk.Usage)
	}
	if len(chunk.Choices) == 0 {
		if r := endpoint.NewRefusal(0, []byte(chunk.RawJSON())); r.Message != "" { // an error that is not called one
			return a.model.end.Inside(r)
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
		if broke[choice.FinishReason] {
			return a.model.end.Fail(packet.CodeModelFailed,
				fmt.Sprintf("%s ended the answer with a fault of its own. What arrived is saved.",
					a.model.end.Address()), nil)
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
			a.watch.Settle()
		}
	}
	return nil
}

func (a *answer) delta(d sdk.ChatCompletionChunkChoiceDelta) error {
	var out []llm.Event
	thought := reasoning(d.JSON.ExtraFields)
	said := d.Content
	if raw := d.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
		parts, thoughts := partsOf(raw)
		said, thought = parts, thought+thoughts
	}
	if thought != "" {
		a.thought.WriteString(thought)
		out = append(out, llm.Reasoning{Delta: thought})
	}
	if said != "" {
		out = append(out, llm.Text{Delta: said})
	}
	if d.Refusal != "" {
		out = append(out, llm.Refusal{Delta: d.Refusal})
	}
	for _, call := range d.ToolCalls {
		out = append(out, a.calls.add(fragmentOf(call))...)
	}
	//lint:ignore SA1019 older servers still send it
	if old := d.FunctionCall; old.Name != "" || old.Arguments != "" {
		out = append(out, a.calls.add(fragment{name: old.Name, arguments: old.Arguments})...)
	}
	a.spoke = a.spoke || len(out) > 0
	for _, ev := range out {
		if !a.emit(ev) {
			return endpoint.ErrLeft
		}
	}
	return nil
}

// finish emits the end of a complete answer.
func (a *answer) finish() error {
	tail := a.calls.flush()
	if native := a.model.keep(a.thought.String()); native != nil && a.calls.any() {
		tail = append(tail, *native)
	}
	if a.usage != nil {
		tail = append(tail, *a.usage)
	}
	tail = append(tail, llm.Finish{Reason: a.finishReason()})
	for _, ev := range tail {
		if !a.emit(ev) {
			return endpoint.ErrLeft
		}
	}
	return nil
}

func (a *answer) finishReason() llm.FinishReason {
	switch a.reason {
	case "length", "max_tokens":
		return llm.FinishLength
	case "content_filter", "safety", "sensitive", "prohibited_content", "blocklist", "recitation":
		return llm.FinishFiltered
	}
	// Several servers say "stop" after tool calls.
	if a.calls.any() {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// broken maps an error that ended a stream which had begun.
func (m *Model) broken(w *endpoint.Watch, err error) error {
	var inside *ssestream.StreamError
	if errors.As(err, &inside) {
		return m.end.Inside(endpoint.NewRefusal(0, inside.Event.Data))
	}
	return m.end.Broken(w, err)
}

func usage(u sdk.CompletionUsage) *llm.Usage {
	out := &llm.Usage{
		InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
		CachedTokens: u.PromptTokensDetails.CachedTokens,
	}
	// Gateways state a cost; an unreadable one is no cost.
	_ = json.Unmarshal([]byte(u.JSON.ExtraFields["cost"].Raw()), &out.Cost)
	return out
}
