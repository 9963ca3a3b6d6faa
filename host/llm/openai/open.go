package openai

import (
	"net/http"

	"github.com/openai/openai-go/v3/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// open sends the request until a stream begins, without what the endpoint is known
// to refuse, and by the interface that it has.
func (m *Model) open(w *endpoint.Watch, req llm.Request) (*http.Response, *route, error) {
	way := m.route()
	response, err := m.end.Send(w, endpoint.Attempt{
		Post: func(w *endpoint.Watch) (*http.Response, error) {
			if way.responses {
				return m.post(w, "responses", m.responseBody(req))
			}
			return m.post(w, "chat/completions", m.params(req))
		},
		Learn: func(r *endpoint.Refusal) bool {
			// Chat completions say that a field needs the other interface, responses
			// mention themselves in refusals of a field.
			if !way.responses && way.turn(r) {
				return true
			}
			return m.learn(r.Text, req, way.responses) || way.turn(r)
		},
	})
	if err == nil && way.turned {
		m.remember(way)
	}
	return response, way, err
}

// post sends the request once; its response's body is watched.
func (m *Model) post(w *endpoint.Watch, path string, params any) (*http.Response, error) {
	var response *http.Response
	watched := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(r)
		w.Body(res)
		return res, err
	}
	err := m.client.Post(w.Context(), path, params, &response, option.WithJSONSet("stream", true), option.WithMiddleware(watched))
	return response, err
}
