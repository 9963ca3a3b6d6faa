package guest

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// extismHTTP serves Extism's http_request through the same function as
// http_fetch. What was denied or failed has status 0, and the sentence is the
// body.
func extismHTTP(g *gate.Call) engine.HTTPFunc {
	fetch := g.Host(hostfunc.HTTPFetch)
	return func(ctx context.Context, r engine.HTTPRequest) engine.HTTPResponse {
		in, err := json.Marshal(hostfunc.Fetch{URL: r.URL, Method: r.Method, Headers: r.Headers, BodyBase64: r.Body})
		if err != nil { // strings and bytes always encode
			return engine.HTTPResponse{Body: []byte(err.Error())}
		}
		var answer struct {
			OK    *hostfunc.Fetched `json:"ok"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(fetch(ctx, in), &answer); err != nil {
			return engine.HTTPResponse{Body: []byte("The host's answer cannot be read.")}
		}
		switch {
		case answer.OK == nil:
			return engine.HTTPResponse{Body: []byte(answer.Error.Message)}
		case answer.OK.Truncated:
			// The guest cannot know that it has a part, so it gets nothing.
			return engine.HTTPResponse{Body: []byte("The response is larger than this plugin may read.")}
		}
		body := answer.OK.BodyBase64
		if body == nil {
			body = []byte(answer.OK.Body)
		}
		return engine.HTTPResponse{Status: answer.OK.Status, Headers: answer.OK.Headers, Body: body}
	}
}
