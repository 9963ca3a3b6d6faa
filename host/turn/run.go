package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// setup is what all models of a turn share. It is immutable once the run began.
type setup struct {
	models []llm.Model
	tools  []tool.Tool
	// named are the tools that the request or the agent names.
	named []string
	// research says that the model may hand tasks to agents.
	research bool
	forced   string
	// noServerTools says that models' providers may not run tools of their own.
	noServerTools bool
	// agent is who answers, the zero one for the default.
	agent store.Agent
	// notices say what the person or the agent asked for and is not there now.
	notices []packet.Notice
	// private says that nothing that is remembered may be used.
	private bool

	begun store.Begun
	// before is the answer that goes on, as it was; the zero one for any other run.
	before Message
	path   path
	// memories are what is remembered about the person, the newest first.
	memories []window.Memory
	// refs and documents grow with the run; both are safe for concurrent use.
	refs      *toolrun.Refs
	documents *cite.Documents
	callID    func() string
}

// start makes the run durable and sets it going. No transaction is held from
// here on.
func (s *Service) start(ctx context.Context, p identity.Principal, in store.BeginRun, set setup) (store.Begun, error) {
	if err := s.enter(); err != nil {
		return store.Begun{}, err
	}
	handed := false
	defer func() {
		if !handed {
			s.running.Done()
		}
	}()
	var beginning *journal.Beginning
	in.Also = func(tx kv.Tx, begun store.Begun) (err error) {
		set.begun = begun
		if beginning, err = s.Journal.Begin(begun.Run.ID, begun.Run.Epoch, owner, s.beginning(p, in, set)...); err != nil {
			return err
		}
		return beginning.Write(tx)
	}
	begun, err := s.Store.Runs().Begin(ctx, p, in)
	if err != nil || begun.Replayed {
		return begun, err
	}
	set.begun = begun
	live := s.register(begun, beginning.Lease(), len(set.models))
	handed = true
	go func() {
		defer s.running.Done()
		s.work(live, p, set)
	}()
	s.Changed(p.UserID(), begun.Session.ID)
	return begun, nil
}

// owner names who holds the leases of runs that this process works on.
const owner = "turn"

// beginning are the first records of a run: what it begins with, and what a client
// sees first.
func (s *Service) beginning(p identity.Principal, in store.BeginRun, set setup) []journal.Record {
	begun := set.begun
	fact := journal.Begun{
		User: p.UserID(), Origin: string(p.Origin()), Session: begun.Session.ID, Question: begun.UserMessage.ID, Answers: begun.Run.Responses,
		Path: begun.Path, Text: begun.UserMessage.Text, Models: in.Models, Allowed: begun.Responses[0].Allowed, Forced: set.forced,
		Kind: journal.KindChat, Private: set.private, Labels: begun.Labels,
	}
	for _, f := range begun.UserMessage.Files {
		fact.Files = append(fact.Files, f.ID)
	}
	if begun.Run.Continues {
		fact.Kind = journal.KindContinue
	}
	for _, c := range begun.Held {
		fact.Held = append(fact.Held, c.ID)
	}
	if set.agent.ID != "" {
		fact.Agent, _ = json.Marshal(set.agent) // texts, lists of them and numbers always encode
	}
	records := []journal.Record{journal.Of(fact)}
	at := packet.At(0, 0)
	if begun.SessionCreated {
		records = append(records, journal.Packet(at, packet.SessionCreated{SessionID: begun.Session.ID, Title: begun.Session.Title}))
	}
	started := packet.RunStarted{UserMessageID: begun.UserMessage.ID}
	for i, m := range begun.Responses {
		started.Responses = append(started.Responses, packet.Response{ModelIndex: i, MessageID: m.ID, Model: m.Model})
	}
	records = append(records, journal.Packet(at, started))
	for _, notice := range set.notices {
		records = append(records, journal.Packet(at, notice))
	}
	return records
}

// enter counts a run in, unless the service is closing.
func (s *Service) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return &Error{Code: CodeClosing, Message: "The host is shutting down. Nothing was stored."}
	}
	s.running.Add(1)
	return nil
}

type worker struct {
	*liveRun
	lease     *journal.Lease
	ctx       context.Context
	modelCtx  []context.Context
	setup     setup
	principal identity.Principal
}

// register makes the run known to readers and to Stop. A run that begins while
// the service closes is ended at once.
func (s *Service) register(begun store.Begun, lease *journal.Lease, models int) *worker {
	ctx, cancel := context.WithCancelCause(context.Background())
	w := &worker{ctx: ctx, lease: lease, liveRun: &liveRun{
		owner: begun.Run.Owner, session: begun.Session.ID, cancel: cancel, log: lease.Log(), done: make(chan struct{}),
	}}
	for range models {
		modelCtx, cancelModel := context.WithCancelCause(ctx)
		w.modelCtx = append(w.modelCtx, modelCtx)
		w.cancelModel = append(w.cancelModel, cancelModel)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[begun.Run.ID] = w.liveRun
	if s.closing {
		cancel(errShutdown)
	}
	return w
}

// work is a run from its first packet to its persisted outcome.
func (s *Service) work(w *worker, p identity.Principal, set setup) {
	defer w.cancel(nil)
	w.setup, w.principal = set, p
	observed := s.observe(w.log)
	defer func() { <-observed }() // it ends when the log does
	s.conclude(w, s.answer(w))
}

// outcome is what came of one model.
type outcome struct {
	result loop.Result
	reason packet.StopReason
}

// answer runs all models side by side.
func (s *Service) answer(w *worker) []outcome {
	outcomes := make([]outcome, len(w.setup.models))
	if err := s.prepare(w); err != nil {
		for i := range outcomes {
			outcomes[i] = s.unprepared(w, i, err)
		}
		return outcomes
	}
	var wg sync.WaitGroup
	for i := range w.setup.models {
		wg.Go(func() { outcomes[i] = s.model(w, i) })
	}
	wg.Wait()
	return outcomes
}

// unprepared ends a model that never began.
func (s *Service) unprepared(w *worker, index int, err error) (out outcome) {
	emit := packet.NewEmitter(w.log, index)
	if w.ctx.Err() != nil {
		out.reason = cancelled(w.ctx)
	} else {
		s.Logger.Error("run could not be prepared", "run", w.log.Run(), "error", err)
		out = failed(emit)
	}
	w.stop(index, out)
	return out
}

// stop ends a model: its stop and its outcome are one record.
func (w *worker) stop(index int, out outcome) {
	r := out.result
	w.lease.Record(
		journal.Packet(packet.At(0, 0).ForModel(index), packet.Stop{Reason: out.reason}),
		journal.Of(journal.Outcome{
			Model: index, Reason: string(out.reason), Citations: r.Citations, Error: r.Error,
			Labels: journal.Join(w.setup.begun.Labels, r.Labels),
		}))
}

// cancelled is how a model ends whose context ended.
func cancelled(ctx context.Context) packet.StopReason {
	if errors.Is(context.Cause(ctx), errShutdown) {
		return packet.StopInterrupted
	}
	return packet.StopUserCancelled
}

// prepare loads the branch and what follows from it.
func (s *Service) prepare(w *worker) error {
	begun := w.setup.begun
	leaf := begun.UserMessage.ID
	if begun.Run.Continues {
		leaf = begun.Responses[0].ID
	}
	branch, err := s.branch(w.ctx, w.principal, begun.Session.ID, leaf)
	if err != nil {
		return fmt.Errorf("load history: %w", err)
	}
	if begun.Run.Continues {
		w.setup.before = branch[len(branch)-1]
	}
	files, err := s.loadFiles(w.ctx, w.principal, branch)
	if err != nil {
		return fmt.Errorf("load files: %w", err)
	}
	w.setup.path = readPath(branch, files)
	w.setup.path.query = begun.UserMessage.Text
	if !w.setup.path.attached {
		w.setup.tools = without(w.setup.tools, onlyReadsFiles)
	}
	if !w.setup.private {
		w.setup.memories = s.memories(w.ctx, w.principal)
	}
	w.setup.refs = toolrun.NewRefs(w.setup.path.highest)
	w.setup.documents = cite.NewDocuments(w.setup.path.documents)
	var calls atomic.Int64
	suffix := begun.Run.ID[max(0, len(begun.Run.ID)-8):]
	w.setup.callID = func() string { return fmt.Sprintf("call_%s_%d", suffix, calls.Add(1)) }
	return nil
}

// model runs one model to its stop. A panic in its loop ends that model alone.
func (s *Service) model(w *worker, index int) (out outcome) {
	emit := packet.NewEmitter(w.log, index)
	defer func() {
		if p := recover(); p != nil {
			s.Logger.Error("a model's loop panicked", "run", w.log.Run(), "model", index, "panic", p, "stack", string(debug.Stack()))
			closeBlocks(w.log, index)
			out = failed(emit)
		}
		w.stop(index, out)
	}()
	ctx := w.modelCtx[index]
	result := loop.Run(ctx, s.loopSetup(w, index, emit))
	reason := result.Reason
	if reason == packet.StopUserCancelled {
		reason = cancelled(ctx)
	}
	return outcome{result: result, reason: reason}
}

// loopSetup is the part of the setup that is one model's.
func (s *Service) loopSetup(w *worker, index int, emit packet.Emitter) loop.Setup {
	set := w.setup
	specs := make([]tool.Spec, len(set.tools))
	for i, t := range set.tools {
		specs[i] = t.Spec()
	}
	info := set.models[index].Info()
	tokens := info.ContextTokens
	var held []toolrun.Request
	for _, c := range set.begun.Held {
		held = append(held, toolrun.Request{Name: c.Name, Arguments: c.Arguments})
	}
	author := w.lease.Author(index)
	reminders, noMore := left(set.before.Steps)
	return loop.Setup{
		Facts: author, Met: set.begun.Labels, Reminders: reminders, NoMore: noMore, Said: set.before.Text != "",
		Continues: set.begun.Run.Continues, Cited: set.before.Citations, Held: held,
		Model: set.models[index], System: s.system(set, specs, tokens), History: window.Attach(set.path.history, tokens, info.Vision), Specs: specs,
		Runner: toolrun.New(toolrun.Config{
			Tools: set.tools, Refs: set.refs, Documents: set.documents, Emit: emit, Facts: author,
			Context: tool.Context{Query: set.path.query, History: set.path.said, UserID: w.owner},
			RunID:   set.begun.Run.ID, Session: set.begun.Session.ID, User: w.owner, Model: set.models[index].Info().Name,
			HoldWrites: len(set.models) > 1, Now: s.Now, NewID: set.callID,
		}),
		NoServerTools: set.noServerTools, Named: set.named, Research: set.research, Forced: set.forced, MaxCycles: cmp.Or(set.agent.MaxCycles, s.MaxCycles), Documents: set.documents, Emit: emit, Now: s.Now,
	}
}

// failed ends a model with a fault of the host.
func failed(emit packet.Emitter) outcome {
	e := packet.NewError(packet.CodeInternal, "")
	emit.Emit(packet.At(0, 0), emit.WithModel(e))
	return outcome{reason: packet.StopError, result: loop.Result{Error: &e}}
}

// closeBlocks ends the blocks that one model left open.
func closeBlocks(log *journal.Log, model int) {
	entries, err := log.Read(context.Background(), 0)
	if err != nil { // the log is open, and run_started is always there
		return
	}
	var packets []packet.Packet
	for _, e := range entries {
		if m := e.Packet.Placement.ModelIndex; m != nil && *m == model {
			packets = append(packets, e.Packet)
		}
	}
	for _, c := range journal.Unfinished(packets, 0) {
		if _, isStop := c.Obj.(packet.Stop); !isStop {
			log.Append(c.Place, c.Obj)
		}
	}
}

// runReason is the reason of the run's own stop.
func runReason(outcomes []outcome) packet.StopReason {
	reasons := make([]packet.StopReason, len(outcomes))
	for i, o := range outcomes {
		reasons[i] = o.reason
	}
	return packet.RunReason(reasons)
}
