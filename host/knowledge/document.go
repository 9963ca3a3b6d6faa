package knowledge

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Document is what is known of a document beside its text.
type Document struct {
	ID         string    `json:"id"`
	Owner      string    `json:"owner,omitempty"`
	URI        string    `json:"uri"`
	Title      string    `json:"title"`
	MediaType  string    `json:"media_type"` // text/markdown, text/plain or text/html
	Collection string    `json:"collection,omitempty"`
	Bytes      int64     `json:"bytes"` // of the source
	Chunks     int       `json:"chunks"`
	UpdatedAt  time.Time `json:"updated_at"` // when the source was last changed
	AddedAt    time.Time `json:"added_at"`
}

func document(r store.DocumentRecord) Document {
	return Document{
		ID: r.ID, Owner: r.Owner, URI: r.URI, Title: r.Title, MediaType: r.MediaType, Collection: r.Collection,
		Bytes: r.Bytes, Chunks: r.Chunks, UpdatedAt: r.UpdatedAt, AddedAt: r.AddedAt,
	}
}

// List returns the principal's documents, by URI.
func (b *Base) List(ctx context.Context, p identity.Principal) ([]Document, error) {
	leave, err := b.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	records, err := b.documents.List(ctx, p)
	docs := make([]Document, len(records))
	for i, r := range records {
		docs[i] = document(r)
	}
	if err != nil {
		return docs, fmt.Errorf("list documents: %w", err)
	}
	return docs, nil
}

// Get returns one of the principal's documents, or ErrNotFound.
func (b *Base) Get(ctx context.Context, p identity.Principal, id string) (Document, error) {
	leave, err := b.enter()
	if err != nil {
		return Document{}, err
	}
	defer leave()
	r, err := b.documents.Get(ctx, p, id)
	if err != nil {
		return Document{}, fmt.Errorf("document %q: %w", id, notFound(err))
	}
	return document(r), nil
}

// Read returns the part of a document's text that starts at code point offset
// and is at most limit code points long, and the length of the whole text in
// code points. A limit of 0 means to the end; an offset beyond the end gives "".
// It returns ErrNotFound, or ErrInvalid for a negative number.
func (b *Base) Read(
	ctx context.Context, p identity.Principal, id string, offset, limit int,
) (text string, total int, err error) {
	leave, err := b.enter()
	if err != nil {
		return "", 0, err
	}
	defer leave()
	if offset < 0 || limit < 0 {
		return "", 0, fmt.Errorf("read document: %w: offset and limit must not be negative", ErrInvalid)
	}
	raw, err := b.documents.Text(ctx, p, id)
	if err != nil {
		return "", 0, fmt.Errorf("read document %q: %w", id, notFound(err))
	}
	all := string(raw)
	start, end := len(all), len(all)
	for i := range all {
		if total == offset {
			start = i
		}
		if limit > 0 && total-offset == limit {
			end = i
		}
		total++
	}
	return all[start:max(start, end)], total, nil
}

// Remove deletes a document, its text and its passages, or returns ErrNotFound.
// The record goes first: if the host dies in between, the document stays
// removed and Open clears the index.
func (b *Base) Remove(ctx context.Context, p identity.Principal, id string) error {
	done, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := b.documents.Delete(ctx, p, id); err != nil {
		return fmt.Errorf("remove document %q: %w", id, notFound(err))
	}
	return b.index.Delete(id)
}

// format says how a record's stored text is written.
func format(r store.DocumentRecord) extract.Format {
	if r.MediaType == "text/plain" {
		return extract.Plain
	}
	return extract.Markdown
}

// webAddress returns uri if it is one that a browser may open, else "".
func webAddress(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return uri
}

// separator stands between the headings of a section's name.
const separator = " › "

func sectionName(path []string) string { return strings.Join(path, separator) }

func headings(h []string) string { return strings.Join(h, "\n") }
