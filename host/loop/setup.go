package loop

import (
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// Setup is what one model's part of a turn works with. It is immutable: nothing
// in it changes while the loop runs.
type Setup struct {
	Model  llm.Model
	System string
	// History is the path of messages, the person's latest last.
	History []llm.Message
	// Met are the labels of the path that leads here, of an agent what its caller had
	// met: private_data, untrusted_content.
	Met []string
	// Facts takes what is recorded of the steps, nil for nobody; the calls are the
	// Runner's to record.
	Facts Facts
	// Specs are the tools that the model may call, with distinct names.
	Specs []tool.Spec
	// Runner runs their calls.
	Runner *toolrun.Runner
	// NoServerTools says that the provider's own tools, such as its web search, are
	// not among those that may be used.
	NoServerTools bool
	// Continues says that the answer was begun in an earlier run: the last message of
	// History is what there is of it, and Cited are its citations. Held are calls that
	// were held back in it and run first. Reminders and NoMore are what its last step
	// left for the next: sentences for the model, and that it must answer.
	Continues bool
	Cited     []packet.CitationInfo
	Held      []toolrun.Request
	Reminders []string
	NoMore    bool
	// Said tells that the answer that goes on has text.
	Said bool
	// Named are the tools that the person or the agent named. Where there are too many
	// to tell a model of all, it is told of these.
	Named []string
	// Research says that the model may hand tasks to agents: research_agent.
	Research bool
	// Forced names the tool that the first cycle must call, "" for none.
	Forced string
	// MaxCycles is at least 1; 0 stands for DefaultMaxCycles.
	MaxCycles int
	// Documents are what the path knows.
	Documents *cite.Documents
	Emit      packet.Emitter
	Now       func() time.Time
}

// Facts takes what the loop records; journal.Author is the one that runs use.
type Facts interface {
	// Step records what the model said, with the results of calls that are not run.
	Step(s journal.Step, done ...journal.CallDone)
	// Note records what the host told the model between two steps.
	Note(text string)
}

// Step is one step of the answer as history keeps it. Each of Calls was run and
// answered exactly once.
type Step struct {
	// Text is model-facing, with refs in its markers.
	Text      string
	Reasoning string
	Calls     []toolrun.Done
	// Native is what the provider wants to see again with this step, nil for none.
	Native *llm.Native
}

// Result is what came of the loop.
type Result struct {
	// Text is the answer as the person saw it: its message_delta packets joined.
	Text      string
	Steps     []Step
	Citations []packet.CitationInfo
	// Inner are the calls that agents inside of calls made. They are no part of the
	// history.
	Inner []toolrun.Done
	// Usage counts what agents used too.
	Usage llm.Usage
	// Reason is how it ended. The loop emits an error packet before it returns
	// StopError; the stop itself is the turn's to emit.
	Reason packet.StopReason
	// Labels are what the path had met at the end, as Setup.Met.
	Labels []string
	// Error is set with StopError.
	Error *packet.Error
}
