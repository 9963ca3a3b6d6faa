package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// answer is what is known of one streamed answer.
type answer struct {
	model  *Model
	watch  *watch
	emit   func(llm.Event) bool
	calls  calls
	usage  *llm.Usage
	reason string
}

// decode reads the stream to its end and emits its events, Usage and Finish
// last. It returns errLeft when emit returned false.
func (m *Model) decode(w *watch, response *http.Response, emit func(llm.Event) bool) error {
	source := newEvents(response)
	stream := ssestream.NewStream[sdk.ChatCompletionChunk](source, nil)
	defer stream.Close()
	a := &answer{model: m, watch: w, emit: emit, calls: calls{newID: m.cfg.NewID}}
	for stream.Next() {
		if err := a.chunk(stream.Current()); err != nil {
			return err
		}
	}
	err := stream.Err()
	if a.reason == "" && err != nil {
		return m.broken(w.cause(err))
	}
	// Once the model has finished, what happens to the connection is no matter.
	if a.reason == "" && !source.done {
		return m.fail(packet.CodeModelInterrupted, fmt.Sprintf("The answer from %s broke off. What arrived is saved.", m.address), nil)
	}
	return a.finish()
}

// chunk emits what one chunk says.
func (a *answer) chunk(chunk sdk.ChatCompletionChunk) error {
	if chunk.JSON.Usage.Valid() {
		a.usage = usage(chunk.Usage)
	}
	if len(chunk.Choices) == 0 && strings.Contains(chunk.RawJSON(), `"object":"error"`) {
		return a.model.refused(newRefusal(0, []byte(chunk.RawJSON())))
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason == "error" {
			return a.model.fail(packet.CodeModelFailed, fmt.Sprintf("%s ended the answer with a fault of its own. What arrived is saved.", a.model.address), nil)
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
			a.watch.settle()
		}
	}
	return nil
}

func (a *answer) delta(d sdk.ChatCompletionChunkChoiceDelta) error {
	out := []llm.Event{}
	if text := reasoning(d.JSON.ExtraFields); text != "" {
		out = append(out, llm.Reasoning{Delta: text})
	}
	if d.Content != "" {
		out = append(out, llm.Text{Delta: d.Content})
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
	for _, ev := range out {
		if !a.emit(ev) {
			return errLeft
		}
	}
	return nil
}

// finish emits the end of a complete answer.
func (a *answer) finish() error {
	tail := a.calls.flush()
	if a.usage != nil {
		tail = append(tail, *a.usage)
	}
	tail = append(tail, llm.Finish{Reason: a.finishReason()})
	for _, ev := range tail {
		if !a.emit(ev) {
			return errLeft
		}
	}
	return nil
}

func (a *answer) finishReason() llm.FinishReason {
	switch a.reason {
	case "length", "max_tokens":
		return llm.FinishLength
	case "content_filter", "safety":
		return llm.FinishFiltered
	}
	// Several servers say "stop" after tool calls.
	if a.calls.any() {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// broken maps an error that ended a stream which had begun.
func (m *Model) broken(err error) error {
	var inside *ssestream.StreamError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &inside):
		return m.insideError(newRefusal(0, inside.Event.Data))
	case errors.Is(err, errIdle), errors.Is(err, errNoFirstToken), errors.Is(err, errTooLarge):
		return m.failure(err)
	case errors.As(err, &syntax):
		return m.fail(packet.CodeModelBadResponse, fmt.Sprintf("%s sent something in its answer that could not be read.", m.address), err)
	case networkFault(err) != faultNone:
		return m.fail(packet.CodeModelInterrupted, fmt.Sprintf("The connection to %s broke in the middle of the answer. What arrived is saved.", m.address), err)
	}
	return m.failure(err)
}

// insideError maps an error object in the stream. Its code, where it is a
// number, speaks as a status would have.
func (m *Model) insideError(r *refusal) error {
	var status int
	if _, err := fmt.Sscanf(r.code, "%d", &status); err == nil && status >= 400 && status < 600 {
		r.status = status
	}
	if r.status == 0 && strings.Contains(r.code+r.kind, "rate_limit") {
		r.status = http.StatusTooManyRequests
	}
	if r.message == "" {
		r.message = "an error without words"
	}
	return m.refused(r)
}

// reasoning reads the two names that reasoning goes by; an endpoint that sends
// both sends the same text twice.
func reasoning(extra map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if text := asText(json.RawMessage(extra[name].Raw())); text != "" {
			return text
		}
	}
	return ""
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
