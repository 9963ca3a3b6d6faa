package store

import (
	"go.etcd.io/bbolt"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

// known lets a principal make a record of its own, by action. It returns ErrNotFound
// unless the principal's user exists, so that nothing is written for somebody who was
// removed.
func known(tx *bbolt.Tx, p identity.Principal, a identity.Action, k identity.Kind) error {
	if err := may(p, a, identity.Resource{Kind: k, Owner: p.UserID()}); err != nil {
		return err
	}
	if !tableUsers.has(tx, p.UserID()) {
		return notFound("user", p.UserID())
	}
	return nil
}
