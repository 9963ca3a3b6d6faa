package store

import (
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// begin checks and writes a new run.
func (s Runs) begin(tx kv.Tx, p identity.Principal, in BeginRun) (Begun, error) {
	var out Begun
	now := s.clock()
	if in.Continue != "" {
		old, err := s.beginContinued(tx, p, in, now, &out)
		if err != nil {
			return Begun{}, err
		}
		if err := out.follow(tx, out.Responses[0]); err != nil {
			return Begun{}, err
		}
		return out, writeBegun(tx, old, out)
	}
	old, err := s.beginMessage(tx, p, in, now, &out)
	if err != nil {
		return Begun{}, err
	}
	if run := liveRun(tx, out.Session.ID); run != "" {
		return Begun{}, &BusyError{Run: run}
	}
	out.Run = Run{ID: s.newID("r"), Session: out.Session.ID, Owner: p.UserID(), Epoch: 1,
		UserMessage: out.UserMessage.ID, StartedAt: now}
	for i, model := range in.Models {
		m := Message{ID: s.newID("m"), Session: out.Session.ID, Owner: p.UserID(), Parent: out.UserMessage.ID,
			Role: RoleAssistant, Agent: in.Agent, Allowed: in.Allowed, Model: model, ModelIndex: i, Run: out.Run.ID,
			Status: StatusRunning, CreatedAt: now}
		out.Responses = append(out.Responses, m)
		out.Run.Responses = append(out.Run.Responses, m.ID)
	}
	out.Session.Leaf, out.Session.UpdatedAt = out.Responses[0].ID, now
	if err := out.follow(tx, out.UserMessage); err != nil {
		return Begun{}, err
	}
	return out, writeBegun(tx, old, out)
}

// follow fills in the path that ends with last, and its taint: that of the newest
// answer in it, which has that of all before it.
func (b *Begun) follow(tx kv.Tx, last Message) error {
	above, err := branch(tx, b.Session.ID, last.Parent)
	if err != nil {
		return err
	}
	for _, m := range append(above, last) {
		b.Path = append(b.Path, m.ID)
		if m.Role == RoleAssistant {
			b.Labels = m.Labels
		}
	}
	return nil
}

// beginMessage fills in the session and the user message, from the store or
// new, and returns the session as it is stored.
func (s Runs) beginMessage(
	tx kv.Tx, p identity.Principal, in BeginRun, now time.Time, out *Begun,
) (old Session, err error) {
	if in.Regenerate != "" {
		return beginAgain(tx, p, in, out)
	}
	parent := in.Parent
	if in.SessionID == "" {
		if parent != "" {
			return Session{}, notFound("message", parent)
		}
		out.SessionCreated = true
		out.Session = Session{ID: s.newID("s"), Owner: p.UserID(), Title: in.NewTitle, Private: in.Private,
			CreatedAt: now, UpdatedAt: now}
	} else {
		if old, err = ownSession(tx, p, identity.AskSession, in.SessionID); err != nil {
			return Session{}, err
		}
		out.Session = old
		if parent == "" && !in.Root {
			parent = old.Leaf
		}
	}
	if parent != "" {
		m, err := sessionMessage(tx, out.Session.ID, parent)
		if err != nil {
			return Session{}, err
		}
		if m.Role != RoleAssistant {
			return Session{}, invalid("message %s is not an answer that a question can follow", parent)
		}
	}
	out.UserMessage = Message{ID: s.newID("m"), Session: out.Session.ID, Owner: p.UserID(), Parent: parent,
		Role: RoleUser, Zone: in.Zone, Agent: in.Agent, Allowed: in.Allowed, Text: in.Text,
		Status: StatusCompleted, CreatedAt: now, EndedAt: now}
	out.UserMessage.Files, err = carry(tx, p, out.Session.ID, in.Files)
	return old, err
}

// beginAgain finds the question that is to be answered again.
func beginAgain(tx kv.Tx, p identity.Principal, in BeginRun, out *Begun) (Session, error) {
	m, err := ownMessage(tx, p, in.Regenerate)
	if err != nil {
		return Session{}, err
	}
	if in.SessionID != "" && in.SessionID != m.Session {
		return Session{}, notFound("message", in.Regenerate)
	}
	if m.Role == RoleAssistant {
		if m, err = sessionMessage(tx, m.Session, m.Parent); err != nil {
			return Session{}, err
		}
	}
	out.UserMessage = m
	out.Session, err = ownSession(tx, p, identity.AskSession, m.Session)
	return out.Session, err
}

func writeBegun(tx kv.Tx, old Session, b Begun) error {
	if err := putSession(tx, old, b.Session); err != nil {
		return err
	}
	for _, m := range append([]Message{b.UserMessage}, b.Responses...) {
		if err := putMessage(tx, m); err != nil {
			return err
		}
	}
	return errors.Join(
		table.Runs.Put(tx, b.Run.ID, b.Run),
		table.SessionRuns.PutRaw(tx, table.Join(b.Session.ID, b.Run.ID), []byte{}),
		table.Live.PutRaw(tx, b.Session.ID, []byte(b.Run.ID)))
}
