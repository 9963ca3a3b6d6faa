package turn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/runlog"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// persist copies a log to disk as it grows, until ctx is done. It is a reader
// like any other; the store commits what all runs bring within one tick at once.
func (s *Service) persist(ctx context.Context, log *runlog.Log) {
	for last := int64(0); ; {
		entries, err := log.Read(ctx, last)
		if err != nil {
			return
		}
		if err := s.Store.AppendPackets(context.WithoutCancel(ctx), log.Run(), log.Epoch(), packetEntries(entries)); err != nil {
			// The run goes on. What is missing comes with its outcome, or the next
			// start finds the run unfinished.
			s.Logger.Error("packets were not persisted", "run", log.Run(), "after", last, "error", err)
			return
		}
		last = entries[len(entries)-1].Seq
	}
}

func packetEntries(entries []runlog.Entry) []store.PacketEntry {
	out := make([]store.PacketEntry, len(entries))
	for i, e := range entries {
		out[i] = store.PacketEntry{Seq: e.Seq, JSON: e.JSON}
	}
	return out
}

// retryPause is how long a run waits before it tries again to write its outcome.
const retryPause = time.Second

// conclude persists the outcome, then ends the log and lets go of the run. The
// run's stop goes out only when its outcome is on disk: who saw the stop finds
// the answer in the store.
func (s *Service) conclude(w *worker, outcomes []outcome) {
	run := w.log.Run()
	if err := s.keep(w, outcomes); err != nil {
		s.Logger.Error("the outcome was not persisted", "run", run, "error", err)
	} else {
		w.log.Append(packet.At(0, 0), packet.Stop{Reason: runReason(outcomes)})
	}
	w.log.Close()
	s.mu.Lock()
	delete(s.live, run)
	s.mu.Unlock()
	close(w.done)
	s.Logger.Info("a run ended", "run", run, "session", w.session, "reason", runReason(outcomes))
	s.Changed(w.owner, w.session)
}

// keep writes the outcome. While the disk does not take it, the run stays live
// and holds what it has, and keep tries again. It gives up when the run's record
// is gone, and when the service closes: the next start then ends the run.
func (s *Service) keep(w *worker, outcomes []outcome) error {
	for told := false; ; told = true {
		err := s.finish(w, outcomes)
		switch {
		case err == nil, errors.Is(err, store.ErrFinished):
			return nil
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrClosed):
			return err
		}
		if !told {
			s.Logger.Error("the outcome cannot be persisted yet", "run", w.log.Run(), "error", err)
			packet.RunEmitter(w.log).Emit(packet.At(0, 0), packet.NewNotice(packet.CodeNotSaved, ""))
		}
		select {
		case <-s.After(retryPause):
		case <-s.quit:
			return err
		}
	}
}

// finish writes the outcome and the last packets, the run's stop among them, in
// one transaction.
func (s *Service) finish(w *worker, outcomes []outcome) error {
	ctx := context.Background()
	stop := packet.Packet{
		Run: w.log.Run(), Epoch: w.log.Epoch(), Seq: w.log.Last() + 1,
		Placement: packet.At(0, 0), Obj: packet.Stop{Reason: runReason(outcomes)},
	}
	data, err := stop.MarshalJSON()
	if err != nil {
		return err
	}
	record, err := s.Store.Run(ctx, w.principal, stop.Run)
	if err != nil {
		return err
	}
	var rest []store.PacketEntry
	if record.LastSeq < w.log.Last() {
		entries, err := w.log.Read(ctx, record.LastSeq)
		if err != nil {
			return err
		}
		rest = packetEntries(entries)
	}
	return s.Store.FinishRun(ctx, stop.Run, store.Finish{
		StopReason: string(runReason(outcomes)), Messages: messages(w.setup.begun.Responses, outcomes),
		ToolCalls: s.toolCalls(w, outcomes), LastSeq: stop.Seq,
		Packets: append(rest, store.PacketEntry{Seq: stop.Seq, JSON: data}),
	})
}

// messages are the answers in their final form.
func messages(reserved []store.Message, outcomes []outcome) []store.Message {
	out := make([]store.Message, len(outcomes))
	for i, o := range outcomes {
		m := reserved[i]
		m.Text, m.Status = o.result.Text, string(o.reason)
		m.Steps, m.Citations = storedSteps(o.result.Steps), storedCitations(o.result.Citations)
		if e := o.result.Error; e != nil {
			m.ErrorCode, m.ErrorMessage = string(e.Code), e.Message
		}
		out[i] = m
	}
	return out
}

// callsOf are the calls of an answer, step by step, then those of agents inside of
// them.
func callsOf(r loop.Result) [][]toolrun.Done {
	var out [][]toolrun.Done
	for _, step := range r.Steps {
		out = append(out, step.Calls)
	}
	return append(out, r.Inner)
}

func (s *Service) toolCalls(w *worker, outcomes []outcome) []store.ToolCall {
	var out []store.ToolCall
	for i, o := range outcomes {
		for _, calls := range callsOf(o.result) {
			for _, c := range calls {
				hostCalls, err := json.Marshal(c.HostCalls)
				if err != nil { // strings and numbers always encode
					hostCalls = nil
				}
				out = append(out, store.ToolCall{
					ID: c.CallID, Run: w.log.Run(), Message: w.setup.begun.Responses[i].ID, Owner: w.owner,
					Tool: c.Name, Plugin: c.Plugin, Arguments: jsonArguments(c.Arguments), Outcome: string(c.Outcome),
					DurationMS: c.Duration.Milliseconds(), HostCalls: hostCalls, At: s.Now(),
				})
			}
		}
	}
	return out
}

// jsonArguments returns arguments as they are where they are JSON, else as a
// JSON string.
func jsonArguments(arguments string) json.RawMessage {
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	data, err := json.Marshal(arguments)
	if err != nil { // a string always encodes
		return nil
	}
	return data
}

// observe shows the packets of a log to Observe until the log ends, which closes
// the channel.
func (s *Service) observe(log *runlog.Log) <-chan struct{} {
	ended := make(chan struct{})
	if s.Observe == nil {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		for last := int64(0); ; {
			entries, err := log.Read(context.Background(), last)
			if err != nil {
				return
			}
			for _, e := range entries {
				s.Observe(e.Packet)
			}
			last = entries[len(entries)-1].Seq
		}
	}()
	return ended
}
