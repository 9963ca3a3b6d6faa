package knowledge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
	"github.com/bulkhead-host/bulkhead/host/knowledge/index"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// MaxURI is the longest URI of a document, in bytes.
const MaxURI = 4096

// Source is a document as it came.
type Source struct {
	// URI identifies the document among its owner's: an absolute path, a web
	// address or an upload's name. Adding a URI again replaces the document.
	URI string
	// Name is the file name, of which type and title are taken if nothing better
	// is known. "" means URI.
	Name string
	// MediaType is what the sender said, or "".
	MediaType string
	// Data is at most extract.MaxBytes long. It is not kept.
	Data []byte
	// ModTime is when the source was last changed; zero means now.
	ModTime time.Time
	// Collection is the collection's name, or "".
	Collection string
}

// Status says what Add did.
type Status string

// The outcomes of Add.
const (
	StatusAdded     Status = "added"
	StatusUpdated   Status = "updated"
	StatusUnchanged Status = "unchanged"
)

// Added is what Add returns.
type Added struct {
	Document
	Status Status `json:"status"`
	// Note says to a person what reading the document took, such as an encoding that
	// was assumed; "" for nothing and where the document is unchanged.
	Note string `json:"note,omitempty"`
}

// Add reads, stores and indexes a document for its owner. The same bytes under
// the same URI change nothing. Readers see the old passages or the new ones,
// never a mixture. It returns ErrUnsupportedType, ErrTooLarge, ErrBadEncoding,
// ErrTooDeep or ErrInvalid for a document that cannot be taken, and store's
// ErrNotFound for a principal that does not exist.
//
// Text and record are written first and the index after them, so that whatever
// is cut off in between, the record's stamp differs from the index's, and the
// next Open, or the next Add of the document, makes up for it.
func (b *Base) Add(ctx context.Context, p identity.Principal, src Source) (Added, error) {
	if src.Name == "" {
		src.Name = src.URI
	}
	if src.URI == "" || len(src.URI) > MaxURI || !utf8.ValidString(src.URI) {
		return Added{}, fmt.Errorf("add document: %w: its URI must have 1 to %d bytes of UTF-8", ErrInvalid, MaxURI)
	}
	if len(src.Data) > extract.MaxBytes {
		return Added{}, fmt.Errorf("add %q: %w", src.Name, ErrTooLarge)
	}
	leave, err := b.enter()
	if err != nil {
		return Added{}, err
	}
	defer leave()
	added, err := b.add(ctx, p, src)
	if err != nil {
		return Added{}, fmt.Errorf("add %q: %w", src.Name, err)
	}
	return added, nil
}

// add reads the document before it has the lock, so that a long one does
// not keep others waiting.
func (b *Base) add(ctx context.Context, p identity.Principal, src Source) (Added, error) {
	sum := sha256.Sum256(src.Data)
	hash := hex.EncodeToString(sum[:])
	var content *reading
	for {
		added, done, err := b.write(ctx, p, src, hash, content)
		if err != nil || done {
			return added, err
		}
		if content, err = b.read(ctx, src); err != nil {
			return Added{}, err
		}
	}
}

// write stores the document under the lock. Without its content it does so only
// where nothing is to change; done is false where the content is needed.
func (b *Base) write(
	ctx context.Context, p identity.Principal, src Source, hash string, content *reading,
) (added Added, done bool, err error) {
	end, err := b.lock(ctx)
	if err != nil {
		return Added{}, false, err
	}
	defer end()
	old, err := b.documents.Find(ctx, p, src.URI)
	known := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Added{}, false, err
	}
	if known && old.SHA256 == hash && old.Collection == src.Collection && sameType(old, src) {
		// The index may still lack it, if an earlier Add failed half-way.
		_, err := b.refresh(ctx, p, old)
		return Added{Document: document(old), Status: StatusUnchanged}, true, err
	}
	if content == nil {
		return Added{}, false, nil
	}
	r, err := b.replace(ctx, p, src, hash, content)
	if known {
		return Added{document(r), StatusUpdated, content.Note}, true, err
	}
	return Added{document(r), StatusAdded, content.Note}, true, err
}

// reading is what a document says.
type reading struct {
	extract.Output
	parts []index.Passage
}

// maxReading is how many documents are read at once; a large one takes memory.
const maxReading = 2

func (b *Base) read(ctx context.Context, src Source) (*reading, error) {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := extract.Extract(extract.Input{Name: src.Name, MediaType: src.MediaType, Data: src.Data})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &reading{out, passages(out.Text, out.Format)}, ctx.Err()
}

// replace stores and indexes what src holds now.
func (b *Base) replace(
	ctx context.Context, p identity.Principal, src Source, hash string, content *reading,
) (store.DocumentRecord, error) {
	r := store.DocumentRecord{
		URI: src.URI, Title: content.Title, MediaType: content.MediaType, Collection: src.Collection,
		SHA256: hash, Bytes: int64(len(src.Data)), Chunks: len(content.parts), UpdatedAt: src.ModTime.UTC(),
		AddedAt: b.now().UTC(),
	}
	if src.ModTime.IsZero() {
		r.UpdatedAt = r.AddedAt
	}
	r, err := b.documents.Put(ctx, p, r, []byte(content.Text))
	if err != nil {
		return r, err
	}
	return r, b.index.Put(indexed(r), content.parts)
}

// sameType tells whether src would be read as the stored document was.
func sameType(old store.DocumentRecord, src Source) bool {
	t, ok := extract.MediaType(src.Name, src.MediaType)
	return ok && t == old.MediaType
}

// indexed is what the index keeps of a record.
func indexed(r store.DocumentRecord) index.Document {
	return index.Document{
		ID: r.ID, Owner: r.Owner, Stamp: stamp(r), Title: r.Title, URL: webAddress(r.URI), UpdatedAt: r.UpdatedAt,
	}
}

// stamp changes with everything that the index keeps of a document.
func stamp(r store.DocumentRecord) string {
	return r.SHA256 + "." + r.MediaType + "." + strconv.FormatInt(r.UpdatedAt.Unix(), 10)
}
