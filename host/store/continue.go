package store

import (
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"go.etcd.io/bbolt"
)

// beginContinued takes an answer up again: the run writes on in the message that is
// there. The calls that were held back are handed out and held no longer, so that
// none can run twice.
func (s *Store) beginContinued(tx *bbolt.Tx, p identity.Principal, in BeginRun, now time.Time, out *Begun) (old Session, err error) {
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
	out.Held = m.Held()
	if in.OnlyHeld && len(out.Held) == 0 {
		return Session{}, ErrNothingHeld
	}
	if out.UserMessage, err = sessionMessage(tx, m.Session, m.Parent); err != nil {
		return Session{}, err
	}
	out.Before = m
	m.Steps = released(m.Steps)
	m.Status, m.EndedAt = StatusRunning, time.Time{}
	out.Session = old
	out.Session.Leaf, out.Session.UpdatedAt = m.ID, now
	out.Run = Run{ID: s.newID("r"), Session: m.Session, Owner: p.UserID(), Epoch: 1, UserMessage: m.Parent,
		Responses: []string{m.ID}, Continues: true, StartedAt: now}
	m.LaterRuns = append(slices.Clone(m.LaterRuns), out.Run.ID)
	out.Responses = []Message{m}
	return old, nil
}

// Held returns the calls of a message that were held back, in order.
func (m Message) Held() []Call {
	var calls []Call
	for _, s := range m.Steps {
		for i, r := range s.Results {
			if r.Held && i < len(s.Calls) {
				calls = append(calls, s.Calls[i])
			}
		}
	}
	return calls
}

// released returns steps in which no call is held.
func released(steps []Step) []Step {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Results = slices.Clone(steps[i].Results)
		for j := range steps[i].Results {
			steps[i].Results[j].Held = false
		}
	}
	return steps
}

// continued is an answer with what its later run added.
func continued(before, added Message) Message {
	added.Text = before.Text + added.Text
	added.Steps = slices.Concat(before.Steps, added.Steps)
	all := slices.Clone(before.Citations)
	for _, c := range added.Citations { // those from before are told once more
		if !slices.ContainsFunc(before.Citations, func(b Citation) bool { return b.Number == c.Number }) {
			all = append(all, c)
		}
	}
	added.Citations = all
	return added
}
