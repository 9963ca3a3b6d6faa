package openai

import (
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// open sends the request until a stream begins, without what the endpoint is known
// to refuse, and by the interface that it has.
func (m *Model) open(w *endpoint.Watch, req llm.Request) (*http.Response, *route, error) {
	way := m.route()
	var sentWith uint32
	response, err := m.end.Send(w, endpoint.Attempt{
		Post: func(w *endpoint.Watch) (*http.Response, error) {
			sentWith = m.quirks.Load()
			if way.responses {
				return m.post(w, "responses", m.responseBody(req))
			}
			return m.post(w, "chat/completions", m.params(req))
		},
		Whole: wholeReply,
		Learn: func(r *endpoint.Refusal) bool {
			// Chat completions say that a field needs the other interface, responses
			// mention themselves in refusals of a field.
			if !way.responses && way.switches(r) {
				return true
			}
			if way.responses && req.HasNatives() && undecrypted(r) {
				req = req.WithoutNatives()
				return true
			}
			return m.learn(r.Words(), req, way.responses, quirk(sentWith)) || way.switches(r)
		},
	})
	if err == nil && way.turned {
		m.remember(way)
	}
	return response, way, err
}

// undecrypted tells whether a refusal says that reasoning which the endpoint encrypted
// cannot be read any more: it was another account's, or is too old. The answer goes on
// without it; a later one may have its own back.
func undecrypted(r *endpoint.Refusal) bool {
	text := r.Words()
	return strings.Contains(text, "invalid_encrypted_content") ||
		strings.Contains(text, "encrypted content") &&
			(strings.Contains(text, "verified") || strings.Contains(text, "decrypt"))
}

// post sends the request once; its response's body is watched.
func (m *Model) post(w *endpoint.Watch, path string, params any) (*http.Response, error) {
	var response *http.Response
	watched := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(r)
		w.Body(res)
		return res, err
	}
	err := m.client.Post(w.Context(), path, params, &response, option.WithJSONSet("stream", true),
		option.WithMiddleware(watched))
	return response, err
}
