package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// worker carries out one run.
type worker struct {
	*liveRun
	service   *Service
	lease     *journal.Lease
	ctx       context.Context
	modelCtx  []context.Context
	setup     setup
	principal identity.Principal
}

// work is a run from its first packet to its persisted outcome.
func (w *worker) work(p identity.Principal, set setup) {
	defer w.cancel(nil)
	w.setup, w.principal = set, p
	observed := w.service.observe(w.log)
	defer func() { <-observed }() // it ends when the log does
	w.conclude(w.answer())
}

// outcome is what came of one model.
type outcome struct {
	result loop.Result
	reason packet.StopReason
}

// answer runs all models side by side.
func (w *worker) answer() []outcome {
	outcomes := make([]outcome, len(w.setup.models))
	if err := w.prepare(); err != nil {
		for i := range outcomes {
			outcomes[i] = w.unprepared(i, err)
		}
		return outcomes
	}
	var wg sync.WaitGroup
	for i := range w.setup.models {
		wg.Go(func() { outcomes[i] = w.model(i) })
	}
	wg.Wait()
	return outcomes
}

// unprepared ends a model that never began.
func (w *worker) unprepared(index int, err error) (out outcome) {
	emit := packet.NewEmitter(w.log, index)
	if w.ctx.Err() != nil {
		out.reason = cancelled(w.ctx)
	} else {
		w.service.cfg.Logger.Error("run could not be prepared", "run", w.log.Run(), "error", err)
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
func (w *worker) prepare() error {
	begun := w.setup.begun
	leaf := begun.UserMessage.ID
	if begun.Run.Continues {
		leaf = begun.Responses[0].ID
	}
	branch, err := w.service.branch(w.ctx, w.principal, begun.Session.ID, leaf)
	if err != nil {
		return fmt.Errorf("load history: %w", err)
	}
	if begun.Run.Continues {
		w.setup.before = branch[len(branch)-1]
	}
	files, err := w.service.loadFiles(w.ctx, w.principal, branch)
	if err != nil {
		return fmt.Errorf("load files: %w", err)
	}
	w.setup.path = readPath(branch, files)
	w.setup.path.query = begun.UserMessage.Text
	if !w.setup.path.attached {
		w.setup.tools = without(w.setup.tools, onlyReadsFiles)
	}
	if !w.setup.private {
		w.setup.memories = w.service.memories(w.ctx, w.principal)
	}
	w.setup.refs = toolrun.NewRefs(w.setup.path.highest)
	w.setup.documents = cite.NewDocuments(w.setup.path.documents)
	var calls atomic.Int64
	suffix := begun.Run.ID[max(0, len(begun.Run.ID)-8):]
	w.setup.callID = func() string { return fmt.Sprintf("call_%s_%d", suffix, calls.Add(1)) }
	return nil
}

// model runs one model to its stop. A panic in its loop ends that model alone.
func (w *worker) model(index int) (out outcome) {
	emit := packet.NewEmitter(w.log, index)
	defer func() {
		if p := recover(); p != nil {
			w.service.cfg.Logger.Error("a model's loop panicked", "run", w.log.Run(), "model", index,
				"panic", p, "stack", string(debug.Stack()))
			closeBlocks(w.log, index)
			out = failed(emit)
		}
		w.stop(index, out)
	}()
	ctx := w.modelCtx[index]
	result := loop.Run(ctx, w.loopSetup(index, emit))
	reason := result.Reason
	if reason == packet.StopUserCancelled {
		reason = cancelled(ctx)
	}
	return outcome{result: result, reason: reason}
}

// loopSetup is the part of the setup that is one model's.
func (w *worker) loopSetup(index int, emit packet.Emitter) loop.Setup {
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
	now := clock(w.service.cfg.Now, set.begun.UserMessage.Zone)
	reminders, noMore := left(set.before.Steps)
	return loop.Setup{
		Facts: author, Met: set.begun.Labels, Reminders: reminders, NoMore: noMore, Said: set.before.Text != "",
		Continues: set.begun.Run.Continues, Cited: set.before.Citations, Held: held,
		Model: set.models[index], System: w.service.system(set, specs, tokens), Specs: specs,
		History: window.Attach(set.path.history, tokens, info.Vision),
		Runner: toolrun.New(toolrun.Config{
			Tools: set.tools, Refs: set.refs, Documents: set.documents, Emit: emit, Facts: author,
			Context: tool.Context{Query: set.path.query, History: set.path.said, UserID: w.owner},
			RunID:   set.begun.Run.ID, Session: set.begun.Session.ID, User: w.owner,
			Model:      set.models[index].Info().Name,
			HoldWrites: len(set.models) > 1, Now: now, NewID: set.callID,
		}),
		NoServerTools: set.noServerTools, Named: set.named, Research: set.research, Forced: set.forced,
		MaxCycles: cmp.Or(set.agent.MaxCycles, w.service.cfg.MaxCycles), Documents: set.documents, Emit: emit,
		Now: now,
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
