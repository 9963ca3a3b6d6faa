package openai

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// isOfficial tells whether an address is OpenAI's own.
func isOfficial(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), "api.openai.com")
}

// route is which interface one answer is asked through.
type route struct {
	responses bool
	// fixed tells that the operator chose it.
	fixed bool
	// turned tells that the endpoint refused the other one.
	turned bool
}

// route is where the next answer is asked for.
func (m *Model) route() *route {
	known := quirk(m.quirks.Load())
	switch {
	case m.cfg.API == APIResponses, m.cfg.API == APIChat:
		return &route{responses: m.cfg.API == APIResponses, fixed: true}
	case known&chatOnly != 0:
		return &route{}
	}
	return &route{responses: m.official || known&responsesOnly != 0}
}

// switches takes the other interface, once, where a refusal says that the endpoint does
// not have this one for the model. Nothing of an answer has come then.
func (r *route) switches(refusal *endpoint.Refusal) bool {
	if r.fixed || r.turned || !r.missing(refusal) {
		return false
	}
	r.responses, r.turned = !r.responses, true
	return true
}

// missing tells whether a refusal is about the interface: there is no such path, or
// words that name the other one. A path that is there and a model that is not is no
// such refusal.
func (r *route) missing(refusal *endpoint.Refusal) bool {
	text := refusal.Words()
	switch refusal.Status {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	case http.StatusNotFound:
		if !strings.Contains(text, "model") {
			return true
		}
	}
	other := []string{"v1/responses", "responses api", "responses endpoint"}
	if r.responses {
		other = []string{"chat/completions", "chat completions", "not supported with the responses",
			"not supported in the responses", "not support the responses"}
	}
	return slices.ContainsFunc(other, func(words string) bool { return strings.Contains(text, words) })
}

// remember keeps which interface an endpoint has, once it has answered through it.
func (m *Model) remember(way *route) {
	m.learning.Lock()
	defer m.learning.Unlock()
	known := quirk(m.quirks.Load()) &^ (chatOnly | responsesOnly)
	if way.responses {
		known |= responsesOnly
	} else {
		known |= chatOnly
	}
	m.quirks.Store(uint32(known))
}
