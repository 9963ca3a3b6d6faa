package store

import (
	"errors"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// owned is a record that is somebody's.
type owned interface {
	// resource is the record as identity knows it.
	resource() identity.Resource
}

func (s Session) resource() identity.Resource {
	return identity.Resource{Kind: identity.SessionKind, ID: s.ID, Owner: s.Owner}
}

func (m Message) resource() identity.Resource {
	return identity.Resource{Kind: identity.MessageKind, ID: m.ID, Owner: m.Owner}
}

func (r Run) resource() identity.Resource {
	return identity.Resource{Kind: identity.RunKind, ID: r.ID, Owner: r.Owner}
}

func (r DocumentRecord) resource() identity.Resource {
	return identity.Resource{Kind: identity.DocumentKind, ID: r.ID, Owner: r.Owner}
}

func (m Memory) resource() identity.Resource {
	return identity.Resource{Kind: identity.MemoryKind, ID: m.ID, Owner: m.Owner}
}

func (f File) resource() identity.Resource {
	return identity.Resource{Kind: identity.FileKind, ID: f.ID, Owner: f.Owner}
}

func (u User) resource() identity.Resource { return userResource(u.ID) }

// userResource is a user, whom everything about them belongs to.
func userResource(id string) identity.Resource {
	return identity.Resource{Kind: identity.UserKind, ID: id, Owner: id}
}

// agentResource is an agent, which belongs to nobody.
func agentResource(id string) identity.Resource {
	return identity.Resource{Kind: identity.AgentKind, ID: id}
}

// may is identity.Authorize, but for what is somebody else's, which is ErrNotFound here.
func may(p identity.Principal, a identity.Action, r identity.Resource) error {
	err := identity.Authorize(p, a, r)
	if errors.Is(err, identity.ErrNotYours) {
		return notFound(string(r.Kind), r.ID)
	}
	return err
}

// own reads a record to do an action to it. A refusal is the same whether the record is
// there or not: a refused one that is somebody else's, and one that is not there, are
// both ErrNotFound.
func own[T owned](tx kv.Tx, t table.Name, p identity.Principal, a identity.Action, id string) (T, error) {
	var none T
	record, err := table.Get[T](tx, t, id)
	var bad *RecordError
	if errors.As(err, &bad) { // whose it is cannot be read; lists of one's own name it
		if refused := may(p, a, none.resource()); refused != nil && !errors.Is(refused, ErrNotFound) {
			return none, refused
		}
		return none, err
	}
	r := record.resource()
	r.ID = id
	if refused := may(p, a, r); refused != nil {
		return none, refused
	}
	if err == ErrNotFound {
		return none, notFound(string(r.Kind), id)
	}
	return record, err
}

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
