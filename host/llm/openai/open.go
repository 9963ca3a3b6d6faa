package openai

import (
	"net/http"

	"github.com/openai/openai-go/v3/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// open sends the request until a stream begins, without what the endpoint is known
// to refuse.
func (m *Model) open(w *endpoint.Watch, req llm.Request) (*http.Response, error) {
	return m.end.Send(w, endpoint.Attempt{
		Post: func(w *endpoint.Watch) (*http.Response, error) {
			return m.post(w, "chat/completions", m.params(req))
		},
		Learn: func(r *endpoint.Refusal) bool { return m.learn(r.Text, req) },
	})
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
