package toolrun

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// MaxResultRunes bounds the text that is kept of a result, in characters. A longer
// one is cut and says so. How much of it a model is sent is the window's matter.
const MaxResultRunes = 400_000

// maxKeptBytes is how much text of all results of an answer is kept. Once there is
// more, of each further result no more than leastResultRunes are kept.
const (
	maxKeptBytes     = 8 << 20
	leastResultRunes = 100_000
)

// call is one call on its way, after merging.
type call struct {
	runner       *Runner
	id           string
	name         string
	raw          string
	fitted       Fitted
	argumentsErr error
	place        packet.Placement
	// tool is nil and spec is zero for a name that does not exist.
	tool tool.Tool
	spec tool.Spec
	refs tool.Refs
	// met is what the path to the call has met.
	met []string
	// opened says that the block is open already.
	opened bool
	// held says that the call is not run because models are compared.
	held bool
	// ran says that the tool was given the call.
	ran bool
	// encoded is argumentsJSON, made once.
	encoded json.RawMessage
}

// argumentsText is what the tool gets, or what the model wrote where that is no
// object.
func (c *call) argumentsText() string {
	if c.argumentsErr != nil {
		return c.raw
	}
	return string(c.argumentsJSON())
}

// argumentsJSON is what the tool gets, or what the model wrote as a JSON string
// where that is no object.
func (c *call) argumentsJSON() json.RawMessage {
	if c.encoded != nil {
		return c.encoded
	}
	var value any = c.fitted.Arguments
	if c.argumentsErr != nil {
		value = c.raw
	}
	data, err := json.Marshal(value)
	if err != nil { // a map of valid raw values and a string both encode
		data = json.RawMessage("{}")
	}
	c.encoded = data
	return data
}

func (c *call) emit(obj packet.Obj) { c.runner.config.Emit.Emit(c.place, obj) }

// announce opens the block, where it is not open, and shows the arguments.
func (c *call) announce() {
	if !c.opened {
		c.start()
	}
	c.emit(packet.ToolArgs{CallID: c.id, Arguments: c.argumentsJSON()})
}

// start opens the block.
func (c *call) start() {
	title, labels := c.spec.Title, c.spec.Labels
	if title == "" {
		title = c.name
	}
	if labels == nil {
		labels = []string{}
	}
	c.emit(packet.ToolStart{
		CallID: c.id, Tool: c.name, ToolID: c.spec.ID, Plugin: c.spec.Plugin, Title: title, Icon: c.spec.Icon,
		Labels: labels,
	})
}

// invoke runs the tool. A panic and an error become failed results.
func (c *call) invoke(ctx context.Context) (result tool.Result) {
	report := &report{call: c}
	defer report.close()
	defer func() {
		if p := recover(); p != nil {
			result = hostFault(c.name)
		}
	}()
	r := c.runner
	known := r.config.Context
	known.Citations = r.config.Documents.Refs()
	result, err := c.tool.Call(ctx, tool.Invocation{
		CallID: c.id, Run: r.config.RunID, Session: r.config.Session, User: r.config.User, Model: r.config.Model,
		Arguments: c.argumentsJSON(), Refs: c.refs, Context: known, Met: c.met, Now: r.config.Now(), Report: report,
	})
	if err != nil {
		return hostFault(c.name)
	}
	return result
}

// end closes the call's block: what a person sees of the end and what the model
// reads are recorded in one.
func (c *call) end(ctx context.Context, result tool.Result, took time.Duration) Done {
	var shown []packet.Obj
	documents := c.accept(result.Documents)
	if len(documents) > 0 {
		shown = append(shown, packet.ToolDocuments{CallID: c.id, Documents: documents})
	}
	files := wireFiles(result.Files)
	if len(files) > 0 {
		shown = append(shown, packet.ToolFiles{CallID: c.id, Files: files})
	}
	outcome := outcomeOf(ctx, result.Failure)
	if f := result.Failure; f != nil && outcome != packet.OutcomeCancelled {
		shown = append(shown, packet.ToolError{CallID: c.id, Kind: packet.ToolErrorKind(f.Kind), Message: f.Message,
			Held: c.held})
	}
	hostCalls := wireHostCalls(result.HostCalls)
	shown = append(shown, packet.SectionEnd{
		Outcome: outcome, DurationMS: took.Milliseconds(), Fuel: result.Fuel,
		PluginVersion: c.spec.PluginVersion, HostCalls: hostCalls,
	})
	done := Done{
		CallID: c.id, Name: c.name, ToolID: c.spec.ID, Arguments: c.argumentsText(),
		Text:    c.resultText(result, outcome) + c.fitted.LeftOut(c.name),
		Outcome: outcome, Held: c.held, Duration: took, Plugin: c.spec.Plugin, Documents: documents,
		HostCalls: hostCalls,
		StopsLoop: c.spec.StopsLoop && outcome == packet.OutcomeOK, Reminder: c.spec.Reminder, Labels: c.brought(),
	}
	fact := done.Fact()
	fact.Parent, fact.Files, fact.Structured, fact.Fuel = c.runner.inner, files, result.Structured, result.Fuel
	c.record(shown, fact)
	return done
}

// record ends the block. An agent's block is placed by its emitter, so that its
// fact follows.
func (c *call) record(shown []packet.Obj, fact journal.CallDone) {
	facts := c.runner.config.Facts
	if facts != nil && c.runner.inner == "" {
		facts.CallDone(c.place, shown, fact, c.held)
		return
	}
	for _, obj := range shown {
		c.emit(obj)
	}
	if facts != nil {
		facts.CallDone(c.place, nil, fact, c.held)
	}
}

// brought are the labels of what the call read, which the path has met from now
// on.
func (c *call) brought() (labels []string) {
	if !c.ran {
		return nil
	}
	for _, label := range []string{tool.LabelPrivateData, tool.LabelUntrustedContent} {
		if hasLabel(c.spec, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// Fact is the end of the call as the journal keeps it.
func (d Done) Fact() journal.CallDone {
	return journal.CallDone{
		CallID: d.CallID, Name: d.Name, Tool: d.ToolID, Outcome: string(d.Outcome), Text: d.Text,
		Documents: d.Documents,
		Labels:    d.Labels, StopsLoop: d.StopsLoop, Reminder: d.Reminder, DurationMS: d.Duration.Milliseconds(),
	}
}

// accept keeps the documents whose ref the call was given or told, makes them
// citable, and names the others in a notice.
func (c *call) accept(docs []tool.Document) []packet.Document {
	var kept []packet.Document
	var dropped []string
	for _, d := range docs {
		wire := packet.Document(d)
		known, taken := c.runner.config.Documents.Get(d.Ref)
		switch {
		case d.Ref == 0: // shown, but not to be cited
		case taken && known.ID == d.ID:
		case !taken && c.refs.Contains(d.Ref):
			c.runner.config.Documents.Add(wire)
		default:
			dropped = append(dropped, fmt.Sprintf("%q", shorten(d.Title, 60)))
			continue
		}
		kept = append(kept, wire)
	}
	if len(dropped) > 0 {
		notice := packet.NewNotice(packet.CodeDocumentsDropped,
			fmt.Sprintf("%s cited documents outside the numbers it was given; left out: %s.", c.name,
				strings.Join(dropped, ", ")))
		notice.CallID = c.id
		c.emit(notice)
	}
	return kept
}

func (c *call) resultText(result tool.Result, outcome packet.Outcome) string {
	// No provider takes a NUL, and few take what is no UTF-8.
	text := strings.ReplaceAll(strings.ToValidUTF8(result.Text, "\uFFFD"), "\x00", "")
	most := MaxResultRunes
	if c.runner.kept.Load() > maxKeptBytes {
		most = leastResultRunes
	}
	if n := utf8.RuneCountInString(text); n > most {
		text = shorten(text, most) + fmt.Sprintf("\n[The result was cut: %d of %d characters are kept. Ask for less.]",
			most, n)
	}
	c.runner.kept.Add(int64(len(text)))
	switch {
	case text != "":
		return text
	case outcome == packet.OutcomeOK:
		return "(The tool returned nothing.)"
	case result.Failure != nil:
		return result.Failure.Message
	}
	return "The call was stopped."
}

func outcomeOf(ctx context.Context, failure *tool.Failure) packet.Outcome {
	switch {
	case failure == nil:
		return packet.OutcomeOK
	case ctx.Err() != nil:
		return packet.OutcomeCancelled
	case failure.Kind == tool.FailureDenied:
		return packet.OutcomeDenied
	case failure.Kind == tool.FailureTimeout:
		return packet.OutcomeTimeout
	}
	return packet.OutcomeError
}

func wireFiles(files []tool.File) []packet.File {
	out := make([]packet.File, len(files))
	for i, f := range files {
		out[i] = packet.File{FileID: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size}
	}
	return out
}

func wireHostCalls(calls []tool.HostCall) []packet.HostCall {
	out := make([]packet.HostCall, len(calls))
	for i, h := range calls {
		out[i] = packet.HostCall(h)
	}
	return out
}

// shorten cuts text to at most n characters.
func shorten(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
