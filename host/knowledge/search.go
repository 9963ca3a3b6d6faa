package knowledge

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge/index"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Limits of a Query.
const (
	MaxQuery     = 16 << 10 // bytes of text
	DefaultLimit = 10
	MaxLimit     = 100
)

// Query is a question to the documents.
type Query struct {
	// Text is taken apart into words; nothing in it is syntax. At most MaxQuery.
	Text string
	// Limit is how many hits are wanted; 0 is DefaultLimit, more than MaxLimit is
	// MaxLimit.
	Limit int
}

// Span is a range of code points.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Hit is a passage found.
type Hit struct {
	DocumentID string    `json:"document_id"`
	ChunkID    string    `json:"chunk_id"`
	Title      string    `json:"title"`
	Section    string    `json:"section,omitempty"` // headings above: "A › B"
	Content    string    `json:"content"`           // the passage as it is written
	Snippet    string    `json:"snippet"`           // at most 240 code points, no markup
	URL        string    `json:"url,omitempty"`
	URI        string    `json:"uri,omitempty"`
	Score      float64   `json:"score"` // comparable within one answer only
	UpdatedAt  time.Time `json:"updated_at"`
	// Highlights are the words of the question in Snippet.
	Highlights []Span `json:"highlights,omitempty"`
}

// Search returns the principal's passages that share words with the question,
// best first; ties are in the order of ids. A question without words finds
// nothing. It returns ErrInvalid for a text that is too long or not UTF-8.
func (b *Base) Search(ctx context.Context, p identity.Principal, q Query) ([]Hit, error) {
	leave, err := b.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(q.Text) > MaxQuery || !utf8.ValidString(q.Text) || q.Limit < 0 {
		return nil, fmt.Errorf("search: %w: a question has at most %d bytes of UTF-8, and its limit is not negative",
			ErrInvalid, MaxQuery)
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	if err := identity.Authorize(p, identity.SearchDocuments, identity.DocumentKind.All()); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	found, err := b.index.Search(ctx, p.UserID(), q.Text, min(q.Limit, MaxLimit))
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, len(found))
	records := map[string]store.DocumentRecord{}
	for _, f := range found {
		r, ok := records[f.DocumentID]
		if !ok {
			// A document that was just removed is not shown, though its passages may
			// still stand in the index.
			r, err = b.documents.Get(ctx, p, f.DocumentID)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, fmt.Errorf("search: %w", err)
			}
			records[f.DocumentID] = r
		}
		if r.ID != "" {
			hits = append(hits, hit(f, r))
		}
	}
	return hits, nil
}

func hit(f index.Hit, r store.DocumentRecord) Hit {
	h := Hit{
		DocumentID: f.DocumentID, ChunkID: f.PassageID, Title: f.Title, Section: f.Section, Content: f.Content,
		Snippet: f.Snippet.Text, URL: f.URL, URI: r.URI, Score: f.Score, UpdatedAt: f.UpdatedAt,
	}
	for _, s := range f.Snippet.Highlights {
		h.Highlights = append(h.Highlights, Span(s))
	}
	return h
}
