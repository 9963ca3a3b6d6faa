package extractive

import (
	"encoding/json"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// passage is a piece of a document that a tool found.
type passage struct {
	Ref     int    `json:"ref"`
	Title   string `json:"title"`
	Section string `json:"section"`
	Content string `json:"content"`
}

// findings is what the tools of an exchange brought.
type findings struct {
	passages []passage
	// searched tells that a tool looked for documents, with or without success.
	searched bool
	// said are the words of tools that brought no documents: failures, notes,
	// confirmations.
	said []string
}

// maxPassages bounds what is read; a search brings far fewer.
const maxPassages = 200

// read sorts the results. Results of the search tool's shape are documents, from
// whichever tool they come; anything else is a tool's own words.
func read(results []llm.Message) findings {
	var f findings
	for _, msg := range results {
		var shape struct {
			Results json.RawMessage `json:"results"`
		}
		var list []passage
		if json.Unmarshal([]byte(msg.Text), &shape) != nil || shape.Results == nil ||
			json.Unmarshal(shape.Results, &list) != nil {
			if text := strings.TrimSpace(msg.Text); text != "" {
				f.said = append(f.said, text)
			}
			continue
		}
		f.searched = true
		for _, p := range list {
			if strings.TrimSpace(p.Content) != "" && len(f.passages) < maxPassages {
				f.passages = append(f.passages, p)
			}
		}
	}
	return f
}
