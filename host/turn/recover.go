package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Recover ends the runs that a crash cut off as interrupted: it closes what is open
// in their journals, in a new epoch, and keeps everything that was durable, so that
// an answer can go on with every result it had. It is called once, before the first
// request. A run that cannot be recovered is named in the error; the others are
// recovered all the same.
func (s *Service) Recover(ctx context.Context) error {
	runs, err := s.cfg.Records.CutOff.Unfinished(ctx, identity.ForHost("recover what a crash cut off"))
	problems := []error{err}
	for _, run := range runs {
		if err := s.recover(ctx, run); err != nil {
			problems = append(problems, fmt.Errorf("recover run %s: %w", run.ID, err))
		}
	}
	// What is left belongs to conversations that are gone.
	for _, run := range s.cfg.Journal.Unfinished() {
		if !slices.ContainsFunc(runs, func(r store.Run) bool { return r.ID == run }) {
			if lease, err := s.cfg.Journal.Lease(ctx, run, recoverer); err == nil {
				lease.Abandon()
			}
		}
	}
	return errors.Join(problems...)
}

// recoverer holds the leases of runs that are being recovered.
const recoverer = "recovery"

func (s *Service) recover(ctx context.Context, run store.Run) error {
	lease, err := s.cfg.Journal.Lease(ctx, run.ID, recoverer)
	if errors.Is(err, journal.ErrNotFound) { // nothing of it can be read any more
		var begin *journal.Beginning
		if begin, err = s.cfg.Journal.Begin(run.ID, run.Epoch, recoverer,
			journal.Packet(packet.At(0, 0), bareStart(run))); err == nil {
			lease = begin.Lease()
		}
	}
	if err != nil {
		return err
	}
	ending := lease.Seal(true, journal.Closings(lease.Log(), len(run.Responses))...)
	return s.end(ctx, run, ending)
}

// bareStart is how a run began of which nothing else is known.
func bareStart(run store.Run) packet.RunStarted {
	started := packet.RunStarted{UserMessageID: run.UserMessage, Responses: []packet.Response{}}
	for i, id := range run.Responses {
		started.Responses = append(started.Responses, packet.Response{ModelIndex: i, MessageID: id})
	}
	return started
}

// end makes the end of a run durable: its journal, the state of its answers and the
// run itself, in one transaction.
func (s *Service) end(ctx context.Context, run store.Run, ending *journal.Ending) error {
	log := ending.Log()
	finish := store.Finish{Epoch: log.Epoch(), LastSeq: log.Last(), LiveSeq: ending.LiveSeq(), Also: ending.Write}
	if end, ok := journal.First[journal.End](log); ok {
		finish.StopReason = end.Reason
	}
	answers := journal.Answers(log.Records(), len(run.Responses))
	for i, id := range run.Responses {
		a := answers[i]
		state := store.AnswerState{ID: id, Status: string(a.Reason), Labels: a.Labels}
		if e := a.Error; e != nil && a.Reason == packet.StopError {
			state.ErrorCode, state.ErrorMessage = string(e.Code), e.Message
		}
		for _, c := range a.Held {
			state.Held = append(state.Held, store.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		finish.Answers = append(finish.Answers, state)
	}
	if err := s.cfg.Records.Runs.Finish(ctx, run.ID, finish); err != nil {
		return err
	}
	ending.Done()
	return nil
}
