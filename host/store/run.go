package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"go.etcd.io/bbolt"
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
	// LastSeq is the number of the last packet on disk.
	LastSeq   int64     `json:"last_seq,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// EndedAt is the zero time while the run is live.
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Live tells whether the run has not ended.
func (r Run) Live() bool { return r.StopReason == "" }

// Finish is how a run ends.
type Finish struct {
	// StopReason is of the final Status constants.
	StopReason string
	// Messages are the answers in their final form. Id and Status count, and what
	// was produced; whose they are and where they stand is kept as it was. A
	// reserved answer that is not among them ends with the run's StopReason, or
	// as interrupted if that is completed.
	Messages []Message
	// ToolCalls are the run's calls, in the order in which they were made.
	ToolCalls []ToolCall
	// Packets are the last of the log, if they were not appended before.
	Packets []PacketEntry
	// LastSeq is the number of the log's last packet, to make sure that none is
	// missing; 0 for whatever is there.
	LastSeq int64
}

// Run returns a run, or ErrNotFound.
func (s *Store) Run(ctx context.Context, p identity.Principal, id string) (Run, error) {
	var run Run
	err := s.view(ctx, func(tx *bbolt.Tx) (err error) {
		run, err = ownRun(tx, p, id)
		return err
	})
	return run, err
}

// LiveRun returns the live run of a session, or ErrNotFound when it has none.
func (s *Store) LiveRun(ctx context.Context, p identity.Principal, sessionID string) (Run, error) {
	return s.sessionRun(ctx, p, sessionID, liveRun)
}

// LatestRun returns the newest run of a session, live or not, or ErrNotFound
// when it has none.
func (s *Store) LatestRun(ctx context.Context, p identity.Principal, sessionID string) (Run, error) {
	return s.sessionRun(ctx, p, sessionID, func(tx *bbolt.Tx, session string) string {
		runs := tableSessionRuns.tails(tx, session+"/")
		if len(runs) == 0 {
			return ""
		}
		return runs[len(runs)-1]
	})
}

func (s *Store) sessionRun(ctx context.Context, p identity.Principal, sessionID string, which func(*bbolt.Tx, string) string) (Run, error) {
	var run Run
	err := s.view(ctx, func(tx *bbolt.Tx) error {
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

func ownRun(tx *bbolt.Tx, p identity.Principal, id string) (Run, error) {
	run, err := own[Run](tx, tableRuns, p, identity.ReadRun, id)
	if err == nil && run.Live() {
		run.LastSeq = lastPacket(tx, id)
	}
	return run, err
}

// liveRun returns the id of the session's live run, "" if it has none. A run
// that cannot be read does not keep the session busy.
func liveRun(tx *bbolt.Tx, sessionID string) string {
	id := tableLive.text(tx, sessionID)
	if run, err := get[Run](tx, tableRuns, id); err != nil || !run.Live() {
		return ""
	}
	return id
}

// UnfinishedRuns returns all runs that have not ended, of all users, oldest
// first. After a start these are the runs that a crash cut off, and only the host may
// see them. Runs that cannot be read are left out and named in the error.
func (s *Store) UnfinishedRuns(ctx context.Context, p identity.Principal) ([]Run, error) {
	if err := may(p, identity.RecoverRuns, identity.RunKind.All()); err != nil {
		return nil, err
	}
	var runs []Run
	var bad []error
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		tableLive.scan(tx, "", func(_ string, id []byte) bool {
			run, err := get[Run](tx, tableRuns, string(id))
			switch {
			case err != nil:
				bad = append(bad, fmt.Errorf("run %q: %w", id, err))
			case run.Live():
				run.LastSeq = lastPacket(tx, run.ID)
				runs = append(runs, run)
			}
			return true
		})
		return nil
	})
	slices.SortFunc(runs, func(a, b Run) int { return a.StartedAt.Compare(b.StartedAt) })
	return runs, errors.Join(append(bad, err)...)
}

// FinishRun ends a run, once: who comes first has ended it, and who comes later
// gets ErrFinished and changes nothing. It returns ErrNotFound when the run is
// not there (any more), a *GapError when the log is not complete up to LastSeq,
// and ErrInvalid when StopReason is none, or a message is not one of the run's.
func (s *Store) FinishRun(ctx context.Context, runID string, f Finish) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		run, err := unfinishedRun(tx, runID)
		if err != nil {
			return err
		}
		return s.finish(tx, run, f)
	})
}

// ReplaceRun ends a run that a crash cut off: in one transaction it replaces
// the run's log by entries, which are numbered from 1, in a new epoch, and
// finishes the run. It returns ErrEpoch when newEpoch is not above the run's
// epoch, and else what FinishRun returns.
func (s *Store) ReplaceRun(ctx context.Context, runID string, newEpoch int64, entries []PacketEntry, f Finish) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		run, err := unfinishedRun(tx, runID)
		if err != nil {
			return err
		}
		if newEpoch <= run.Epoch {
			return fmt.Errorf("run %s: epoch %d is not above %d: %w", runID, newEpoch, run.Epoch, ErrEpoch)
		}
		if err := deletePackets(tx, runID); err != nil {
			return err
		}
		if err := writePackets(tx, runID, entries); err != nil {
			return err
		}
		run.Epoch = newEpoch
		return s.finish(tx, run, f)
	})
}

func unfinishedRun(tx *bbolt.Tx, id string) (Run, error) {
	run, err := get[Run](tx, tableRuns, id)
	if err == ErrNotFound {
		return Run{}, notFound("run", id)
	}
	if err == nil && !run.Live() {
		err = ErrFinished
	}
	return run, err
}

func (s *Store) finish(tx *bbolt.Tx, run Run, f Finish) error {
	if !finalStatus(f.StopReason) {
		return invalid("%q is not a reason for which a run stops", f.StopReason)
	}
	if err := writePackets(tx, run.ID, f.Packets); err != nil {
		return err
	}
	run.LastSeq = lastPacket(tx, run.ID)
	if f.LastSeq != 0 && f.LastSeq != run.LastSeq {
		return &GapError{Run: run.ID, Want: run.LastSeq + 1, Got: f.LastSeq + 1}
	}
	run.StopReason, run.EndedAt = f.StopReason, s.clock()
	if err := finishMessages(tx, run, f); err != nil {
		return err
	}
	if err := putToolCalls(tx, run, f.ToolCalls); err != nil {
		return err
	}
	session, err := get[Session](tx, tableSessions, run.Session)
	if err != nil {
		return err
	}
	old := session
	session.UpdatedAt = run.EndedAt
	return errors.Join(
		putSession(tx, old, session),
		tableLive.delete(tx, run.Session),
		tableRuns.put(tx, run.ID, run))
}

// finishMessages writes the answers in their final form.
func finishMessages(tx *bbolt.Tx, run Run, f Finish) error {
	final := map[string]Message{}
	for _, m := range f.Messages {
		if !slices.Contains(run.Responses, m.ID) {
			return invalid("message %s is not an answer of run %s", m.ID, run.ID)
		}
		if !finalStatus(m.Status) {
			return invalid("message %s: %q is not a final status", m.ID, m.Status)
		}
		final[m.ID] = m
	}
	for _, id := range run.Responses {
		reserved, err := get[Message](tx, tableMessages, id)
		if err != nil {
			return fmt.Errorf("message %q: %w", id, err)
		}
		m, ok := final[id]
		if !ok {
			m = reserved
			m.Status = leftOver(f.StopReason)
		}
		if run.Continues && ok {
			m = continued(reserved, m)
		}
		if err := tableMessages.put(tx, id, finalMessage(reserved, m, run.EndedAt)); err != nil {
			return err
		}
	}
	return nil
}

// finalMessage takes what was produced from m and the rest from reserved.
func finalMessage(reserved, m Message, ended time.Time) Message {
	m.Session, m.Owner, m.Parent, m.Role = reserved.Session, reserved.Owner, reserved.Parent, reserved.Role
	m.Model, m.ModelIndex, m.Run, m.CreatedAt = reserved.Model, reserved.ModelIndex, reserved.Run, reserved.CreatedAt
	m.Agent = reserved.Agent
	m.LaterRuns = reserved.LaterRuns
	if m.EndedAt.IsZero() {
		m.EndedAt = ended
	}
	return m
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

// deleteRun deletes a run with its log and its tool calls.
func deleteRun(tx *bbolt.Tx, id string) error {
	if err := deletePackets(tx, id); err != nil {
		return err
	}
	if err := tableToolCalls.deletePrefix(tx, id+"/"); err != nil {
		return err
	}
	return tableRuns.delete(tx, id)
}
