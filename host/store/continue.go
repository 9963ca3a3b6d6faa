package store

import (
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// beginContinued takes an answer up again: the run writes on in the message that is
// there. The calls that were held back are handed out and held no longer, so that
// none can run twice.
func (s Runs) beginContinued(
	tx kv.Tx, p identity.Principal, in BeginRun, now time.Time, out *Begun,
) (old Session, err error) {
	m, err := ownMessage(tx, p, in.Continue)
	if err != nil {
		return Session{}, err
	}
	if old, err = ownSession(tx, p, identity.AskSession, m.Session); err != nil {
		return Session{}, err
	}
	if run := liveRun(tx, m.Session); run != "" {
		return Session{}, &BusyError{Run: run}
	}
	if m.Role != RoleAssistant {
		return Session{}, invalid("message %s is no answer that could go on", m.ID)
	}
	if newestEnd(tx, m.Session, m.ID) != m.ID {
		if in.OnlyHeld {
			return Session{}, ErrNothingHeld
		}
		return Session{}, invalid("the conversation went on behind message %s", m.ID)
	}
	out.Held = m.Held
	if in.OnlyHeld && len(out.Held) == 0 {
		return Session{}, ErrNothingHeld
	}
	if out.UserMessage, err = sessionMessage(tx, m.Session, m.Parent); err != nil {
		return Session{}, err
	}
	m.Held = nil
	m.Status, m.EndedAt = StatusRunning, time.Time{}
	out.Session = old
	out.Session.Leaf, out.Session.UpdatedAt = m.ID, now
	out.Run = Run{ID: s.newID("r"), Session: m.Session, Owner: p.UserID(), Epoch: 1, UserMessage: m.Parent,
		Responses: []string{m.ID}, Continues: true, StartedAt: now}
	m.LaterRuns = append(slices.Clone(m.LaterRuns), out.Run.ID)
	out.Responses = []Message{m}
	return old, nil
}
