// Package space gives a room a key space of its own in the transactions of kv.
//
// Keys and values come in and go out; what they mean is the room's alone. It must not
// know who the room is.
package space

import (
	"bytes"
	"context"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Tx is what a room may do inside one transaction of its own key space. It is
// an alias, so that a room can declare the same type without importing this
// one. Keys are not empty and have at most 32768 bytes. Values that come out
// are the caller's; values that go in must not be changed until the transaction
// has ended.
type Tx = interface {
	// Get returns a value and whether there is one.
	Get(key string) ([]byte, bool)
	Put(key string, value []byte) error
	// Delete deletes a key; one that is not there is no error.
	Delete(key string) error
	// Scan visits the keys that begin with prefix, in byte order, until visit
	// returns false. visit may write to keys that it was given.
	Scan(prefix string, visit func(key string, value []byte) bool) error
}

// Space is the key space of one room. It is safe for concurrent use.
type Space struct {
	db kv.DB
	in kv.Table
}

// New returns the key space with that name in db.
func New(db kv.DB, name string) *Space {
	return &Space{db: db, in: kv.Nested(kv.Table(table.Spaces), name)}
}

// View runs fn in a read transaction. fn must not begin another on this store.
func (sp *Space) View(fn func(Tx) error) error {
	return sp.db.View(context.Background(), func(tx kv.Tx) error { return fn(spaceTx{tx, sp.in}) })
}

// Update runs fn in a write transaction, which is on disk when Update returns
// nil and never happened when fn returns an error. What several rooms write while
// the disk is busy goes there at once, so that fn may run more than once. It must not
// begin another transaction on this store.
func (sp *Space) Update(fn func(Tx) error) error {
	return sp.db.Commit(context.Background(), func(tx kv.Tx) error { return fn(spaceTx{tx, sp.in}) })
}

// spaceTx is one transaction of a space.
type spaceTx struct {
	tx kv.Tx
	in kv.Table
}

var _ Tx = spaceTx{}

func (t spaceTx) Get(key string) ([]byte, bool) {
	v, found := t.tx.Get(t.in, key)
	return bytes.Clone(v), found
}

func (t spaceTx) Put(key string, value []byte) error { return t.tx.Put(t.in, key, value) }

func (t spaceTx) Delete(key string) error { return t.tx.Delete(t.in, key) }

func (t spaceTx) Scan(prefix string, visit func(key string, value []byte) bool) error {
	return t.tx.Scan(t.in, prefix, func(key string, value []byte) bool { return visit(key, bytes.Clone(value)) })
}
