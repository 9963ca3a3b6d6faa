package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

const (
	// MaxFilesBytes is how many bytes of text and of pictures the files of one
	// person have together at most.
	MaxFilesBytes = 256 << 20
	// MaxMessageFiles is how many files one message carries at most.
	MaxMessageFiles = 20
	// UnsentLifetime is how long a file is kept that no message carries.
	UnsentLifetime = 7 * 24 * time.Hour
	// maxFileName is the greatest length of a file's name, in bytes.
	maxFileName = 1024
)

// File is a file that a person attached to a message. Its text or its picture is
// kept apart.
type File struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// Name is 1 to 1024 bytes; it is no path and need not be unique.
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	// Encoding is how the source was written, such as "utf-8".
	Encoding string `json:"encoding,omitempty"`
	// SHA256 is the hex digest of the source.
	SHA256 string `json:"sha256,omitempty"`
	// Bytes is the size of the source.
	Bytes int64 `json:"bytes"`
	// Characters are the code points of the text, TextBytes its UTF-8 bytes, and
	// Lines its lines.
	Characters int   `json:"characters"`
	TextBytes  int64 `json:"text_bytes"`
	Lines      int   `json:"lines"`
	// Width and Height are those of a picture, in pixels; 0 for a text.
	Width     int       `json:"width,omitempty"`
	Height    int       `json:"height,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// Sessions are those with a message that carries the file.
	Sessions []string `json:"sessions,omitempty"`
}

// Picture tells whether the file is a picture. It has no text then.
func (f File) Picture() bool { return f.Width > 0 }

// kept is how many bytes are kept of the file.
func (f File) kept() int64 {
	if f.Picture() {
		return f.Bytes
	}
	return f.TextBytes
}

// FileRef is a file as the message that carries it names it. It stays when the
// file is deleted.
type FileRef struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     int64  `json:"bytes"`
}

// Add writes a new file of the principal's with its text, which is UTF-8.
// Files that no message carried within UnsentLifetime go at that time. It
// returns ErrInvalid for a name that is empty or too long and for a text that
// is not UTF-8, ErrFull when the person's files would have more than
// MaxFilesBytes, and ErrNotFound when the user does not exist.
func (s Files) Add(ctx context.Context, p identity.Principal, record File, text []byte) (File, error) {
	if !utf8.Valid(text) {
		return File{}, invalid("the text of a file is UTF-8")
	}
	record.TextBytes, record.Characters, record.Lines = int64(len(text)), utf8.RuneCount(text), countLines(text)
	record.Width, record.Height = 0, 0
	return s.add(ctx, p, record, table.FileTexts, text)
}

// AddPicture writes a new file of the principal's that is a picture. Its Width and
// Height are at least 1. Lifetime and errors are those of AddFile.
func (s Files) AddPicture(ctx context.Context, p identity.Principal, record File, picture []byte) (File, error) {
	if record.Width < 1 || record.Height < 1 || len(picture) == 0 {
		return File{}, invalid("a picture has a width, a height and bytes")
	}
	record.Bytes = int64(len(picture))
	record.TextBytes, record.Characters, record.Lines, record.Encoding = 0, 0, 0, ""
	return s.add(ctx, p, record, table.FilePictures, picture)
}

// add writes a record and, in the table.Name for its kind, what is kept of it.
func (s Files) add(
	ctx context.Context, p identity.Principal, record File, kind table.Name, content []byte,
) (File, error) {
	if record.Name == "" || len(record.Name) > maxFileName {
		return File{}, invalid("a file's name has 1 to %d bytes", maxFileName)
	}
	err := s.update(ctx, func(tx kv.Tx) error {
		if err := known(tx, p, identity.AddFile, identity.FileKind); err != nil {
			return err
		}
		used, err := s.prune(tx, p)
		if err != nil {
			return err
		}
		if used+record.kept() > MaxFilesBytes {
			return full("the files of one person have at most %d MiB together", MaxFilesBytes>>20)
		}
		record.ID, record.Owner, record.CreatedAt, record.Sessions = s.newID("f"), p.UserID(), s.clock(), nil
		return errors.Join(
			table.Files.Put(tx, record.ID, record),
			kind.PutRaw(tx, record.ID, content),
			table.OwnerFiles.PutRaw(tx, table.Join(p.UserID(), record.ID), []byte{}))
	})
	if err != nil {
		return File{}, err
	}
	return record, nil
}

// countLines counts lines; an end of line at the very end begins none.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// prune deletes what was never sent and is too old, and returns how many
// bytes remain.
func (s Files) prune(tx kv.Tx, p identity.Principal) (used int64, err error) {
	files, _ := filesOf(tx, p) // those that cannot be read take no part
	for _, f := range files {
		if len(f.Sessions) == 0 && s.clock().After(f.CreatedAt.Add(UnsentLifetime)) {
			if err := deleteFile(tx, f); err != nil {
				return 0, err
			}
			continue
		}
		used += f.kept()
	}
	return used, nil
}

// List returns the principal's files, the newest first. Records that cannot be
// read are left out and named in the error.
func (s Files) List(ctx context.Context, p identity.Principal) ([]File, error) {
	var files []File
	var bad error
	err := s.view(ctx, func(tx kv.Tx) error {
		if err := may(p, identity.ListFiles, identity.FileKind.All()); err != nil {
			return err
		}
		files, bad = filesOf(tx, p)
		return nil
	})
	return files, errors.Join(bad, err)
}

func filesOf(tx kv.Tx, p identity.Principal) ([]File, error) {
	var files []File
	var bad []error
	for _, id := range table.OwnerFiles.Tails(tx, p.UserID()+"/") {
		f, err := ownFile(tx, p, identity.ReadFile, id)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		files = append(files, f)
	}
	slices.Reverse(files) // ids sort by time
	return files, errors.Join(bad...)
}

// Get returns a file's record, or ErrNotFound.
func (s Files) Get(ctx context.Context, p identity.Principal, id string) (File, error) {
	var f File
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		f, err = ownFile(tx, p, identity.ReadFile, id)
		return err
	})
	return f, err
}

func ownFile(tx kv.Tx, p identity.Principal, a identity.Action, id string) (File, error) {
	return own[File](tx, table.Files, p, a, id)
}

// Text returns a file's text, which is empty for a picture, or ErrNotFound. It
// is the caller's.
func (s Files) Text(ctx context.Context, p identity.Principal, id string) ([]byte, error) {
	return s.content(ctx, p, table.FileTexts, id)
}

// Picture returns the bytes of a picture, or ErrNotFound, also for a file that
// is a text. They are the caller's.
func (s Files) Picture(ctx context.Context, p identity.Principal, id string) ([]byte, error) {
	picture, err := s.content(ctx, p, table.FilePictures, id)
	if err == nil && len(picture) == 0 {
		return nil, notFound("picture", id)
	}
	return picture, err
}

func (s Files) content(ctx context.Context, p identity.Principal, kind table.Name, id string) ([]byte, error) {
	var content []byte
	err := s.view(ctx, func(tx kv.Tx) error {
		if _, err := ownFile(tx, p, identity.ReadFile, id); err != nil {
			return err
		}
		content = kind.Bytes(tx, id)
		return nil
	})
	return content, err
}

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
