package store

import (
	"context"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Remove removes a user with all that is theirs: sign-in, sessions, runs,
// documents, memories and files. It is for operators. It returns ErrNotFound, ErrLastOperator, and a *BusyError
// while one of their runs is live. An index over documents has to be told by
// the caller.
func (s Users) Remove(ctx context.Context, p identity.Principal, id string) error {
	if err := may(p, identity.RemoveUser, userResource(id)); err != nil {
		return err
	}
	return s.update(ctx, func(tx kv.Tx) error {
		user, err := userByID(tx, id)
		if err != nil {
			return err
		}
		if user.Operator && countOperators(tx) < 2 {
			return ErrLastOperator
		}
		if err := deleteUserRecords(tx, user); err != nil {
			return err
		}
		if err := table.UserNames.Delete(tx, strings.ToLower(user.Name)); err != nil {
			return err
		}
		return table.Users.Delete(tx, user.ID)
	})
}

// deleteUserRecords deletes what the user owns.
func deleteUserRecords(tx kv.Tx, user User) error {
	for _, tail := range table.OwnerSessions.Tails(tx, user.ID+"/") {
		_, session, _ := strings.Cut(tail, "/")
		if err := deleteSession(tx, user.ID+"/"+tail, session); err != nil {
			return err
		}
	}
	for _, uri := range table.DocumentURIs.Tails(tx, user.ID+"/") {
		id := table.DocumentURIs.Text(tx, table.Join(user.ID, uri))
		if err := deleteDocument(tx, table.Join(user.ID, uri), id); err != nil {
			return err
		}
	}
	for _, id := range table.OwnerMemories.Tails(tx, user.ID+"/") {
		if err := deleteMemory(tx, user.ID, id); err != nil {
			return err
		}
	}
	if err := deleteFilesOf(tx, user.ID); err != nil {
		return err
	}
	if err := table.Requests.DeletePrefix(tx, user.ID+"/"); err != nil {
		return err
	}
	return deleteCredentials(tx, func(c credential) bool { return c.User == user.ID })
}

// countOperators counts the operators that can be read.
func countOperators(tx kv.Tx) int {
	n := 0
	table.Users.Scan(tx, "", func(key string, data []byte) bool {
		if user, err := table.Decode[User](table.Users, key, data); err == nil && user.Operator {
			n++
		}
		return true
	})
	return n
}
