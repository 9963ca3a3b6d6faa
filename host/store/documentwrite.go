package store

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

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
