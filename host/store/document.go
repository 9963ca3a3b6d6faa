package store

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// maxURI is the greatest length of a document's URI, in bytes.
const maxURI = 8192

// DocumentRecord is a document of somebody's knowledge. Its text is kept apart.
type DocumentRecord struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// URI identifies the document among its owner's: 1 to 8192 bytes.
	URI        string `json:"uri"`
	Title      string `json:"title,omitempty"`
	MediaType  string `json:"media_type,omitempty"`
	Collection string `json:"collection,omitempty"`
	// SHA256 is the hex digest of the source, by which a change is seen.
	SHA256 string `json:"sha256,omitempty"`
	// Bytes is the size of the source.
	Bytes     int64     `json:"bytes"`
	Chunks    int       `json:"chunks"`
	UpdatedAt time.Time `json:"updated_at"`
	AddedAt   time.Time `json:"added_at"`
}

// Get returns a document's record, or ErrNotFound.
func (s Documents) Get(ctx context.Context, p identity.Principal, id string) (DocumentRecord, error) {
	var record DocumentRecord
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		record, err = ownDocument(tx, p, identity.ReadDocument, id)
		return err
	})
	return record, err
}

func ownDocument(tx kv.Tx, p identity.Principal, a identity.Action, id string) (DocumentRecord, error) {
	return own[DocumentRecord](tx, table.Documents, p, a, id)
}

// Text returns a document's text, or ErrNotFound. It is the caller's.
func (s Documents) Text(ctx context.Context, p identity.Principal, id string) ([]byte, error) {
	var text []byte
	err := s.view(ctx, func(tx kv.Tx) error {
		if _, err := ownDocument(tx, p, identity.ReadDocument, id); err != nil {
			return err
		}
		text = table.DocumentTexts.Bytes(tx, id)
		return nil
	})
	return text, err
}

// Find returns the principal's document with that URI, or ErrNotFound.
func (s Documents) Find(ctx context.Context, p identity.Principal, uri string) (DocumentRecord, error) {
	var record DocumentRecord
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		if err := may(p, identity.ListDocuments, identity.DocumentKind.All()); err != nil {
			return err
		}
		id := table.DocumentURIs.Text(tx, table.Join(p.UserID(), uri))
		if id == "" {
			return notFound("document", uri)
		}
		record, err = ownDocument(tx, p, identity.ReadDocument, id)
		return err
	})
	return record, err
}

// List returns the principal's documents by URI. Records that cannot be
// read are left out and named in the error.
func (s Documents) List(ctx context.Context, p identity.Principal) ([]DocumentRecord, error) {
	var records []DocumentRecord
	var bad []error
	err := s.view(ctx, func(tx kv.Tx) error {
		if err := may(p, identity.ListDocuments, identity.DocumentKind.All()); err != nil {
			return err
		}
		table.DocumentURIs.Scan(tx, p.UserID()+"/", func(_ string, id []byte) bool {
			record, err := ownDocument(tx, p, identity.ReadDocument, string(id))
			if err != nil {
				bad = append(bad, err)
			} else {
				records = append(records, record)
			}
			return true
		})
		return nil
	})
	return records, errors.Join(append(bad, err)...)
}
