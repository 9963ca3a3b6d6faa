// Package toolrun is the runner: it takes the tool calls that a model asked for
// in one cycle, merges those that may be merged, numbers them, runs them in
// parallel and turns whatever happened into a result that the model can read, a
// packet that the person can see, and exactly one section_end.
//
// A failure never spreads: a tool that fails, panics, lies or does not exist
// costs its own call and nothing else. The package knows tools only by their
// contract; it does not know the loop, models' providers or Wasm.
package toolrun

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// DefaultParallel is how many calls of one model run at once where Config does
// not say. Further calls wait.
const DefaultParallel = 8

// Config is what a runner works with. It must not be changed after New.
type Config struct {
	// Tools are the tools of this turn, with distinct names.
	Tools []tool.Tool
	// Refs deals ranges of refs; all models of a run share it.
	Refs *Refs
	// Documents are what the path knows; results add to them.
	Documents *cite.Documents
	Emit      packet.Emitter
	// Facts takes what is recorded of the calls, nil for nobody.
	Facts Facts
	// Context is what the tools may know of the conversation; the runner fills in
	// its Citations for each call.
	Context tool.Context
	// RunID, Session and User identify whose calls these are.
	RunID, Session, User string
	// Model is the name of the model that calls.
	Model string
	// Parallel is how many calls run at once, 0 for DefaultParallel.
	Parallel int
	// HoldWrites says that several models answer side by side: calls of tools
	// labelled writes are not run, and their result is "denied: comparing".
	HoldWrites bool
	// Now is the clock, NewID makes an id that is unique within the run.
	Now   func() time.Time
	NewID func() string
}

// Facts takes what a runner records of its calls; journal.Author is the one that
// runs use. It is safe for concurrent use.
type Facts interface {
	// CallStarted records that a call begins and returns, for one that writes, once
	// that is durable. After an error the call must not run.
	CallStarted(ctx context.Context, f journal.CallStarted) error
	// CallDone records what came of a call together with the packets that end its
	// block.
	CallDone(place packet.Placement, shown []packet.Obj, done journal.CallDone, held bool)
}

// Runner runs the calls of one model. It is safe for concurrent use.
type Runner struct {
	config Config
	byName map[string]tool.Tool
	slots  chan struct{}
	// kept counts the bytes of results that were kept.
	kept *atomic.Int64
	// inner is the call inside of which an agent makes the calls, "" at the top.
	inner string
	// free are the tools whose calls need no slot.
	free map[string]bool
	// perTool bounds the calls of a tool that has a limit of its own.
	perTool map[string]chan struct{}
	// met tells what the path has met, nil for nobody who knows.
	met func() []string
}

// New returns a runner.
func New(config Config) *Runner {
	if config.Parallel <= 0 {
		config.Parallel = DefaultParallel
	}
	r := &Runner{
		config: config, byName: map[string]tool.Tool{},
		kept: &atomic.Int64{}, slots: make(chan struct{}, config.Parallel), perTool: map[string]chan struct{}{},
	}
	for _, t := range config.Tools {
		spec := t.Spec()
		r.byName[spec.Name] = t
		if spec.Concurrency > 0 {
			r.perTool[spec.Name] = make(chan struct{}, spec.Concurrency)
		}
	}
	return r
}

// Request is a call as the model asked for it.
type Request struct {
	Name string
	// Arguments is the JSON text as the model wrote it; "" stands for {}.
	Arguments string
	// Inexact says that Arguments had to be mended to be read; a tool that writes does
	// not get such ones.
	Inexact bool
	// CallID is the id under which Open opened the call's block, "" if it did not.
	CallID string
	// Tab is the tab_index of the call's block. One that is not above that of the
	// request before stands for the next.
	Tab int
}

// Done is a call that is over, as history keeps it.
type Done struct {
	CallID string
	// Name is the name that the model used, ToolID the identity of the tool, "" for an
	// unknown name.
	Name, ToolID string
	// Arguments is what the tool got, or the model's text where that is no object.
	Arguments string
	// Text is the result that the model reads.
	Text      string
	Outcome   packet.Outcome
	Duration  time.Duration
	Plugin    string
	Documents []packet.Document
	HostCalls []packet.HostCall
	// Held tells that the call was held back because models are compared.
	Held bool
	// StopsLoop and Reminder are the tool's own, for the step that follows.
	StopsLoop bool
	Reminder  string
	// Labels are what the result brought: private_data, untrusted_content.
	Labels []string
}

// Failed tells whether the call did not do what was asked.
func (d Done) Failed() bool { return d.Outcome != packet.OutcomeOK }

// Streams tells whether a tool's arguments are shown as the model writes them.
func (r *Runner) Streams(name string) bool {
	t := r.byName[name]
	return t != nil && t.Spec().StreamArgs && t.Spec().Merge == ""
}

// Writes tells whether a tool is labelled so.
func (r *Runner) Writes(name string) bool {
	t := r.byName[name]
	return t != nil && hasLabel(t.Spec(), tool.LabelWrites)
}

// NewCallID makes an id for a call that the runner is not asked to run.
func (r *Runner) NewCallID() string { return r.config.NewID() }

// Open opens the block of a call that is not complete yet and returns its id. Run
// gets the call with that id when it is, else Abandon closes the block.
func (r *Runner) Open(place packet.Placement, name string) (callID string) {
	c := &call{runner: r, id: r.config.NewID(), name: name, place: place, tool: r.byName[name]}
	if c.tool != nil {
		c.spec = c.tool.Spec()
	}
	c.start()
	return c.id
}

// Abandon closes the block of a call that is not going to run.
func (r *Runner) Abandon(place packet.Placement, outcome packet.Outcome) {
	r.config.Emit.Emit(place, packet.SectionEnd{Outcome: outcome})
}

// Plan is the calls of one cycle, numbered and merged, before they run.
type Plan struct {
	runner *Runner
	turn   int
	calls  []*call
}

// Run runs the calls of one cycle at turn and returns when all are over, one Done
// for each call that is left after merging, in the order of the requests.
func (r *Runner) Run(ctx context.Context, turn int, requests []Request) []Done {
	return r.Plan(turn, requests).Run(ctx)
}

// Plan numbers the calls of one cycle at turn and merges what may be merged. The
// Plan is run once.
func (r *Runner) Plan(turn int, requests []Request) *Plan {
	return &Plan{runner: r, turn: turn, calls: r.plan(turn, requests)}
}

// Calls are the calls as history has them.
func (p *Plan) Calls() []journal.Call {
	calls := make([]journal.Call, len(p.calls))
	for i, c := range p.calls {
		calls[i] = journal.Call{ID: c.id, Name: c.name, Tool: c.spec.ID, Arguments: c.argumentsText()}
	}
	return calls
}

// Run runs the calls and returns when all are over, one Done for each.
func (p *Plan) Run(ctx context.Context) []Done {
	r, calls := p.runner, p.calls
	r.tellMet(calls)
	tabs := make([]int, len(calls))
	for i, c := range calls {
		tabs[i] = c.place.TabIndex
	}
	r.config.Emit.Emit(packet.At(p.turn, tabs[0]), packet.TopLevelBranching{TurnIndex: p.turn, Tabs: tabs})
	for _, c := range calls {
		c.announce()
	}
	done := make([]Done, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { done[i] = r.one(ctx, c) })
	}
	wg.Wait()
	return done
}

// plan numbers the calls, merges what may be merged and deals the refs.
func (r *Runner) plan(turn int, requests []Request) []*call {
	var calls []*call
	tab := -1
	for _, req := range requests {
		tab = max(tab+1, req.Tab)
		c := &call{runner: r, id: req.CallID, opened: req.CallID != "", name: shorten(req.Name, maxNameRunes),
			raw: req.Arguments, place: packet.At(turn, tab), tool: r.byName[req.Name]}
		if c.tool != nil {
			c.spec = c.tool.Spec()
		}
		c.fitted, c.argumentsErr = Fit(c.spec, req)
		if !mergeInto(calls, c) {
			calls = append(calls, c)
		}
	}
	for _, c := range calls {
		if !c.opened {
			c.id = r.config.NewID()
		}
		if c.spec.Cites {
			c.refs = r.config.Refs.Deal(RefsPerCall)
		}
	}
	return calls
}

// one runs a call from its wait for a slot to its section_end.
func (r *Runner) one(ctx context.Context, c *call) Done {
	if refused, ok := r.refuse(c); ok {
		return c.end(ctx, refused, 0)
	}
	release, err := r.acquire(ctx, c.name)
	if err != nil {
		return c.end(ctx, tool.Fail(tool.FailureFailed, "The call was stopped before it began.",
			"The call was stopped before it began."), 0)
	}
	defer release()
	if r.config.Facts != nil {
		writes := hasLabel(c.spec, tool.LabelWrites)
		if err := r.config.Facts.CallStarted(ctx, journal.CallStarted{
			CallID: c.id, Parent: r.inner, Tool: c.spec.ID, Version: c.spec.PluginVersion, Writes: writes,
			Labels: c.met,
		}); err != nil {
			return c.end(ctx, tool.Fail(tool.FailureFailed, "The call was stopped before it began.",
				"The call was stopped before it began."), 0)
		}
	}
	started := r.config.Now()
	c.ran = true
	result := c.invoke(ctx)
	return c.end(ctx, result, r.config.Now().Sub(started))
}

// refuse says why a call must not run, if so.
func (r *Runner) refuse(c *call) (tool.Result, bool) {
	switch {
	case c.tool == nil:
		names, more := r.names()
		return unknownTool(c.name, names, more), true
	case c.argumentsErr != nil:
		return badArguments(c.spec, c.argumentsErr), true
	case r.config.HoldWrites && hasLabel(c.spec, tool.LabelWrites):
		c.held = r.inner == "" // nobody can have the call of an agent run later
		return tool.Fail(tool.FailureDenied, "Held back while several models answer: it would change something.",
			"denied: comparing"), true
	}
	return tool.Result{}, false
}

// acquire waits for a slot of the runner and one of the tool.
func (r *Runner) acquire(ctx context.Context, name string) (release func(), err error) {
	held := make([]chan struct{}, 0, 2)
	release = func() {
		for _, slot := range held {
			<-slot
		}
	}
	slots := r.slots
	if r.free[name] {
		slots = nil
	}
	for _, slot := range []chan struct{}{r.perTool[name], slots} {
		if slot == nil {
			continue
		}
		select {
		case slot <- struct{}{}:
			held = append(held, slot)
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// maxNameRunes bounds the name of a call, in characters. No tool has a longer one; a
// model may write anything, and the name is stored and shown.
const maxNameRunes = 200

// namesToldOf is how many tools a model is told of that asked for one that does not
// exist.
const namesToldOf = 40

// names are the tools that a model may be told of, and how many more there are.
func (r *Runner) names() (names []string, more int) {
	for _, t := range r.config.Tools[:min(len(r.config.Tools), namesToldOf)] {
		names = append(names, t.Spec().Name)
	}
	return names, len(r.config.Tools) - len(names)
}

func hasLabel(spec tool.Spec, label string) bool {
	for _, l := range spec.Labels {
		if l == label {
			return true
		}
	}
	return false
}
