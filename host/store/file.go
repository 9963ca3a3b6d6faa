package store

import (
	"context"
	"errors"
	"slices"
	"time"

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
