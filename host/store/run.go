package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Run is the work on one user message.
type Run struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Owner   string `json:"owner"`
	// Epoch is the epoch of the log, at least 1.
	Epoch       int64  `json:"epoch"`
	UserMessage string `json:"user_message"`
	// Responses are the ids of the assistant messages, by model index.
	Responses []string `json:"responses"`
	// Continues tells that the run goes on with an answer that was there before.
	Continues bool `json:"continues,omitempty"`
	// StopReason is why the run ended, "" while it is live.
	StopReason string `json:"stop_reason,omitempty"`
	// Ends are the numbers of the last packets by epoch, of those in which the run
	// ended.
	Ends      map[int64]int64 `json:"ends,omitempty"`
	StartedAt time.Time       `json:"started_at"`
	// EndedAt is the zero time while the run is live.
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Live tells whether the run has not ended.
func (r Run) Live() bool { return r.StopReason == "" }

// Told tells whether who has read up to a packet of an epoch has seen the end.
func (r Run) Told(epoch, seq int64) bool {
	last, ended := r.Ends[epoch]
	return ended && seq >= last
}

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

// Get returns a run, or ErrNotFound.
func (s Runs) Get(ctx context.Context, p identity.Principal, id string) (Run, error) {
	var run Run
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		run, err = ownRun(tx, p, id)
		return err
	})
	return run, err
}

// Live returns the live run of a session, or ErrNotFound when it has none.
func (s Runs) Live(ctx context.Context, p identity.Principal, sessionID string) (Run, error) {
	return s.ofSession(ctx, p, sessionID, liveRun)
}

// Latest returns the newest run of a session, live or not, or ErrNotFound
// when it has none.
func (s Runs) Latest(ctx context.Context, p identity.Principal, sessionID string) (Run, error) {
	return s.ofSession(ctx, p, sessionID, func(tx kv.Tx, session string) string {
		runs := table.SessionRuns.Tails(tx, session+"/")
		if len(runs) == 0 {
			return ""
		}
		return runs[len(runs)-1]
	})
}

func (s Runs) ofSession(
	ctx context.Context, p identity.Principal, sessionID string, which func(kv.Tx, string) string,
) (Run, error) {
	var run Run
	err := s.view(ctx, func(tx kv.Tx) error {
		if _, err := ownSession(tx, p, identity.ReadSession, sessionID); err != nil {
			return err
		}
		id := which(tx, sessionID)
		if id == "" {
			return fmt.Errorf("run of session %q: %w", sessionID, ErrNotFound)
		}
		var err error
		run, err = ownRun(tx, p, id)
		return err
	})
	return run, err
}

func ownRun(tx kv.Tx, p identity.Principal, id string) (Run, error) {
	return own[Run](tx, table.Runs, p, identity.ReadRun, id)
}

// liveRun returns the id of the session's live run, "" if it has none. A run
// that cannot be read does not keep the session busy.
func liveRun(tx kv.Tx, sessionID string) string {
	id := table.Live.Text(tx, sessionID)
	if run, err := table.Get[Run](tx, table.Runs, id); err != nil || !run.Live() {
		return ""
	}
	return id
}

// Unfinished returns all runs that have not ended, of all users, oldest
// first. After a start these are the runs that a crash cut off, and only the host may
// see them. Runs that cannot be read are left out and named in the error.
func (s Runs) Unfinished(ctx context.Context, p identity.Principal) ([]Run, error) {
	if err := may(p, identity.RecoverRuns, identity.RunKind.All()); err != nil {
		return nil, err
	}
	var runs []Run
	var bad []error
	err := s.view(ctx, func(tx kv.Tx) error {
		table.Live.Scan(tx, "", func(_ string, id []byte) bool {
			run, err := table.Get[Run](tx, table.Runs, string(id))
			switch {
			case err != nil:
				bad = append(bad, fmt.Errorf("run %q: %w", id, err))
			case run.Live():
				runs = append(runs, run)
			}
			return true
		})
		return nil
	})
	slices.SortFunc(runs, func(a, b Run) int { return a.StartedAt.Compare(b.StartedAt) })
	return runs, errors.Join(append(bad, err)...)
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

// deleteRun deletes a run with its journal.
func deleteRun(tx kv.Tx, id string) error {
	if err := journal.Delete(tx, id); err != nil {
		return err
	}
	return table.Runs.Delete(tx, id)
}
