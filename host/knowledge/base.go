// Package knowledge keeps people's documents and finds passages in them.
//
// In come documents as bytes, each with its owner; they are read (extract), cut
// (chunk), stored through a DocumentStore and indexed (index). Out come lists,
// texts and, for a question, the owner's best passages. The stored text is the
// truth; the index is built from it and repaired when a Base is opened.
//
// Rights are applied inside the index's query, before anything is ranked:
// a principal finds, lists, reads and removes its own documents and no others,
// an operator too. identity decides it, here for what the index does and in the
// store for what a record is. It must not know models, tools, HTTP or the command line.
package knowledge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge/chunk"
	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
	"github.com/bulkhead-host/bulkhead/host/knowledge/index"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// The errors of reading a document are those of extract.
var (
	ErrUnsupportedType = extract.ErrUnsupportedType
	ErrTooLarge        = extract.ErrTooLarge
	ErrBadEncoding     = extract.ErrBadEncoding
	ErrTooDeep         = extract.ErrTooDeep
)

var (
	// ErrNotFound is returned when the principal has no such document.
	ErrNotFound = errors.New("there is no such document; list the documents to see which there are")
	// ErrInvalid is returned when a document or a question cannot be taken as it
	// is, with what is wrong.
	ErrInvalid = errors.New("this cannot be taken")
	// ErrClosed is returned when the Base is closed.
	ErrClosed = errors.New("the knowledge base is closed")
	// ErrInUse is returned when another process has the index open.
	ErrInUse = index.ErrInUse
)

// DocumentStore keeps records and texts; store.Documents implements it.
type DocumentStore interface {
	// Put writes a record and its text in one transaction and returns the record with
	// its id.
	Put(ctx context.Context, p identity.Principal, r store.DocumentRecord, text []byte) (store.DocumentRecord, error)
	Get(ctx context.Context, p identity.Principal, id string) (store.DocumentRecord, error)
	Text(ctx context.Context, p identity.Principal, id string) ([]byte, error)
	Find(ctx context.Context, p identity.Principal, uri string) (store.DocumentRecord, error)
	List(ctx context.Context, p identity.Principal) ([]store.DocumentRecord, error)
	Delete(ctx context.Context, p identity.Principal, id string) error
}

// People lists everybody, so that the index can be compared with all documents;
// store.Users implements it.
type People interface {
	List(ctx context.Context, p identity.Principal) ([]store.User, error)
}

var (
	_ DocumentStore = store.Documents{}
	_ People        = store.Users{}
)

// Config is what a Base needs.
type Config struct {
	// Dir is the folder of the search index; it is made if it is missing.
	Dir string
	// Documents keeps records and texts. The Base does not close it.
	Documents DocumentStore
	// People are those whose documents there can be.
	People People
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger is told what Open repaired; nil is silence.
	Logger *slog.Logger
}

// Base is open knowledge. It is safe for concurrent use: any number of readers
// beside one writer; further writers wait.
type Base struct {
	documents DocumentStore
	people    People
	index     *index.Index
	now       func() time.Time
	log       *slog.Logger

	writing chan struct{} // holds a token while a document is added or removed
	reading chan struct{} // holds a token for each document that is being read

	mu      sync.Mutex // guards closed
	closed  bool
	running sync.WaitGroup // calls that Close waits for
}

// Open opens the index and makes it agree with the stored documents: what is
// missing or of an older text is indexed, what is no longer stored is removed.
// An index of another version, or a damaged one, is built anew. It returns
// ErrInUse when another process has the index open.
func Open(ctx context.Context, c Config) (*Base, error) {
	if c.Dir == "" || c.Documents == nil {
		return nil, fmt.Errorf("open knowledge: %w: a folder and a document store are needed", ErrInvalid)
	}
	ix, fresh, err := index.Open(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open knowledge: %w", err)
	}
	b := &Base{documents: c.Documents, people: c.People, index: ix, now: c.Now, log: c.Logger,
		writing: make(chan struct{}, 1), reading: make(chan struct{}, maxReading)}
	if b.now == nil {
		b.now = time.Now
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	done, err := b.Reindex(ctx, identity.ForHost("compare the index with the documents"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open knowledge: %w", err), ix.Close())
	}
	if done.Indexed+done.Removed > 0 {
		b.log.Info("search index repaired", "new", fresh, "indexed", done.Indexed, "removed", done.Removed)
	}
	return b, nil
}

// Close waits for running calls and closes the index. Later calls return
// ErrClosed; a second Close does nothing.
func (b *Base) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	b.running.Wait()
	return b.index.Close()
}

// enter registers a running call, which ends with leave.
func (b *Base) enter() (leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	b.running.Add(1)
	return b.running.Done, nil
}

// lock waits until no other call writes. The wait ends with ctx.
func (b *Base) lock(ctx context.Context) (done func(), err error) {
	leave, err := b.enter()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		leave()
		return nil, err
	}
	select {
	case b.writing <- struct{}{}:
		return func() { <-b.writing; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// notFound turns the store's word for a missing document into ours.
func notFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ErrNotFound
	}
	return err
}

// passages cuts a text for the index.
func passages(text string, format extract.Format) []index.Passage {
	chunks := chunk.Split(text, extract.Blocks(text, format))
	out := make([]index.Passage, len(chunks))
	for i, c := range chunks {
		out[i] = index.Passage{
			Section: sectionName(c.Path),
			Heading: headings(c.Headings),
			Content: text[c.Start:c.End],
			Plain:   format == extract.Plain,
		}
	}
	return out
}
