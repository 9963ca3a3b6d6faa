package index

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/blevesearch/bleve/v2"
)

// Hit is a passage that answers a question.
type Hit struct {
	DocumentID, PassageID   string
	Title, Section, Content string
	URL                     string
	UpdatedAt               time.Time
	Score                   float64 // comparable within one answer only
	Snippet                 Snippet
}

// Search returns at most limit of the owner's passages that share a word with
// text, best first; equal ones are in the order of their ids. A text without
// words finds nothing. Text is never read as query syntax. The search ends when
// ctx does.
func (x *Index) Search(ctx context.Context, owner, text string, limit int) ([]Hit, error) {
	terms := x.analysis.question(text)
	if len(terms) == 0 || limit <= 0 || owner == "" {
		return nil, nil
	}
	req := bleve.NewSearchRequestOptions(&ranking{owner: owner, terms: terms, avg: x.averages}, limit, 0, false)
	req.Fields = []string{fieldStored}
	req.SortBy([]string{"-_score", "_id"})
	found, err := x.bleve.SearchInContext(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	hits := make([]Hit, 0, len(found.Hits))
	for _, m := range found.Hits {
		raw, _ := m.Fields[fieldStored].(string)
		var s stored
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			return nil, fmt.Errorf("search: passage %q: %w", m.ID, err)
		}
		h := Hit{DocumentID: s.Document, PassageID: m.ID, Title: s.Title, Section: s.Section, Content: s.Content,
			URL: s.URL, Score: m.Score}
		if s.Updated != 0 {
			h.UpdatedAt = time.Unix(s.Updated, 0).UTC()
		}
		h.Snippet = x.analysis.snippet(s, terms)
		hits = append(hits, h)
	}
	return hits, nil
}
