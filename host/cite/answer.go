package cite

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Documents are the documents that a path of messages knows, by ref. It is safe
// for concurrent use: parallel tools add to it while the model cites from it.
type Documents struct {
	// mu guards byRef and byID.
	mu    sync.RWMutex
	byRef map[int]packet.Document
	byID  map[string]int
}

// NewDocuments returns the documents of a path, each with its ref set.
func NewDocuments(known []packet.Document) *Documents {
	d := &Documents{byRef: map[int]packet.Document{}, byID: map[string]int{}}
	for _, doc := range known {
		d.Add(doc)
	}
	return d
}

// Add makes a document citable by its ref. The first document of a ref stays,
// and so does the first ref of an id.
func (d *Documents) Add(doc packet.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.byRef[doc.Ref]; taken || doc.Ref < 1 {
		return
	}
	d.byRef[doc.Ref] = doc
	for _, key := range []string{doc.ID, doc.URL} {
		if _, taken := d.byID[key]; key != "" && !taken {
			d.byID[key] = doc.Ref
		}
	}
}

// Get returns the document with that ref.
func (d *Documents) Get(ref int) (packet.Document, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	doc, ok := d.byRef[ref]
	return doc, ok
}

// Refs maps the ids and URLs of all documents to their refs.
func (d *Documents) Refs() map[string]int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	refs := make(map[string]int, len(d.byID))
	for id, ref := range d.byID {
		refs[id] = ref
	}
	return refs
}

// Answer numbers the citations of one answer, over all its blocks. It is not
// safe for concurrent use.
type Answer struct {
	docs *Documents
	// numbers are the citation numbers of documents, by identity: calls that run at
	// once may have found the same one under a ref each.
	numbers map[string]int
	cited   []packet.CitationInfo
	// before was cited earlier; told says that it was announced.
	before []packet.CitationInfo
	told   bool
	// byRef says that markers keep their refs.
	byRef bool
}

// NewAnswer returns an answer that cites from docs.
func NewAnswer(docs *Documents) *Answer {
	return &Answer{docs: docs, numbers: map[string]int{}}
}

// GoOn returns an answer that cites from docs and goes on with the numbers of what
// was cited in it before. Those are announced once more before the first marker, so
// that whoever reads only this part knows them; Cited does not return them.
func GoOn(docs *Documents, before []packet.CitationInfo) *Answer {
	a := NewAnswer(docs)
	for _, c := range before {
		a.numbers[identity(c.Document, c.Ref)] = c.CitationNumber
	}
	a.before = before
	return a
}

// ByRef returns an answer whose markers keep their refs as numbers, for the text of an
// agent inside a call, which is no answer on the screen. What a block of it cites is
// announced once in each block.
func ByRef(docs *Documents) *Answer {
	a := NewAnswer(docs)
	a.byRef = true
	return a
}

// Stream returns a stream for the next block of text of this answer.
func (a *Answer) Stream() *Stream {
	if a.byRef {
		clear(a.numbers)
	}
	return &Stream{answer: a, place: newPlace()}
}

// Cited returns the citations so far, in the order of their numbers.
func (a *Answer) Cited() []packet.CitationInfo { return a.cited }

// identity tells documents apart: by id, and those without one by ref.
func identity(doc packet.Document, ref int) string {
	if doc.ID == "" {
		return fmt.Sprintf("ref %d", ref)
	}
	return "id " + doc.ID
}

// number returns the screen text for those of refs that are known documents and what is
// to be announced before it, or false where none is one.
func (a *Answer) number(all []int) (text string, fresh []packet.CitationInfo, ok bool) {
	var docs []packet.Document
	var refs []int
	for _, ref := range all {
		if doc, known := a.docs.Get(ref); known {
			docs, refs = append(docs, doc), append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return "", nil, false
	}
	if !a.told {
		fresh, a.told = append(fresh, a.before...), true
	}
	var out strings.Builder
	for i, ref := range refs {
		same := identity(docs[i], ref)
		n, seen := a.numbers[same]
		if !seen {
			if n = len(a.before) + len(a.cited) + 1; a.byRef {
				n = ref
			}
			a.numbers[same] = n
			info := packet.CitationInfo{CitationNumber: n, Ref: ref, Document: docs[i]}
			if !slices.ContainsFunc(a.cited, func(c packet.CitationInfo) bool {
				return identity(c.Document,
					c.Ref) == same
			}) {
				a.cited = append(a.cited, info)
			}
			fresh = append(fresh, info)
		}
		if marker := fmt.Sprintf("[[%d]]", n); !strings.Contains(out.String(), marker) {
			out.WriteString(marker)
		}
	}
	return out.String(), fresh, true
}
