package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Finish is how a run ends.
type Finish struct {
	// StopReason is of the final Status constants.
	StopReason string
	// Epoch is that of the stored journal, at least the run's; LastSeq is the number
	// of its last packet, and LiveSeq that of the last one in the epoch that went on.
	Epoch            int64
	LastSeq, LiveSeq int64
	// Answers are the ends of the run's answers. A reserved answer that is not among
	// them ends with the run's StopReason, or as interrupted if that is completed.
	Answers []AnswerState
	// Also runs in the same transaction, after everything else; it may run more than
	// once. nil for nothing.
	Also func(tx kv.Tx) error
}

// AnswerState is how an answer ended, in so far as the tree of messages keeps it. It
// follows from the run's journal.
type AnswerState struct {
	ID string
	// Status is of the final Status constants.
	Status                  string
	ErrorCode, ErrorMessage string
	// Held are the calls that wait until the answer is selected.
	Held []Call
	// Labels are the taint of the path with this answer.
	Labels []string
}

// Finish ends a run, once: who comes first has ended it, and who comes later
// gets ErrFinished and changes nothing. An answer or a session whose record cannot be
// read stays as it is, so that nothing keeps the run from ending. It returns
// ErrNotFound when the run is not there (any more), ErrEpoch when Epoch is below the
// run's, and ErrInvalid when StopReason or the status of an answer is not final, or an
// answer is not one of the run's.
func (s Runs) Finish(ctx context.Context, runID string, f Finish) error {
	return s.update(ctx, func(tx kv.Tx) error {
		run, err := unfinishedRun(tx, runID)
		if err != nil {
			return err
		}
		if err := s.finish(tx, run, f); err != nil || f.Also == nil {
			return err
		}
		return f.Also(tx)
	})
}

func unfinishedRun(tx kv.Tx, id string) (Run, error) {
	run, err := table.Get[Run](tx, table.Runs, id)
	if err == ErrNotFound {
		return Run{}, notFound("run", id)
	}
	if err == nil && !run.Live() {
		err = ErrFinished
	}
	return run, err
}

func (s Runs) finish(tx kv.Tx, run Run, f Finish) error {
	if !finalStatus(f.StopReason) {
		return invalid("%q is not a reason for which a run stops", f.StopReason)
	}
	if f.Epoch < run.Epoch {
		return fmt.Errorf("run %s: epoch %d is below %d: %w", run.ID, f.Epoch, run.Epoch, ErrEpoch)
	}
	run.Ends = map[int64]int64{run.Epoch: f.LiveSeq, f.Epoch: f.LastSeq}
	run.Epoch = f.Epoch
	run.StopReason, run.EndedAt = f.StopReason, s.clock()
	if err := finishMessages(tx, run, f); err != nil {
		return err
	}
	if session, err := table.Get[Session](tx, table.Sessions, run.Session); err == nil {
		old := session
		session.UpdatedAt = run.EndedAt
		if err := putSession(tx, old, session); err != nil {
			return err
		}
	}
	return errors.Join(table.Live.Delete(tx, run.Session), table.Runs.Put(tx, run.ID, run))
}

// finishMessages writes how the answers ended; all else of them stays as it is.
func finishMessages(tx kv.Tx, run Run, f Finish) error {
	final := map[string]AnswerState{}
	for _, a := range f.Answers {
		if !slices.Contains(run.Responses, a.ID) {
			return invalid("message %s is not an answer of run %s", a.ID, run.ID)
		}
		if !finalStatus(a.Status) {
			return invalid("message %s: %q is not a final status", a.ID, a.Status)
		}
		final[a.ID] = a
	}
	for _, id := range run.Responses {
		m, err := table.Get[Message](tx, table.Messages, id)
		if err != nil {
			continue // Check names it
		}
		m.Status, m.EndedAt = leftOver(f.StopReason), run.EndedAt
		if a, ok := final[id]; ok {
			m.Status, m.ErrorCode, m.ErrorMessage, m.Held, m.Labels = a.Status, a.ErrorCode, a.ErrorMessage, a.Held,
				a.Labels
		}
		if err := table.Messages.Put(tx, id, m); err != nil {
			return err
		}
	}
	return nil
}

// leftOver is the status of an answer of which a finished run says nothing.
func leftOver(stopReason string) string {
	if stopReason == StatusCompleted {
		return StatusInterrupted
	}
	return stopReason
}

func finalStatus(s string) bool {
	switch s {
	case StatusCompleted, StatusUserCancelled, StatusError, StatusInterrupted, StatusAwaitingUser:
		return true
	}
	return false
}
