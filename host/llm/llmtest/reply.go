package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Reply is what the server sends for one request. Build it with Answer, Status,
// HTML, Hang or Raw and the methods; a Reply must not be changed once it was
// given to a server.
type Reply struct {
	status  int
	header  http.Header
	parts   []part
	calls   int
	finish  string
	usage   any
	open    bool // no finish, no usage, no [DONE]
	noDone  bool
	hang    bool
	chunk   int // bytes per write, 0 for a write per part
	cutAt   int // bytes after which the connection ends, -1 for never
	cutHard bool
}

// part is a piece of the body, or a wait.
type part struct {
	data []byte
	wait func(ctx context.Context) error
}

// Answer returns an empty streamed answer, to be filled. Unless told otherwise
// it ends with a finish chunk, the usage where it was given, and [DONE].
func Answer() *Reply {
	return &Reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream"}}, cutAt: -1}
}

// Raw returns a reply with exactly these bytes as its body, as an event stream.
func Raw(stream []byte) *Reply {
	r := Answer()
	r.open = true
	r.parts = []part{{data: stream}}
	return r
}

// Status returns a reply with an error status and a JSON body.
func Status(code int, body string) *Reply {
	r := Raw([]byte(body))
	r.status = code
	return r.Header("Content-Type", "application/json")
}

// HTML returns a reply with a web page, as proxies and wrong addresses give it.
func HTML(code int) *Reply {
	r := Status(code, "<!doctype html><html><body><h1>Welcome</h1></body></html>")
	return r.Header("Content-Type", "text/html; charset=utf-8")
}

// Hang returns a reply that never begins: not even the status line is sent. It
// ends when the client leaves or the server is closed.
func Hang() *Reply {
	r := Answer()
	r.hang = true
	return r
}

// Header sets a header of the reply.
func (r *Reply) Header(name, value string) *Reply {
	r.header.Set(name, value)
	return r
}

// Text adds one chunk per piece of text.
func (r *Reply) Text(pieces ...string) *Reply {
	for _, p := range pieces {
		r.Delta(map[string]any{"content": p})
	}
	return r
}

// Reasoning adds one chunk per piece of reasoning, under the name "reasoning".
func (r *Reply) Reasoning(pieces ...string) *Reply {
	for _, p := range pieces {
		r.Delta(map[string]any{"reasoning": p})
	}
	return r
}

// ReasoningContent is Reasoning under the name "reasoning_content".
func (r *Reply) ReasoningContent(pieces ...string) *Reply {
	for _, p := range pieces {
		r.Delta(map[string]any{"content": nil, "reasoning_content": p})
	}
	return r
}

// Refusal adds one chunk per piece of a refusal.
func (r *Reply) Refusal(pieces ...string) *Reply {
	for _, p := range pieces {
		r.Delta(map[string]any{"refusal": p})
	}
	return r
}

// ToolCall adds a call under the next index: a chunk with id and name, then one
// per piece of the arguments.
func (r *Reply) ToolCall(id, name string, arguments ...string) *Reply {
	index := r.calls
	r.calls++
	r.Delta(toolDelta(map[string]any{"index": index, "id": id, "type": "function",
		"function": map[string]any{"name": name, "arguments": ""}}))
	for _, piece := range arguments {
		r.Delta(toolDelta(map[string]any{"index": index, "function": map[string]any{"arguments": piece}}))
	}
	return r
}

// Fragment adds one entry of tool_calls exactly as given, for endpoints that
// leave out or repeat ids and indexes.
func (r *Reply) Fragment(entry string) *Reply {
	r.calls++
	return r.Delta(toolDelta(json.RawMessage(entry)))
}

func toolDelta(entry any) map[string]any { return map[string]any{"tool_calls": []any{entry}} }

// Delta adds a chunk with any delta; it must encode as JSON.
func (r *Reply) Delta(delta any) *Reply {
	return r.data(chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}, nil))
}

// Data adds a "data:" event with exactly this text.
func (r *Reply) Data(text string) *Reply { return r.data([]byte(text)) }

// Bytes adds bytes to the body as they are.
func (r *Reply) Bytes(b []byte) *Reply {
	r.parts = append(r.parts, part{data: b})
	return r
}

func (r *Reply) data(json []byte) *Reply {
	return r.Bytes(bytes.Join([][]byte{[]byte("data: "), json, []byte("\n\n")}, nil))
}

// Gate holds the stream at this place until gate yields or is closed.
func (r *Reply) Gate(gate <-chan struct{}) *Reply {
	return r.Wait(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-gate:
			return nil
		}
	})
}

// Pause holds the stream at this place for a time.
func (r *Reply) Pause(d time.Duration) *Reply {
	return r.Wait(func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	})
}

// Wait holds the stream at this place until wait returns; an error ends it. The
// context ends when the client leaves or the server closes.
func (r *Reply) Wait(wait func(ctx context.Context) error) *Reply {
	r.parts = append(r.parts, part{wait: wait})
	return r
}

// Usage makes the last chunk before [DONE] count tokens.
func (r *Reply) Usage(input, output int) *Reply {
	r.usage = map[string]any{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
	return r
}

// Finish sets the finish reason; without it, it is tool_calls after a call and
// stop otherwise.
func (r *Reply) Finish(reason string) *Reply {
	r.finish = reason
	return r
}

// Unfinished leaves out the finish chunk, the usage and [DONE].
func (r *Reply) Unfinished() *Reply {
	r.open = true
	return r
}

// NoDone leaves out only [DONE].
func (r *Reply) NoDone() *Reply {
	r.noDone = true
	return r
}

// Split writes the body in pieces of n bytes, each flushed by itself.
func (r *Reply) Split(n int) *Reply {
	r.chunk = n
	return r
}

// Cut breaks the connection after n bytes of the body.
func (r *Reply) Cut(n int) *Reply {
	r.cutAt, r.cutHard = n, true
	return r
}

// EndAfter ends the body properly after n bytes, as if there were no more.
func (r *Reply) EndAfter(n int) *Reply {
	r.cutAt, r.cutHard = n, false
	return r
}

// Stream returns the whole body as it would be sent, waits left out.
func (r *Reply) Stream() []byte {
	var out bytes.Buffer
	for _, p := range r.all() {
		out.Write(p.data)
	}
	return out.Bytes()
}

// all returns the parts with the ending.
func (r *Reply) all() []part {
	if r.open || r.status != http.StatusOK {
		return r.parts
	}
	reason := r.finish
	if reason == "" && r.calls > 0 {
		reason = "tool_calls"
	} else if reason == "" {
		reason = "stop"
	}
	end := &Reply{parts: append([]part(nil), r.parts...)}
	end.data(chunk([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}, nil))
	if r.usage != nil {
		end.data(chunk([]any{}, r.usage))
	}
	if !r.noDone {
		end.Data("[DONE]")
	}
	return end.parts
}

// chunk returns one chat.completion.chunk as servers write it.
func chunk(choices []any, usage any) []byte {
	out := map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000,
		"model": "scripted", "choices": choices}
	if usage != nil {
		out["usage"] = usage
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic("llmtest: a delta that is not JSON: " + strconv.Quote(err.Error())) // a test's own mistake
	}
	return data
}
