package store

import (
	"bytes"
	"context"
	"errors"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

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
