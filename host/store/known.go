package store

import (
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// known lets a principal make a record of its own, by action. It returns ErrNotFound
// unless the principal's user exists, so that nothing is written for somebody who was
// removed.
func known(tx kv.Tx, p identity.Principal, a identity.Action, k identity.Kind) error {
	if err := may(p, a, identity.Resource{Kind: k, Owner: p.UserID()}); err != nil {
		return err
	}
	if !table.Users.Has(tx, p.UserID()) {
		return notFound("user", p.UserID())
	}
	return nil
}
