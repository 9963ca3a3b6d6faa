package store

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"
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
	store *Store
	name  string
}

// Space returns the key space with that name. It does not fail; a space that
// was never written to is empty.
func (s *Store) Space(name string) *Space { return &Space{store: s, name: name} }

// View runs fn in a read transaction. fn must not begin another on this store.
func (sp *Space) View(fn func(Tx) error) error {
	return sp.store.view(context.Background(), func(tx *bbolt.Tx) error {
		return fn(spaceTx{tableSpaces.in(tx).Bucket([]byte(sp.name))})
	})
}

// Update runs fn in a write transaction, which is on disk when Update returns
// nil and never happened when fn returns an error. fn must not begin another on
// this store, and while it runs nothing else can be written.
func (sp *Space) Update(fn func(Tx) error) error {
	return sp.store.update(context.Background(), func(tx *bbolt.Tx) error {
		b, err := tableSpaces.in(tx).CreateBucketIfNotExists([]byte(sp.name))
		if err != nil {
			return fmt.Errorf("open space %q: %w", sp.name, err)
		}
		return fn(spaceTx{b})
	})
}

// spaceTx is one transaction of a space; b is nil for one never written to.
type spaceTx struct{ b *bbolt.Bucket }

var _ Tx = spaceTx{}

// ErrReadOnly is returned when something is written in a View.
var ErrReadOnly = fmt.Errorf("a read transaction cannot write")

func (t spaceTx) Get(key string) ([]byte, bool) {
	if t.b == nil {
		return nil, false
	}
	v := t.b.Get([]byte(key))
	return bytes.Clone(v), v != nil
}

func (t spaceTx) Put(key string, value []byte) error {
	if t.b == nil || !t.b.Writable() {
		return ErrReadOnly
	}
	if value == nil {
		value = []byte{} // nil would read as absent until the commit
	}
	return t.b.Put([]byte(key), value)
}

func (t spaceTx) Delete(key string) error {
	if t.b == nil || !t.b.Writable() {
		return ErrReadOnly
	}
	return t.b.Delete([]byte(key))
}

func (t spaceTx) Scan(prefix string, visit func(key string, value []byte) bool) error {
	if t.b == nil {
		return nil
	}
	c := t.b.Cursor()
	k, v := c.Seek([]byte(prefix))
	for k != nil && bytes.HasPrefix(k, []byte(prefix)) {
		key := bytes.Clone(k)
		if !visit(string(key), bytes.Clone(v)) {
			return nil
		}
		if k, v = c.Next(); t.b.Writable() {
			// What visit wrote may have moved the cursor.
			if k, v = c.Seek(key); bytes.Equal(k, key) {
				k, v = c.Next()
			}
		}
	}
	return nil
}
