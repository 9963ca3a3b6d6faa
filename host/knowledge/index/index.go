// Package index ranks passages for a question.
//
// In come a document's passages with their owner; they are written to a bleve
// index on disk. Out come, for an owner's question, that owner's best passages,
// ranked by BM25F with snippets. The index holds nothing that cannot be built
// again from the stored texts. Only this package knows bleve. It must not know
// the store, files or formats.
package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	bindex "github.com/blevesearch/bleve_index_api"
)

// Version names how passages are cut, analysed and laid out. An index of
// another version is thrown away when it is opened; whoever opens it fills it
// again.
const Version = "2"

// lockWait is how long Open waits for another process to let go of the index.
const lockWait = "2s"

// ErrInUse is returned when another process has the index open.
var ErrInUse = errors.New("the search index is in use by another process")

// Document is what a document's passages share.
type Document struct {
	ID    string // never empty
	Owner string // who finds its passages
	Stamp string // says of which content the passages are; comes back from Stamp
	Title string
	URL   string // "" unless it is an address on the web
	// UpdatedAt comes back with hits; times are kept to the second.
	UpdatedAt time.Time
}

// Passage is one chunk of a document.
type Passage struct {
	Section string // headings above, for display
	Heading string // headings inside, to be searched with the section
	Content string
	Plain   bool // Content is not Markdown
}

// Index is an open index. It is safe for concurrent use; writes take turns.
type Index struct {
	bleve    bleve.Index
	analysis analysis
	write    sync.Mutex   // held while the index is changed
	mu       sync.RWMutex // guards totals
	totals   lengths
}

// Open opens the index in the folder dir, or makes one there. Fresh tells that
// it is empty because it was missing, of another Version or damaged. It returns
// ErrInUse when another process has it open.
func Open(dir string) (x *Index, fresh bool, err error) {
	a := newAnalysis()
	x = &Index{analysis: a}
	stamp := filepath.Join(dir, "version")
	path := filepath.Join(dir, "bleve")
	if found, err := os.ReadFile(stamp); err == nil && string(found) == Version {
		x.bleve, err = bleve.OpenUsing(path, map[string]any{"bolt_timeout": lockWait})
		if err == nil {
			if err = x.count(); err == nil {
				return x, false, nil
			}
			x.bleve.Close() // the error that matters is that of count
		} else if strings.Contains(err.Error(), "timeout") {
			return nil, false, ErrInUse
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("open search index: %w", err)
	}
	if err := reset(dir, path, stamp); err != nil {
		return nil, false, fmt.Errorf("make search index: %w", err)
	}
	im := mapping.NewIndexMapping()
	im.ScoringModel = bindex.BM25Scoring
	x.bleve, err = bleve.NewUsing(path, im, scorch.Name, scorch.Name, map[string]any{"bolt_timeout": lockWait})
	if err != nil {
		return nil, false, fmt.Errorf("make search index: %w", err)
	}
	if err := os.WriteFile(stamp, []byte(Version), 0o600); err != nil {
		x.bleve.Close() // the write's error is the one to tell
		return nil, false, fmt.Errorf("make search index: %w", err)
	}
	return x, true, nil
}

// reset removes an index of which nothing is kept. The stamp goes first, so
// that an index half removed is never opened.
func reset(dir, path, stamp string) error {
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}

// Close waits for running calls, writes what is pending and ends the index's
// goroutines.
func (x *Index) Close() error {
	x.write.Lock()
	defer x.write.Unlock()
	return x.bleve.Close()
}

// entry is what the index keeps of a document beside its passages, in one
// batch with them.
type entry struct {
	Stamp    string  `json:"stamp"`
	Passages int     `json:"passages"`
	Lengths  lengths `json:"lengths"`
}

func entryKey(id string) []byte { return []byte("document/" + id) }

// Stamp returns the stamp that a document was put with, and false when the
// index does not have it.
func (x *Index) Stamp(id string) (string, bool, error) {
	e, ok, err := x.entry(id)
	return e.Stamp, ok, err
}

func (x *Index) entry(id string) (entry, bool, error) {
	raw, err := x.bleve.GetInternal(entryKey(id))
	if err != nil || raw == nil {
		return entry{}, false, err
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return entry{}, false, fmt.Errorf("search index entry of %q: %w", id, err)
	}
	return e, true, nil
}

// Put makes passages the document's only ones, in one batch: a search sees all
// the old ones or all the new ones.
func (x *Index) Put(d Document, passages []Passage) error {
	x.write.Lock()
	defer x.write.Unlock()
	batch := x.bleve.NewBatch()
	old, err := x.drop(batch, d.ID)
	if err != nil {
		return fmt.Errorf("index %q: %w", d.ID, err)
	}
	e := entry{Stamp: d.Stamp, Passages: len(passages)}
	for i, p := range passages {
		doc, n := x.passage(d, i, p)
		e.Lengths.add(n)
		if err := batch.IndexAdvanced(doc); err != nil {
			return fmt.Errorf("index %q: %w", d.ID, err)
		}
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("index %q: %w", d.ID, err)
	}
	batch.SetInternal(entryKey(d.ID), raw)
	if err := x.bleve.Batch(batch); err != nil {
		return fmt.Errorf("index %q: %w", d.ID, err)
	}
	x.change(old, e.Lengths)
	return nil
}

// Delete removes a document's passages. One that the index does not have is no
// error.
func (x *Index) Delete(id string) error {
	x.write.Lock()
	defer x.write.Unlock()
	batch := x.bleve.NewBatch()
	old, err := x.drop(batch, id)
	if err == nil {
		batch.DeleteInternal(entryKey(id))
		err = x.bleve.Batch(batch)
	}
	if err != nil {
		return fmt.Errorf("remove %q from the index: %w", id, err)
	}
	x.change(old, lengths{})
	return nil
}

// drop adds the removal of a document's passages to batch.
func (x *Index) drop(batch *bleve.Batch, id string) (lengths, error) {
	e, _, err := x.entry(id)
	if err != nil {
		return lengths{}, err
	}
	for i := range e.Passages {
		batch.Delete(passageID(id, i))
	}
	return e.Lengths, nil
}

// IDs returns the ids of all documents that have passages.
func (x *Index) IDs() ([]string, error) {
	dict, err := x.bleve.FieldDict(fieldDocument)
	if err != nil {
		return nil, fmt.Errorf("list the index: %w", err)
	}
	defer dict.Close() // a reader; nothing is lost
	var ids []string
	for {
		e, err := dict.Next()
		if err != nil {
			return nil, fmt.Errorf("list the index: %w", err)
		}
		if e == nil {
			break
		}
		ids = append(ids, e.Term)
	}
	// A term of deleted passages stays until their segment is merged.
	live := ids[:0]
	for _, id := range ids {
		if _, ok, err := x.entry(id); err != nil {
			return nil, err
		} else if ok {
			live = append(live, id)
		}
	}
	return live, nil
}

// passageID sorts as the passages stand in their document.
func passageID(document string, i int) string { return fmt.Sprintf("%s.%06d", document, i) }

// Names of fields. Those that are searched are in analysis.go.
const (
	fieldDocument = "document"
	fieldOwner    = "owner"
	fieldStored   = "stored"
)

// stored is what a hit needs, as the index keeps it for each passage.
type stored struct {
	Document string `json:"d"`
	Title    string `json:"t"`
	Section  string `json:"s,omitempty"`
	Content  string `json:"c"`
	URL      string `json:"u,omitempty"`
	Updated  int64  `json:"m,omitempty"`
	Plain    bool   `json:"p,omitempty"`
}

// passage makes bleve's document of a passage. Its text was analysed here, so
// that the lengths that BM25 needs are known before the batch is written.
func (x *Index) passage(d Document, i int, p Passage) (*document.Document, lengths) {
	doc := document.NewDocument(passageID(d.ID, i))
	keep := func(name, value string, o bindex.FieldIndexingOptions) {
		doc.AddField(document.NewTextFieldCustom(name, nil, []byte(value), o, keyword))
	}
	keep(fieldDocument, d.ID, bindex.IndexField)
	keep(fieldOwner, d.Owner, bindex.IndexField|bindex.SkipFreqNorm)
	s := stored{Document: d.ID, Title: d.Title, Section: p.Section, Content: p.Content, URL: d.URL, Plain: p.Plain}
	if !d.UpdatedAt.IsZero() {
		s.Updated = d.UpdatedAt.Unix()
	}
	raw, err := json.Marshal(s)
	if err != nil {
		raw = []byte(strconv.Quote(err.Error())) // strings and a number always marshal
	}
	keep(fieldStored, string(raw), bindex.StoreField)
	section := p.Section
	if p.Heading != "" {
		section += "\n" + p.Heading
	}
	var n lengths
	for f, text := range [fields]string{d.Title, section, p.Content} {
		exact, stemmed := x.analysis.both([]byte(text))
		n[f] = int64(len(stemmed))
		n[fields] += int64(len(exact))
		doc.AddField(document.NewTextFieldCustom(fieldNames[f], nil, []byte(text), bindex.IndexField, tokens(stemmed)))
		doc.AddField(document.NewTextFieldCustom(fieldExact, []uint64{uint64(f)}, []byte(text), bindex.IndexField,
			tokens(exact)))
	}
	return doc, n
}
