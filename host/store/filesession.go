package store

import (
	"context"
	"errors"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Delete deletes a file with its text or picture for good, or returns ErrNotFound.
// Messages that carry it keep its name.
func (s Files) Delete(ctx context.Context, p identity.Principal, id string) error {
	return s.update(ctx, func(tx kv.Tx) error {
		f, err := ownFile(tx, p, identity.DeleteFile, id)
		if err != nil {
			return err
		}
		return deleteFile(tx, f)
	})
}

func deleteFile(tx kv.Tx, f File) error {
	errs := []error{
		table.OwnerFiles.Delete(tx, table.Join(f.Owner, f.ID)),
		table.FileTexts.Delete(tx, f.ID),
		table.FilePictures.Delete(tx, f.ID),
		table.Files.Delete(tx, f.ID),
	}
	for _, session := range f.Sessions {
		errs = append(errs, table.SessionFiles.Delete(tx, table.Join(session, f.ID)))
	}
	return errors.Join(errs...)
}

// carry notes that a message of the session carries the files and returns how
// the message names them.
func carry(tx kv.Tx, p identity.Principal, session string, ids []string) ([]FileRef, error) {
	if len(ids) > MaxMessageFiles {
		return nil, invalid("a message carries at most %d files", MaxMessageFiles)
	}
	var refs []FileRef
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return nil, invalid("file %s is named twice", id)
		}
		f, err := ownFile(tx, p, identity.ReadFile, id)
		if err != nil {
			return nil, err
		}
		refs = append(refs, FileRef{ID: f.ID, Name: f.Name, MediaType: f.MediaType, Bytes: f.Bytes})
		if slices.Contains(f.Sessions, session) {
			continue
		}
		f.Sessions = append(f.Sessions, session)
		err = errors.Join(
			table.Files.Put(tx, f.ID, f),
			table.SessionFiles.PutRaw(tx, table.Join(session, f.ID), []byte{}))
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// dropSessionFiles deletes the files that only the session carries.
func dropSessionFiles(tx kv.Tx, session string) error {
	for _, id := range table.SessionFiles.Tails(tx, session+"/") {
		f, err := table.Get[File](tx, table.Files, id)
		if err != nil {
			continue // a record that is gone or unreadable has nothing to let go of
		}
		f.Sessions = slices.DeleteFunc(f.Sessions, func(s string) bool { return s == session })
		if len(f.Sessions) == 0 {
			err = deleteFile(tx, f)
		} else {
			err = table.Files.Put(tx, id, f)
		}
		if err != nil {
			return err
		}
	}
	return table.SessionFiles.DeletePrefix(tx, session+"/")
}

// deleteFilesOf deletes all files of a user, those that cannot be read too.
func deleteFilesOf(tx kv.Tx, owner string) error {
	for _, id := range table.OwnerFiles.Tails(tx, owner+"/") {
		f, err := table.Get[File](tx, table.Files, id)
		if err != nil {
			f = File{}
		}
		f.ID, f.Owner = id, owner
		if err := deleteFile(tx, f); err != nil {
			return err
		}
	}
	return nil
}
