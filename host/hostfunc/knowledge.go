package hostfunc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Knowledge is what plugins reach of the user's documents. The principal's
// rights are applied by it.
type Knowledge interface {
	Search(ctx context.Context, p identity.Principal, q knowledge.Query) ([]knowledge.Hit, error)
	Read(ctx context.Context, p identity.Principal, id string, offset, limit int) (text string, total int, err error)
}

// knowledgePart serves the capability knowledge.
func knowledgePart(s Services) part {
	k := documents{s.Knowledge}
	return part{functions: []gate.Function{
		gate.Typed[searchArgs]{
			Name: "knowledge_search", Capability: capability.Knowledge, Handle: k.search,
			Summary: func(a searchArgs) string { return fmt.Sprintf("search for %q", audit.Shorten(a.Query, 80)) },
		}.Function(),
		gate.Typed[readArgs]{
			Name: "knowledge_read", Capability: capability.Knowledge, Handle: k.read,
			Summary: func(a readArgs) string { return "read document " + a.DocumentID },
		}.Function(),
	}}
}

// documents serves the capability knowledge.
type documents struct{ base Knowledge }

// maxRead is how many code points one knowledge_read returns.
const maxRead = 100_000

// maxHits is how many passages one knowledge_search returns.
const maxHits = 50

type searchArgs struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

type readArgs struct {
	DocumentID string `json:"document_id"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
}

// hitView is a passage as a guest sees it. The place of a file on this machine
// is not in it.
type hitView struct {
	DocumentID string  `json:"document_id"`
	ChunkID    string  `json:"chunk_id"`
	Title      string  `json:"title"`
	Section    string  `json:"section"`
	Content    string  `json:"content"`
	Snippet    string  `json:"snippet"`
	Score      float64 `json:"score"`
	URL        string  `json:"url,omitempty"`
	UpdatedAt  string  `json:"updated_at,omitempty"`
}

// reachable tells why the documents cannot be reached, nil when they can.
func (d documents) reachable(c gate.Request) error {
	if d.base == nil {
		return gate.Errorf(gate.Unavailable, "This host keeps no documents.")
	}
	if p, ok := c.Right.Params.(*capability.KnowledgeParams); !ok || !p.All() {
		return gate.Errorf(gate.Unavailable, "This host cannot narrow a search to collections; "+
			"grant the capability for all documents or not at all.")
	}
	return nil
}

func (d documents) search(ctx context.Context, c gate.Request, a searchArgs) (any, error) {
	if err := d.reachable(c); err != nil {
		return nil, err
	}
	if a.Limit < 0 || a.Limit > maxHits {
		return nil, gate.Errorf(gate.Invalid, "limit is 1 to %d, or 0 for the default.", maxHits)
	}
	p := identity.ForUser(c.User, "search documents for a tool")
	hits, err := d.base.Search(ctx, p, knowledge.Query{Text: a.Query, Limit: a.Limit})
	if err != nil {
		return nil, knowledgeError(err)
	}
	views := make([]hitView, len(hits))
	for i, h := range hits {
		views[i] = hitView{
			h.DocumentID, h.ChunkID, h.Title, h.Section, h.Content, h.Snippet, h.Score, h.URL, stamp(h.UpdatedAt),
		}
	}
	return map[string]any{"hits": views}, nil
}

func (d documents) read(ctx context.Context, c gate.Request, a readArgs) (any, error) {
	if err := d.reachable(c); err != nil {
		return nil, err
	}
	if a.Limit <= 0 || a.Limit > maxRead {
		a.Limit = maxRead
	}
	p := identity.ForUser(c.User, "read a document for a tool")
	text, total, err := d.base.Read(ctx, p, a.DocumentID, a.Offset, a.Limit)
	if err != nil {
		return nil, knowledgeError(err)
	}
	return map[string]any{"text": text, "total": total}, nil
}

func knowledgeError(err error) error {
	switch {
	case errors.Is(err, knowledge.ErrNotFound):
		return gate.Errorf(gate.NotFound, "There is no such document.")
	case errors.Is(err, knowledge.ErrInvalid):
		return gate.Errorf(gate.Invalid, "%v.", err)
	case errors.Is(err, knowledge.ErrClosed):
		return gate.Errorf(gate.Unavailable, "The documents are closed.")
	}
	return err
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
