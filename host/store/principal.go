package store

import "go.etcd.io/bbolt"

// Principal is who asks.
type Principal struct {
	UserID string
	// Operator tells that the user manages the host. It opens the list of users,
	// not other people's conversations or documents.
	Operator bool
}

// owns tells whether a record of that owner is the principal's. The zero
// Principal owns nothing.
func (p Principal) owns(owner string) bool { return p.UserID != "" && p.UserID == owner }

// known returns ErrNotFound unless the principal's user exists, so that nothing
// is written for somebody who was removed.
func (p Principal) known(tx *bbolt.Tx) error {
	if p.UserID == "" || !tableUsers.has(tx, p.UserID) {
		return notFound("user", p.UserID)
	}
	return nil
}
