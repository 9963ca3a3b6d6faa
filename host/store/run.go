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

// deleteRun deletes a run with its journal.
func deleteRun(tx kv.Tx, id string) error {
	if err := journal.Delete(tx, id); err != nil {
		return err
	}
	return table.Runs.Delete(tx, id)
}
