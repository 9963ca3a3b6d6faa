package store

import (
	"go.etcd.io/bbolt"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

// known returns ErrNotFound unless the principal's user exists, so that nothing
// is written for somebody who was removed.
func known(tx *bbolt.Tx, p identity.Principal) error {
	if p.UserID() == "" || !tableUsers.has(tx, p.UserID()) {
		return notFound("user", p.UserID())
	}
	return nil
}
