package store

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// putSession writes a session and moves it in the order; old is the session as
// it was, the zero Session for a new one.
func putSession(tx kv.Tx, old, session Session) error {
	if old.ID != "" && sessionOrderKey(old) != sessionOrderKey(session) {
		if err := table.OwnerSessions.Delete(tx, sessionOrderKey(old)); err != nil {
			return err
		}
	}
	if err := table.OwnerSessions.PutRaw(tx, sessionOrderKey(session), []byte{}); err != nil {
		return err
	}
	return table.Sessions.Put(tx, session.ID, session)
}

// Rename sets the title. The session keeps its place in the list.
func (s Sessions) Rename(ctx context.Context, p identity.Principal, id, title string) (Session, error) {
	var session Session
	err := s.update(ctx, func(tx kv.Tx) (err error) {
		if session, err = ownSession(tx, p, identity.ChangeSession, id); err != nil {
			return err
		}
		session.Title = title
		return table.Sessions.Put(tx, id, session)
	})
	return session, err
}

// Pin puts a session before the others in the list, or back among them. It
// returns ErrNotFound.
func (s Sessions) Pin(ctx context.Context, p identity.Principal, id string, pin bool) (Session, error) {
	var session Session
	err := s.update(ctx, func(tx kv.Tx) (err error) {
		if session, err = ownSession(tx, p, identity.ChangeSession, id); err != nil {
			return err
		}
		old := session
		session.Pinned = pin
		return putSession(tx, old, session)
	})
	return session, err
}

// Delete deletes a session with its messages, its runs and their journals, and
// the files that no other session carries. It returns ErrNotFound, and a *BusyError
// while a run of it is live: stop the run first.
func (s Sessions) Delete(ctx context.Context, p identity.Principal, id string) error {
	return s.update(ctx, func(tx kv.Tx) error {
		session, err := ownSession(tx, p, identity.DeleteSession, id)
		if err != nil {
			return err
		}
		return deleteSession(tx, sessionOrderKey(session), id)
	})
}

func deleteSession(tx kv.Tx, orderKey, id string) error {
	if run := liveRun(tx, id); run != "" {
		return &BusyError{Run: run}
	}
	for _, run := range table.SessionRuns.Tails(tx, id+"/") {
		if err := deleteRun(tx, run); err != nil {
			return err
		}
	}
	if err := dropSessionFiles(tx, id); err != nil {
		return err
	}
	for _, message := range table.SessionMsgs.Tails(tx, id+"/") {
		if err := table.Messages.Delete(tx, message); err != nil {
			return err
		}
	}
	for _, index := range []table.Name{table.SessionRuns, table.SessionMsgs} {
		if err := index.DeletePrefix(tx, id+"/"); err != nil {
			return err
		}
	}
	return errors.Join(
		table.Live.Delete(tx, id),
		table.OwnerSessions.Delete(tx, orderKey),
		table.Sessions.Delete(tx, id))
}

// SelectLeaf lets the conversation go on with the branch that holds the
// message: the leaf becomes the message itself or, where others follow it, the
// end of its newest continuation.
func (s Sessions) SelectLeaf(ctx context.Context, p identity.Principal, sessionID, messageID string) (Session, error) {
	var session Session
	err := s.update(ctx, func(tx kv.Tx) (err error) {
		if session, err = ownSession(tx, p, identity.ChangeSession, sessionID); err != nil {
			return err
		}
		if _, err = sessionMessage(tx, sessionID, messageID); err != nil {
			return err
		}
		session.Leaf = newestEnd(tx, sessionID, messageID)
		return table.Sessions.Put(tx, sessionID, session)
	})
	return session, err
}

// newestEnd follows the newest child, from message to message, to the end.
// Children sort after their parents, so one pass does. Messages that cannot be
// read are not followed.
func newestEnd(tx kv.Tx, sessionID, messageID string) string {
	newest := map[string]string{}
	for _, id := range table.SessionMsgs.Tails(tx, sessionID+"/") {
		if m, err := table.Get[Message](tx, table.Messages, id); err == nil && m.Parent < id {
			newest[m.Parent] = id
		}
	}
	for newest[messageID] != "" {
		messageID = newest[messageID]
	}
	return messageID
}
