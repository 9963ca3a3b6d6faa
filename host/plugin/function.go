package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// hostFunctions are the host functions that this host serves; without a space
// those of kv are unavailable.
func hostFunctions(base Knowledge, space Storage, out web) []gate.Function {
	k := documents{base}
	list := []gate.Function{
		gate.Typed("knowledge_search", capability.Knowledge,
			func(a searchArgs) string { return fmt.Sprintf("search for %q", audit.Shorten(a.Query, 80)) }, k.search),
		gate.Typed("knowledge_read", capability.Knowledge,
			func(a readArgs) string { return "read document " + a.DocumentID }, k.read),
	}
	show := gate.Typed("emit", capability.Emit, func(a emitArgs) string { return "show " + a.what() }, emit)
	show.Quiet = true
	list = append(list, show)
	list = append(list, out.functions()...)
	if space == nil {
		return list
	}
	return append(list, keyValue{space}.functions()...)
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
func (d documents) reachable(ctx context.Context) error {
	if d.base == nil {
		return gate.Errorf(gate.Unavailable, "This host keeps no documents.")
	}
	if p, ok := gate.Right(ctx).Params.(*capability.KnowledgeParams); !ok || !p.All() {
		return gate.Errorf(gate.Unavailable, "This host cannot narrow a search to collections; grant the capability for all documents or not at all.")
	}
	return nil
}

func (d documents) search(ctx context.Context, c *gate.Call, a searchArgs) (any, error) {
	if err := d.reachable(ctx); err != nil {
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
		views[i] = hitView{h.DocumentID, h.ChunkID, h.Title, h.Section, h.Content, h.Snippet, h.Score, h.URL, stamp(h.UpdatedAt)}
	}
	return map[string]any{"hits": views}, nil
}

func (d documents) read(ctx context.Context, c *gate.Call, a readArgs) (any, error) {
	if err := d.reachable(ctx); err != nil {
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

// emitArgs is what a running call shows; one of the fields at least.
type emitArgs struct {
	Progress *struct {
		Message  string   `json:"message"`
		Fraction *float64 `json:"fraction"`
	} `json:"progress"`
	Output *struct {
		Channel string `json:"channel"`
		Delta   string `json:"delta"`
	} `json:"output"`
	Documents []tool.Document `json:"documents"`
	Files     []tool.File     `json:"files"`
}

func (a emitArgs) what() string {
	switch {
	case a.Progress != nil:
		return "progress"
	case a.Output != nil:
		return "output"
	case len(a.Documents) > 0:
		return "documents"
	}
	return "files"
}

// reporterKey carries the Reporter of a call.
type reporterKey struct{}

func emit(ctx context.Context, _ *gate.Call, a emitArgs) (any, error) {
	report, ok := ctx.Value(reporterKey{}).(tool.Reporter)
	if !ok {
		return nil, gate.Errorf(gate.Unavailable, "Nobody watches this call.")
	}
	if a.Progress == nil && a.Output == nil && len(a.Documents) == 0 && len(a.Files) == 0 {
		return nil, gate.Errorf(gate.Invalid, "emit shows progress, output, documents or files; none is given.")
	}
	if p := a.Progress; p != nil {
		if p.Fraction != nil && (*p.Fraction < 0 || *p.Fraction > 1) {
			return nil, gate.Errorf(gate.Invalid, "A fraction is 0 to 1.")
		}
		report.Progress(p.Message, p.Fraction)
	}
	if a.Output != nil {
		report.Output(a.Output.Channel, a.Output.Delta)
	}
	if len(a.Documents) > 0 {
		report.Documents(cleanDocuments(a.Documents))
	}
	if len(a.Files) > 0 {
		report.Files(a.Files)
	}
	return nil, nil
}
