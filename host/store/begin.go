package store

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/request"
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
	// Zone is the time zone of the person who asks, an IANA name, "" for none.
	Zone string
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
