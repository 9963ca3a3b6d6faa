// Package tool is the tool contract: what turn, loop and toolrun know of a tool,
// whoever provides it. A Spec describes it, an Invocation asks for one call, a
// Result is what came of it.
//
// It imports no other room of host. What a call shows while it runs goes
// through the Reporter that the runner hands in.
package tool

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// The labels of a tool: what it touches. A tool's labels are what its manifest
// declares and what its grants imply.
const (
	LabelPrivateData      = "private_data"
	LabelUntrustedContent = "untrusted_content"
	LabelEgress           = "egress"
	LabelWrites           = "writes"
)

// Spec describes a tool. It is immutable once it is part of a turn's Setup.
type Spec struct {
	// ID is its identity, see ID: what agents, allow-lists and history mean by it.
	ID string
	// Name is what the model calls it by, unique within a turn.
	Name string
	// Builtin tells that it came with the host.
	Builtin bool
	// Plugin is the plugin that serves it, "" for a loop tool.
	Plugin string
	// PluginVersion is the plugin's own version text.
	PluginVersion string
	// Title is for people.
	Title string
	// Icon is the name of a line icon, "" for none.
	Icon string
	// Description is for the model.
	Description string
	// InputSchema is the JSON Schema of the arguments, an object schema.
	InputSchema json.RawMessage
	// Labels are of the Label constants.
	Labels []string
	// Cites tells that the tool may return documents to cite; each of its calls
	// gets a range of refs.
	Cites bool
	// Merge names the array argument by which calls of one cycle are merged into
	// one, "" for none.
	Merge string
	// StreamArgs tells that string arguments are shown as the model writes them.
	// It excludes Merge.
	StreamArgs bool
	// StopsLoop tells that after this tool ran the model must answer.
	StopsLoop bool
	// Needs names the fields of Context that the tool wants filled; it gets those
	// that its grant allows.
	Needs []string
	// Reminder is a sentence for the model in the step after the tool ran.
	Reminder string
	// Concurrency is how many calls may run at once, 0 for no limit of its own.
	Concurrency int
	// Reaches names the capabilities that the tool holds now. A private
	// conversation is offered no tool that reaches memory, and one without files
	// none that does nothing but read them.
	Reaches []string
}

// ID is the identity of a tool: who brings it and the name that it has there, such
// as search/internal_search. It stays the same whatever else is installed, and no
// source has a slash in its name, so the first one parts the two.
func ID(source, name string) string { return source + "/" + name }

// In tells whether a list names the tool: by its identity, or by the name that the
// model calls it by, as people write it and as records from before there were
// identities have it.
func (s Spec) In(list []string) bool {
	return slices.ContainsFunc(list, func(word string) bool {
		return word != "" && (word == s.ID || word == s.Name)
	})
}

// Tool is something that a model can call.
type Tool interface {
	// Spec describes the tool; it always returns the same value.
	Spec() Spec
	// Call runs one call and returns when it is over. Cancelling ctx ends it for
	// real. What the model can react to (bad arguments, a denial, a trap, a
	// time-out) is a Result with Failure set, not an error; an error is a fault of
	// the host, and the runner turns it into a failed result. Call is safe for
	// concurrent use.
	Call(ctx context.Context, in Invocation) (Result, error)
}

// Refs is a range of numbers that a call may give to new documents.
type Refs struct {
	// Start is the first number, at least 1.
	Start int `json:"start"`
	// Count is how many; 0 for a tool that does not cite.
	Count int `json:"count"`
}

// Contains tells whether ref lies in the range.
func (r Refs) Contains(ref int) bool { return ref >= r.Start && ref < r.Start+r.Count }

// Message is one message of the history that a tool may see.
type Message struct {
	// Role is user or assistant.
	Role string `json:"role"`
	Text string `json:"text"`
}

// Context is what a call may know of the conversation beyond its arguments.
// The runner fills all of it; the tool's provider passes on only what the
// manifest's needs name and the grant of capability context allows.
type Context struct {
	// Query is the person's latest message.
	Query string
	// History is the path of messages before it, oldest first.
	History []Message
	// UserID is opaque to the guest; Locale is a BCP 47 tag, TimeZone an IANA
	// name, each "" where unknown.
	UserID, Locale, TimeZone string
	// Citations maps a document's id, and its URL where it has one, to the ref by
	// which the path already knows it.
	Citations map[string]int
}

// Invocation is one call.
type Invocation struct {
	// CallID is unique within the run.
	CallID string
	// Run, Session and User identify whose call it is.
	Run, Session, User string
	// Model is the name of the model that calls, "" where none does.
	Model string
	// Arguments is a JSON object that was checked against the schema only as far
	// as being an object.
	Arguments json.RawMessage
	// Refs is the range for new documents.
	Refs Refs
	// Context is what may be passed on.
	Context Context
	// Met are private_data and untrusted_content as far as the path to this call has met
	// them, other calls that run beside it included: the arguments may hold any of that.
	Met []string
	// Now is the time that the call is to believe in.
	Now time.Time
	// Report takes what the call shows while it runs. It is never nil and is safe
	// for concurrent use; what comes after Call returned is dropped.
	Report Reporter
}

// Reporter takes what a running call wants a person to see.
type Reporter interface {
	// Progress says how far the call has come; fraction is 0 to 1 or nil.
	Progress(message string, fraction *float64)
	// Output adds to a channel: text, stdout, stderr or markdown.
	Output(channel, delta string)
	// Documents shows documents as they are found.
	Documents(docs []Document)
	// Files shows files as they are produced.
	Files(files []File)
}

// The capabilities by which a turn decides whether to offer a tool.
const (
	ReachesMemory = "memory"
	ReachesFiles  = "files"
)

// MemoryReporter is what a Reporter implements that shows changes of memories
// too.
type MemoryReporter interface {
	// Memory says that a memory was changed: operation is add, update or delete,
	// and text is what the memory says now, or said.
	Memory(operation, id, text string)
}

// Document is something that a call found and that an answer may cite.
type Document struct {
	// ID is stable for the same document: the same id gets the same ref.
	ID string `json:"id"`
	// Ref is the number the tool gave it, 0 for none.
	Ref     int    `json:"ref,omitempty"`
	Title   string `json:"title"`
	URL     string `json:"url,omitempty"`
	Snippet string `json:"snippet"`
	// Source says where the document lives, such as "knowledge".
	Source string `json:"source"`
	// UpdatedAt is RFC 3339, "" where unknown.
	UpdatedAt string `json:"updated_at,omitempty"`
}

// File is a file that a call produced.
type File struct {
	ID        string `json:"file_id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// FailureKind is what went wrong, in the words of the tool_error packet.
type FailureKind string

// The kinds of failure.
const (
	FailureInput       FailureKind = "input"
	FailureDenied      FailureKind = "denied"
	FailureQuota       FailureKind = "quota"
	FailureTimeout     FailureKind = "timeout"
	FailureUnavailable FailureKind = "unavailable"
	FailureTrap        FailureKind = "trap"
	FailureTooLarge    FailureKind = "output_too_large"
	FailureFailed      FailureKind = "failed"
)

// Failure is why a call did not do what was asked, told to two audiences.
type Failure struct {
	Kind FailureKind
	// Message is a sentence for a person.
	Message string
}

// HostCall is one thing that the call asked of the host.
type HostCall struct {
	Capability, Summary string
	// Decision is allow, ask or deny as it came out.
	Decision string
	// Bytes is how much the host handed back.
	Bytes int64
}

// Result is what came of a call.
type Result struct {
	// Text is what the model reads, and all that it reads. On a failure it says
	// what was wrong and gives an example of right.
	Text string
	// Failure is nil when the call did what was asked.
	Failure *Failure
	// Documents are the documents to cite. The runner drops those whose ref is
	// neither in the call's range nor already known.
	Documents []Document
	Files     []File
	// Structured is the structuredContent of the tool, for clients and the store.
	Structured json.RawMessage
	// Fuel is the number of Wasm instructions executed, 0 where not metered.
	Fuel int64
	// HostCalls are in the order in which they were asked.
	HostCalls []HostCall
}

// Fail returns a result with a failure: message for the person, text for the
// model.
func Fail(kind FailureKind, message, text string) Result {
	return Result{Text: text, Failure: &Failure{Kind: kind, Message: message}}
}
