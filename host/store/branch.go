package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// List returns all messages of a session's tree, oldest first. Messages
// that cannot be read are left out and named in the error.
func (s Messages) List(ctx context.Context, p identity.Principal, sessionID string) ([]Message, error) {
	var messages []Message
	var bad []error
	err := s.view(ctx, func(tx kv.Tx) error {
		if _, err := ownSession(tx, p, identity.ReadSession, sessionID); err != nil {
			return err
		}
		for _, id := range table.SessionMsgs.Tails(tx, sessionID+"/") {
			message, err := sessionMessage(tx, sessionID, id)
			if err != nil {
				bad = append(bad, err)
				continue
			}
			messages = append(messages, message)
		}
		return nil
	})
	return messages, errors.Join(append(bad, err)...)
}

// Branch returns the path of messages from the root to the leaf; an empty leaf
// means the session's own. It is empty for a session without messages.
func (s Messages) Branch(
	ctx context.Context, p identity.Principal, sessionID, leafMessageID string,
) ([]Message, error) {
	var path []Message
	err := s.view(ctx, func(tx kv.Tx) error {
		session, err := ownSession(tx, p, identity.ReadSession, sessionID)
		if err != nil {
			return err
		}
		if leafMessageID == "" {
			leafMessageID = session.Leaf
		}
		path, err = branch(tx, sessionID, leafMessageID)
		return err
	})
	return path, err
}

func branch(tx kv.Tx, sessionID, leaf string) ([]Message, error) {
	var path []Message
	seen := map[string]bool{}
	for id := leaf; id != ""; {
		if seen[id] {
			circle := fmt.Errorf("it is its own ancestor: %w", ErrDamaged)
			return nil, &RecordError{Table: string(table.Messages), Key: id, Err: circle}
		}
		seen[id] = true
		message, err := sessionMessage(tx, sessionID, id)
		if err != nil {
			return nil, err
		}
		path = append(path, message)
		id = message.Parent
	}
	slices.Reverse(path)
	return path, nil
}
