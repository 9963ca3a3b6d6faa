package anthropic

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// ran tells that one of the provider's own tools came back.
func (a *answer) ran(id string, failed bool) error {
	at := slices.IndexFunc(a.pending, func(b *block) bool { return b.id == id })
	if at < 0 {
		return nil
	}
	b := a.pending[at]
	a.pending = slices.Delete(a.pending, at, at+1)
	return a.send(serverTool(b, failed))
}

func serverTool(b *block, failed bool) llm.ServerTool {
	var input struct {
		Query string `json:"query"`
	}
	_ = json.Unmarshal(b.json(), &struct {
		Input any `json:"input"`
	}{&input}) // a query that cannot be read is not shown
	return llm.ServerTool{Name: b.name, Query: input.Query, Failed: failed}
}

// failed tells whether the content of a result is an error: an object, where what
// was found is a list.
func failed(content string) bool { return strings.HasPrefix(strings.TrimSpace(content), "{") }

// cite writes the sources of a text after it, each once in an answer, as links
// that a person can follow.
func (a *answer) cite(b *block) error {
	for _, raw := range b.citations {
		var c struct {
			URL   string `json:"url"`
			Title string `json:"title"`
		}
		if json.Unmarshal(raw, &c) != nil || a.cited[c.URL] {
			continue
		}
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			continue
		}
		if a.cited == nil {
			a.cited = map[string]bool{}
		}
		a.cited[c.URL] = true
		link := " (" + llm.Link(c.Title, u) + ")"
		a.text.WriteString(link)
		if err := a.send(llm.Text{Delta: link}); err != nil {
			return err
		}
	}
	return nil
}
