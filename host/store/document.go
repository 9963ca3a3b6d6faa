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

// Put writes a document and its text. The record's owner is the
// principal. A document whose URI the owner has already replaces that one and
// keeps its id and its AddedAt; another gets an id if it has none. The record
// is returned as it was written. It returns ErrInvalid for a URI that is empty or too
// long, and ErrNotFound when the user does not exist or the record's id is another
// document's.
func (s Documents) Put(
	ctx context.Context, p identity.Principal, record DocumentRecord, text []byte,
) (DocumentRecord, error) {
	if record.URI == "" || len(record.URI) > maxURI {
		return DocumentRecord{}, invalid("a document needs a URI of 1 to %d bytes", maxURI)
	}
	given := record
	err := s.update(ctx, func(tx kv.Tx) error {
		record = given
		if err := known(tx, p, identity.AddDocument, identity.DocumentKind); err != nil {
			return err
		}
		uriKey := table.Join(p.UserID(), record.URI)
		if err := s.place(tx, p, &record, table.DocumentURIs.Text(tx, uriKey)); err != nil {
			return err
		}
		return errors.Join(
			table.Documents.Put(tx, record.ID, record),
			table.DocumentTexts.PutRaw(tx, record.ID, text),
			table.DocumentURIs.PutRaw(tx, uriKey, []byte(record.ID)))
	})
	if err != nil {
		return DocumentRecord{}, err
	}
	return record, nil
}

// place fills in id, owner and times; known is the id that the URI has.
func (s Documents) place(tx kv.Tx, p identity.Principal, record *DocumentRecord, known string) error {
	record.Owner = p.UserID()
	if known != "" {
		record.ID = known
		if old, err := table.Get[DocumentRecord](tx, table.Documents, known); err == nil {
			record.AddedAt = old.AddedAt
		}
	} else if record.ID == "" {
		record.ID = s.newID("d")
	} else if table.Documents.Has(tx, record.ID) {
		return notFound("document", record.ID)
	}
	if record.AddedAt.IsZero() {
		record.AddedAt = s.clock()
	}
	if record.UpdatedAt.IsZero() {
		record.UpdatedAt = s.clock()
	}
	return nil
}

// Delete deletes a document and its text, or returns ErrNotFound.
func (s Documents) Delete(ctx context.Context, p identity.Principal, id string) error {
	return s.update(ctx, func(tx kv.Tx) error {
		record, err := ownDocument(tx, p, identity.DeleteDocument, id)
		if err != nil {
			return err
		}
		return deleteDocument(tx, table.Join(record.Owner, record.URI), id)
	})
}

func deleteDocument(tx kv.Tx, uriKey, id string) error {
	return errors.Join(
		table.DocumentURIs.Delete(tx, uriKey),
		table.DocumentTexts.Delete(tx, id),
		table.Documents.Delete(tx, id))
}
