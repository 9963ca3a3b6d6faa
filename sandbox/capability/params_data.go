package capability

import "fmt"

// ContextParams are those of context.
type ContextParams struct {
	// Fields are of query, history, user, citations; nil for all four.
	Fields Set `json:"fields,omitempty"`
}

// Has tells whether a field may be passed on.
func (p *ContextParams) Has(field string) bool { return p != nil && p.Fields.has(field) }

func (p *ContextParams) Narrow(o Params) Params {
	return &ContextParams{Fields: p.Fields.and(o.(*ContextParams).Fields)}
}
func (p *ContextParams) Empty() bool      { return p.Fields != nil && len(p.Fields) == 0 }
func (p *ContextParams) Describe() string { return p.Fields.words(fieldWords) }
func (p *ContextParams) check(path string) error {
	return p.Fields.checkIn(path+".fields", contextFields...)
}

var contextFields = []string{"query", "history", "user", "citations"}

// fieldWords says what each of contextFields tells a plugin.
var fieldWords = map[string]string{
	"query":     "the question",
	"history":   "what was said before",
	"user":      "your account with its language and time zone",
	"citations": "which documents are cited",
}

// KVParams are those of kv.
type KVParams struct {
	// QuotaBytes caps keys and values together, 0 for DefaultKVQuota.
	QuotaBytes int64 `json:"quota_bytes,omitempty"`
	// Scope is user (each user has values of their own, the default) or plugin
	// (all users share them).
	Scope string `json:"scope,omitempty"`
}

// DefaultKVQuota is the quota of kv in bytes where nobody set one.
const DefaultKVQuota = 1 << 20

// Quota is the quota in bytes that holds.
func (p *KVParams) Quota() int64 {
	if p.QuotaBytes == 0 {
		return DefaultKVQuota
	}
	return p.QuotaBytes
}

func (p *KVParams) Narrow(o Params) Params {
	q := o.(*KVParams)
	return &KVParams{QuotaBytes: less(p.QuotaBytes, q.QuotaBytes), Scope: stricter(p.Scope, q.Scope, "user", "plugin")}
}
func (p *KVParams) Empty() bool { return false }
func (p *KVParams) Describe() string {
	shared := ""
	if p.Scope == "plugin" {
		shared = "shared by all users"
	}
	return joined(bytesText("at most", p.QuotaBytes), shared)
}
func (p *KVParams) check(path string) error {
	return first(notNegative(path+".quota_bytes", p.QuotaBytes), oneOf(path+".scope", p.Scope, "user", "plugin"))
}

// KnowledgeParams are those of knowledge.
type KnowledgeParams struct {
	// Collections are the names of collections; nil for all that the user may
	// read.
	Collections Set `json:"collections,omitempty"`
}

// Has tells whether a collection is reached.
func (p *KnowledgeParams) Has(collection string) bool { return p.Collections.has(collection) }

// All tells that no collection is left out.
func (p *KnowledgeParams) All() bool { return p.Collections.any() }

func (p *KnowledgeParams) Narrow(o Params) Params {
	return &KnowledgeParams{Collections: p.Collections.and(o.(*KnowledgeParams).Collections)}
}
func (p *KnowledgeParams) Empty() bool      { return p.Collections != nil && len(p.Collections) == 0 }
func (p *KnowledgeParams) Describe() string { return p.Collections.describe("collections") }
func (p *KnowledgeParams) check(path string) error {
	return p.Collections.checkFilled(path + ".collections")
}

// MemoryParams are those of memory.
type MemoryParams struct {
	// Access is of read, write; nil for both.
	Access Set `json:"access,omitempty"`
}

// Can tells whether access, read or write, is allowed.
func (p *MemoryParams) Can(access string) bool { return p != nil && p.Access.has(access) }

func (p *MemoryParams) Narrow(o Params) Params {
	return &MemoryParams{Access: p.Access.and(o.(*MemoryParams).Access)}
}
func (p *MemoryParams) Empty() bool      { return p.Access != nil && len(p.Access) == 0 }
func (p *MemoryParams) Describe() string { return p.Access.access() }
func (p *MemoryParams) check(path string) error {
	return p.Access.checkIn(path+".access", "read", "write")
}

// FilesParams are those of files.
type FilesParams struct {
	// Scope is conversation (the default) or user.
	Scope string `json:"scope,omitempty"`
	// Access is of read, write; nil for both.
	Access Set `json:"access,omitempty"`
	// MaxBytes caps what one call writes, 0 for no cap of its own.
	MaxBytes int64 `json:"max_bytes,omitempty"`
}

// Can tells whether access, read or write, is allowed.
func (p *FilesParams) Can(access string) bool { return p != nil && p.Access.has(access) }

func (p *FilesParams) Narrow(o Params) Params {
	q := o.(*FilesParams)
	return &FilesParams{
		Scope:    stricter(p.Scope, q.Scope, "conversation", "user"),
		Access:   p.Access.and(q.Access),
		MaxBytes: less(p.MaxBytes, q.MaxBytes),
	}
}
func (p *FilesParams) Empty() bool { return p.Access != nil && len(p.Access) == 0 }
func (p *FilesParams) Describe() string {
	of := "of this conversation"
	if p.Scope == "user" {
		of = "of all your conversations"
	}
	return joined(of, p.Access.access(), bytesText("at most", p.MaxBytes))
}
func (p *FilesParams) check(path string) error {
	return first(oneOf(path+".scope", p.Scope, "conversation", "user"),
		p.Access.checkIn(path+".access", "read", "write"), notNegative(path+".max_bytes", p.MaxBytes))
}

// WorkspaceParams are those of workspace.
type WorkspaceParams struct {
	// QuotaBytes caps the folder, 0 for the host's default.
	QuotaBytes int64 `json:"quota_bytes,omitempty"`
	// Persistent keeps the folder between calls; both sides must say so.
	Persistent bool `json:"persistent,omitempty"`
}

func (p *WorkspaceParams) Narrow(o Params) Params {
	q := o.(*WorkspaceParams)
	return &WorkspaceParams{QuotaBytes: less(p.QuotaBytes, q.QuotaBytes), Persistent: p.Persistent && q.Persistent}
}
func (p *WorkspaceParams) Empty() bool { return false }
func (p *WorkspaceParams) Describe() string {
	kept := ""
	if p.Persistent {
		kept = "kept between calls"
	}
	return joined(bytesText("at most", p.QuotaBytes), kept)
}
func (p *WorkspaceParams) check(path string) error {
	return notNegative(path+".quota_bytes", p.QuotaBytes)
}

// SourceParams are those of clock and of random.
type SourceParams struct {
	// Source is real (the default) or frozen.
	Source string `json:"source,omitempty"`
}

func (p *SourceParams) Narrow(o Params) Params {
	return &SourceParams{Source: stricter(p.Source, o.(*SourceParams).Source, "frozen", "real")}
}
func (p *SourceParams) Empty() bool { return false }
func (p *SourceParams) Describe() string {
	if p.Source == "frozen" {
		return "frozen"
	}
	return ""
}
func (p *SourceParams) check(path string) error {
	return oneOf(path+".source", p.Source, "real", "frozen")
}

// EmitParams are those of emit.
type EmitParams struct {
	// MaxBytes caps what one tool call emits, 0 for DefaultEmitBytes.
	MaxBytes int64 `json:"max_bytes,omitempty"`
}

// DefaultEmitBytes is how much one tool call may emit where nobody set a cap.
const DefaultEmitBytes = 1 << 20

// PerCallBytes is the cap in bytes that holds for one tool call.
func (p *EmitParams) PerCallBytes() int64 {
	if p.MaxBytes == 0 {
		return DefaultEmitBytes
	}
	return p.MaxBytes
}

func (p *EmitParams) Narrow(o Params) Params {
	return &EmitParams{MaxBytes: less(p.MaxBytes, o.(*EmitParams).MaxBytes)}
}
func (p *EmitParams) Empty() bool             { return false }
func (p *EmitParams) Describe() string        { return bytesText("at most", p.MaxBytes) }
func (p *EmitParams) check(path string) error { return notNegative(path+".max_bytes", p.MaxBytes) }

// ElicitParams are those of elicit.
type ElicitParams struct {
	// Count caps the questions of one tool call, 0 for the host's default.
	Count int64 `json:"count,omitempty"`
}

func (p *ElicitParams) Narrow(o Params) Params {
	return &ElicitParams{Count: less(p.Count, o.(*ElicitParams).Count)}
}
func (p *ElicitParams) Empty() bool { return false }
func (p *ElicitParams) Describe() string {
	if p.Count == 0 {
		return ""
	}
	return fmt.Sprintf("at most %d per call", p.Count)
}
func (p *ElicitParams) check(path string) error { return notNegative(path+".count", p.Count) }
