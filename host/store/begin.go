package store

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/request"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// RequestLifetime is how long a request id is remembered.
const RequestLifetime = request.Lifetime

// maxRequestID is the greatest length of a request id, in bytes.
const maxRequestID = 256

// BeginRun is what a run begins with.
type BeginRun struct {
	// RequestID makes the call idempotent for RequestLifetime; "" for a call that
	// is never repeated. It is unique per user and has at most 256 bytes.
	RequestID string
	// BodyHash is a hash of everything that the request says.
	BodyHash string
	// SessionID is the session, "" to create one (or, with Regenerate, for that
	// message's).
	SessionID string
	// NewTitle and Private are for a new session.
	NewTitle string
	Private  bool
	// Parent is the assistant message that the new user message follows, "" for
	// the session's leaf. Root, without a Parent, starts the tree anew with
	// another first message.
	Parent string
	Root   bool
	// Text is the new user message, and Files are the ids of the files that it
	// carries, at most MaxMessageFiles.
	Text  string
	Files []string
	// Regenerate is a message to answer again: a user message, or an answer to
	// one. Parent, Root, Text and Files are not looked at then.
	Regenerate string
	// Continue is an answer to go on with, in the same message. It must be the end of
	// its branch. Parent, Root, Text, Files and Regenerate are not looked at then, and
	// Models is the one that wrote it.
	Continue string
	// OnlyHeld continues only an answer that has calls which were held back.
	OnlyHeld bool
	// Models are the names of those that answer, at least one.
	Models []string
	// Agent is the id of the agent that answers, "" for none. An answer that goes on
	// keeps its own.
	Agent string
	// Allowed are the tools to which the request limits the answer, nil for no limit;
	// it has at most MaxAgentTools. An answer that goes on keeps its own.
	Allowed []string
	// Also runs in the same transaction, after everything else: what begins with the
	// run and must not be parted from it. It may run more than once; nil for nothing.
	Also func(tx kv.Tx, begun Begun) error
}

// Begun is a run that has begun.
type Begun struct {
	Run            Run
	Session        Session
	SessionCreated bool
	UserMessage    Message
	// Responses are the reserved assistant messages, in the order of Models.
	Responses []Message
	// Held are the calls that were held back in the answer that goes on; only with
	// Continue.
	Held []Call
	// Path are the ids of the messages that the run follows, the first one first: up to
	// its question or, with Continue, up to the answer. Labels are their taint.
	Path   []string
	Labels []string
	// Replayed tells that the request came before; the rest is how that run
	// stands now.
	Replayed bool
}

// Begin writes everything that a run begins with in one transaction: the
// session if it is new, the user message, the reserved answers, the run, the
// new leaf. It returns
//
//   - ErrNotFound when the user, the session, a message or a file does not
//     exist, is somebody else's or, for a message, is of another session, and
//     when a request is repeated whose run was deleted,
//   - ErrConflict when the request id was used with another hash,
//   - a *BusyError when the session has a live run,
//   - ErrNothingHeld when OnlyHeld is set and no call is held,
//   - ErrInvalid when no model is named, the request id is too long, the parent
//     is not an answer, there are too many files or one of them twice, or what
//     is to go on is no answer or has messages behind it.
func (s Runs) Begin(ctx context.Context, p identity.Principal, in BeginRun) (Begun, error) {
	if len(in.Models) == 0 {
		return Begun{}, invalid("a run needs a model")
	}
	if len(in.RequestID) > maxRequestID {
		return Begun{}, invalid("a request id has at most %d bytes", maxRequestID)
	}
	var out Begun
	err := s.update(ctx, func(tx kv.Tx) (err error) {
		if err := known(tx, p, identity.AskSession, identity.SessionKind); err != nil {
			return err
		}
		if err := request.Prune(tx, s.clock()); err != nil {
			return err
		}
		if out, err = s.replay(tx, p, in); err != nil || out.Replayed {
			return err
		}
		if out, err = s.begin(tx, p, in); err != nil {
			return err
		}
		if err := remember(tx, p, in, out, s.clock()); err != nil || in.Also == nil {
			return err
		}
		return in.Also(tx, out)
	})
	if err != nil {
		return Begun{}, err
	}
	return out, nil
}

// Repeated returns what an earlier request with the same id and hash has begun, false where
// there was none. Only RequestID and BodyHash of in are looked at. It returns ErrNotFound
// where that run was deleted, and ErrConflict when the id was used with another hash.
func (s Runs) Repeated(ctx context.Context, p identity.Principal, in BeginRun) (out Begun, found bool, err error) {
	err = s.view(ctx, func(tx kv.Tx) error {
		out, err = s.replay(tx, p, in)
		return err
	})
	return out, out.Replayed, err
}

// replay returns what an earlier request with the same id has begun.
func (s Runs) replay(tx kv.Tx, p identity.Principal, in BeginRun) (out Begun, err error) {
	asked := identity.Resource{Kind: identity.SessionKind, Owner: p.UserID()}
	if err := may(p, identity.AskSession, asked); err != nil || in.RequestID == "" {
		return Begun{}, err
	}
	r, found, err := request.Get(tx, p.UserID(), in.RequestID, s.clock())
	if err != nil || !found {
		return Begun{}, err
	}
	if r.Hash != in.BodyHash {
		return Begun{}, ErrConflict
	}
	out = Begun{Replayed: true, SessionCreated: r.SessionCreated}
	if out.Run, err = ownRun(tx, p, r.Run); err != nil {
		return Begun{}, err
	}
	if out.Session, err = ownSession(tx, p, identity.ReadSession, out.Run.Session); err != nil {
		return Begun{}, err
	}
	if out.UserMessage, err = ownMessage(tx, p, out.Run.UserMessage); err != nil {
		return Begun{}, err
	}
	for _, id := range out.Run.Responses {
		m, err := ownMessage(tx, p, id)
		if err != nil {
			return Begun{}, err
		}
		out.Responses = append(out.Responses, m)
	}
	return out, nil
}

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
		Role: RoleUser, Agent: in.Agent, Allowed: in.Allowed, Text: in.Text,
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

// remember writes the request id, if there is one.
func remember(tx kv.Tx, p identity.Principal, in BeginRun, out Begun, now time.Time) error {
	if in.RequestID == "" {
		return nil
	}
	r := request.Record{Hash: in.BodyHash, Run: out.Run.ID, SessionCreated: out.SessionCreated, At: now}
	return request.Put(tx, p.UserID(), in.RequestID, r)
}
