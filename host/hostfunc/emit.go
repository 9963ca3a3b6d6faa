package hostfunc

import (
	"context"
	"net/url"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// maxFieldText is how long a text of a document may be that a call shows.
const maxFieldText = 4000

// emitPart serves the capability emit.
func emitPart() part {
	return part{functions: []gate.Function{
		gate.Typed[emitArgs]{
			Name: "emit", Capability: capability.Emit, Quiet: true, Handle: emit,
			Summary: func(a emitArgs) string { return "show " + a.what() },
		}.Function(),
	}}
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

func emit(_ context.Context, c gate.Request, a emitArgs) (any, error) {
	report := attached(c).Report
	if report == nil {
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
		report.Documents(CleanDocuments(a.Documents))
	}
	if len(a.Files) > 0 {
		report.Files(a.Files)
	}
	return nil, nil
}

// CleanDocuments bounds texts, drops entries without an id, and keeps only
// addresses that a browser may open.
func CleanDocuments(docs []tool.Document) []tool.Document {
	kept := make([]tool.Document, 0, len(docs))
	for _, d := range docs {
		if d.ID == "" || len(d.ID) > maxFieldText || d.Ref < 0 {
			continue
		}
		d.Title, d.Snippet = shorten(d.Title, maxFieldText), shorten(d.Snippet, maxFieldText)
		d.Source = shorten(d.Source, 100)
		u, err := url.Parse(d.URL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || len(d.URL) > maxFieldText {
			d.URL = ""
		}
		kept = append(kept, d)
	}
	return kept
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
