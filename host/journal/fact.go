package journal

import (
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Fact is one thing that happened in a run, whole, so that a reader needs nothing
// else. Every implementation is a struct of this package.
type Fact interface {
	// FactType is the fact's name on disk, such as "call_done".
	FactType() string
}

// Begun says what a run begins with.
type Begun struct {
	// User is whose run it is, Origin how they asked, as identity has it.
	User   string `json:"user"`
	Origin string `json:"origin,omitempty"`
	// Session, Question and Answers are ids: the conversation, the person's message,
	// and by model index the messages that are written.
	Session  string   `json:"session"`
	Question string   `json:"question"`
	Answers  []string `json:"answers"`
	// Path are the ids of the messages that the run follows, the first one first.
	Path []string `json:"path,omitempty"`
	// Text and Files are the question as it is stored.
	Text  string   `json:"text,omitempty"`
	Files []string `json:"files,omitempty"`
	// Agent is who answers, by value; absent for the default.
	Agent json.RawMessage `json:"agent,omitempty"`
	// Models are the names of those that answer, by model index.
	Models []string `json:"models"`
	// Allowed are the tools to which the request limits the run, null for no limit.
	Allowed []string `json:"allowed"`
	// Forced is the tool that has to be used first, "" for none.
	Forced string `json:"forced,omitempty"`
	// Kind is one of the Kind constants.
	Kind string `json:"kind"`
	// Held are the calls, held back in the answer that goes on, that this run
	// makes: they are held no longer.
	Held []string `json:"held,omitempty"`
	// Private says that nothing that is remembered may be used.
	Private bool `json:"private,omitempty"`
	// Labels are the taint of the path that the run follows.
	Labels []string `json:"labels,omitempty"`
}

// The kinds of runs.
const (
	KindChat     = "chat"
	KindContinue = "continue"
)

// FactType implements Fact.
func (Begun) FactType() string { return "begun" }

// Step is one response of a model, whole.
type Step struct {
	Model int `json:"model"`
	Cycle int `json:"cycle,omitempty"`
	// Text is model-facing: its citations are refs.
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Calls are the calls as they are run, after merging.
	Calls []Call `json:"calls,omitempty"`
	// Native is what the model's provider wants to see again, signatures among it.
	Native json.RawMessage `json:"native,omitempty"`
	Usage  *Usage          `json:"usage,omitempty"`
	// Finish is why the model stopped.
	Finish string `json:"finish,omitempty"`
	// Partial tells that the step was cut off, by a stop or a crash.
	Partial bool `json:"partial,omitempty"`
}

// Usage is what a step cost: tokens, and US dollars where the provider says so.
type Usage struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CachedTokens int64   `json:"cached_tokens,omitempty"`
	Cost         float64 `json:"cost,omitempty"`
}

// FactType implements Fact.
func (Step) FactType() string { return "step" }

// Call is a tool call as history has it.
type Call struct {
	ID string `json:"id"`
	// Name is the name that the model used, Tool the tool's identity, "" for a
	// tool that does not exist.
	Name string `json:"name"`
	Tool string `json:"tool,omitempty"`
	// Arguments is the JSON text of what the tool gets, or what the model wrote
	// where that is no object.
	Arguments string `json:"arguments,omitempty"`
}

// CallStarted says that a call begins now. Where Writes is set it is durable
// before the tool gets to work.
type CallStarted struct {
	Model  int    `json:"model"`
	CallID string `json:"call_id"`
	// Parent is the call inside of which an agent made this one, "" for none.
	Parent  string `json:"parent,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Version string `json:"version,omitempty"`
	// Writes tells that the tool is labelled so: such a call is never run again.
	Writes bool `json:"writes,omitempty"`
	// Labels are what the path to the call had met.
	Labels []string `json:"labels,omitempty"`
}

// FactType implements Fact.
func (CallStarted) FactType() string { return "call_started" }

// CallDone says what came of a call.
type CallDone struct {
	Model   int    `json:"model"`
	CallID  string `json:"call_id"`
	Parent  string `json:"parent,omitempty"`
	Name    string `json:"name"`
	Tool    string `json:"tool,omitempty"`
	Outcome string `json:"outcome"`
	// Text is what the model reads.
	Text       string            `json:"text,omitempty"`
	Structured json.RawMessage   `json:"structured,omitempty"`
	Documents  []packet.Document `json:"documents,omitempty"`
	Files      []packet.File     `json:"files,omitempty"`
	// Labels are what the result brought.
	Labels []string `json:"labels,omitempty"`
	// StopsLoop and Reminder are the tool's own, for the step that follows.
	StopsLoop bool   `json:"stops_loop,omitempty"`
	Reminder  string `json:"reminder,omitempty"`
	// Fuel is in instructions, DurationMS in milliseconds.
	Fuel       int64 `json:"fuel,omitempty"`
	DurationMS int64 `json:"duration_ms,omitempty"`
}

// FactType implements Fact.
func (CallDone) FactType() string { return "call_done" }

// Note is what the host told a model in the conversation, such as that its call could not
// be read. People do not see it.
type Note struct {
	Model int    `json:"model"`
	Text  string `json:"text"`
}

// FactType implements Fact.
func (Note) FactType() string { return "note" }

// Held says that a call waits until its answer is selected.
type Held struct {
	Model  int    `json:"model"`
	CallID string `json:"call_id"`
}

// FactType implements Fact.
func (Held) FactType() string { return "held" }

// Outcome ends a model's answer in a run.
type Outcome struct {
	Model  int    `json:"model"`
	Reason string `json:"reason"`
	// Citations are those of the whole answer, what it went on from included.
	Citations []packet.CitationInfo `json:"citations,omitempty"`
	// Error is what ended it, where Reason is error.
	Error *packet.Error `json:"error,omitempty"`
	// Labels are the taint of the whole path with this answer.
	Labels []string `json:"labels,omitempty"`
}

// FactType implements Fact.
func (Outcome) FactType() string { return "outcome" }

// End ends a run.
type End struct {
	Reason string `json:"reason"`
}

// FactType implements Fact.
func (End) FactType() string { return "end" }

// Unknown is a fact of a type that this version does not know, kept as it was
// read. Folds pass over it.
type Unknown struct {
	Name string
	// Raw is the whole record.
	Raw json.RawMessage
}

// FactType implements Fact.
func (u Unknown) FactType() string { return u.Name }
