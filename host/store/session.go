package store

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Session is a conversation: a tree of messages.
type Session struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Title string `json:"title,omitempty"`
	// Leaf is the message with which the conversation goes on.
	Leaf    string `json:"leaf,omitempty"`
	Private bool   `json:"private,omitempty"`
	// Pinned sessions come before the others in the list.
	Pinned bool `json:"pinned,omitempty"`
	// UpdatedAt is when a message was last added or ended.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Get returns a session, or ErrNotFound.
func (s Sessions) Get(ctx context.Context, p identity.Principal, id string) (Session, error) {
	var session Session
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		session, err = ownSession(tx, p, identity.ReadSession, id)
		return err
	})
	return session, err
}

func ownSession(tx kv.Tx, p identity.Principal, a identity.Action, id string) (Session, error) {
	return own[Session](tx, table.Sessions, p, a, id)
}

// List returns the principal's sessions, the pinned ones first and of each kind the
// last updated first: at most limit of them (all if limit is 0) and only those after
// the session before, if that is not empty. Sessions that cannot be read are left out
// and named in the error.
func (s Sessions) List(ctx context.Context, p identity.Principal, limit int, before string) ([]Session, error) {
	var sessions []Session
	var bad []error
	err := s.view(ctx, func(tx kv.Tx) error {
		if err := may(p, identity.ListSessions, identity.SessionKind.All()); err != nil {
			return err
		}
		prefix := p.UserID() + "/"
		end := prefix + "~" // sorts after every digit, and after pinned
		if before != "" {
			session, err := ownSession(tx, p, identity.ReadSession, before)
			if err != nil {
				return err
			}
			end = sessionOrderKey(session)
		}
		return tx.ScanBack(kv.Table(table.OwnerSessions), prefix, end, func(key string, _ []byte) bool {
			if limit > 0 && len(sessions) == limit {
				return false
			}
			session, err := ownSession(tx, p, identity.ReadSession, table.LastPart(key))
			if err != nil {
				bad = append(bad, err)
			} else {
				sessions = append(sessions, session)
			}
			return true
		})
	})
	return sessions, errors.Join(append(bad, err)...)
}

// pinned stands before the time of a pinned session and sorts after every digit.
const pinned = "p"

// sessionOrderKey is the session's place in table.OwnerSessions.
func sessionOrderKey(s Session) string {
	at := table.TimeKey(s.UpdatedAt)
	if s.Pinned {
		at = pinned + at
	}
	return table.Join(s.Owner, at, s.ID)
}
