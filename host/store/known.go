package store

import (
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// known returns ErrNotFound unless the principal's user exists, so that nothing
// is written for somebody who was removed.
func known(tx kv.Tx, p identity.Principal) error {
	if p.UserID() == "" || !tableUsers.has(tx, p.UserID()) {
		return notFound("user", p.UserID())
	}
	return nil
}
