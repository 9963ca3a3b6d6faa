package turn

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/runlog"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// persist copies a log to disk as it grows, until the log ends. It is a reader
// like any other; the store commits what all runs bring within one tick at once.
func (s *Service) persist(log *runlog.Log) {
	ctx := context.Background()
	for last := int64(0); ; {
		entries, err := log.Read(ctx, last)
		if err != nil { // the log has ended
			return
		}
		if err := s.Store.AppendPackets(ctx, log.Run(), log.Epoch(), packetEntries(entries)); err != nil {
			// The run goes on. Its outcome is persisted at the end with what is
			// missing here, or the next start finds the run unfinished.
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

// conclude persists the outcome and lets go of the run.
func (s *Service) conclude(w *worker, reason packet.StopReason, outcomes []outcome) {
	ctx := context.Background()
	run := w.log.Run()
	err := s.Store.FinishRun(ctx, run, store.Finish{
		StopReason: string(reason), Messages: messages(w.setup.begun.Responses, outcomes),
		ToolCalls: s.toolCalls(w, outcomes), LastSeq: w.log.Last(), Packets: s.missing(w),
	})
	if err != nil && !errors.Is(err, store.ErrFinished) {
		s.Logger.Error("the outcome was not persisted", "run", run, "error", err)
	}
	s.mu.Lock()
	delete(s.live, run)
	s.mu.Unlock()
	close(w.done)
	s.Changed(w.owner, w.session)
}

// missing returns the packets that are not on disk, which is none unless
// persisting failed on the way.
func (s *Service) missing(w *worker) []store.PacketEntry {
	ctx := context.Background()
	run, err := s.Store.Run(ctx, w.principal, w.log.Run())
	if err != nil || run.LastSeq >= w.log.Last() {
		return nil
	}
	entries, err := w.log.Read(ctx, run.LastSeq)
	if err != nil {
		return nil
	}
	return packetEntries(entries)
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

func (s *Service) toolCalls(w *worker, outcomes []outcome) []store.ToolCall {
	var out []store.ToolCall
	for i, o := range outcomes {
		for _, step := range o.result.Steps {
			for _, c := range step.Calls {
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
