package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// BoltOptions are the seams of OpenBolt.
type BoltOptions struct {
	// LockTimeout is how long another process is waited for, at least 1 ns.
	LockTimeout time.Duration
	// Stop is a failpoint, nil for none.
	Stop Stop
}

// Bolt is the engine over one bbolt file.
type Bolt struct {
	db    *bbolt.DB
	stop  Stop
	group *group
}

var _ DB = (*Bolt)(nil)

// OpenBolt opens the file at path, with mode 0600 where it makes it. It returns
// ErrLocked when another process has it, an error that matches ErrDamaged when it
// is no data file, and else that of the file system.
func OpenBolt(path string, o BoltOptions) (*Bolt, error) {
	b := &Bolt{stop: o.Stop}
	err := guarded(func() (err error) {
		b.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: o.LockTimeout, FreelistType: bbolt.FreelistMapType})
		return err
	})
	switch {
	case err == nil:
		b.group = newGroup(b.write)
		return b, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	return nil, fmt.Errorf("open %s: %w: %w", path, ErrDamaged, err)
}

// View implements DB.
func (b *Bolt) View(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return guarded(func() error {
		return closedError(b.db.View(func(tx *bbolt.Tx) error { return fn(boltTx{tx}) }))
	})
}

// Update implements DB.
func (b *Bolt) Update(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.write(fn)
}

// Commit implements DB.
func (b *Bolt) Commit(ctx context.Context, fn func(Tx) error) error { return b.group.commit(ctx, fn) }

func (b *Bolt) write(fn func(Tx) error) error {
	err := guarded(func() error {
		return closedError(b.db.Update(func(tx *bbolt.Tx) error {
			if err := fn(boltTx{tx}); err != nil || b.stop == nil {
				return err
			}
			return b.stop(true)
		}))
	})
	if err == nil && b.stop != nil {
		_ = b.stop(false) // it happened already
	}
	return err
}

// Close implements DB. A second Close returns ErrClosed.
func (b *Bolt) Close() error {
	if !b.group.close() {
		return ErrClosed
	}
	return b.db.Close()
}

// Check reads every page of the file in a transaction that writes nothing, calls
// found for each that makes no sense, and then also with the same transaction.
func (b *Bolt) Check(found func(error), also func(Tx) error) error {
	errChecked := errors.New("checked")
	// bbolt's own check needs the writer's place: it reads the list of free pages.
	err := guarded(func() error {
		return closedError(b.db.Update(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				found(err)
			}
			if err := also(boltTx{tx}); err != nil {
				return err
			}
			return errChecked
		}))
	})
	if errors.Is(err, errChecked) {
		return nil
	}
	return err
}

// boltTx is a transaction of a file.
type boltTx struct{ tx *bbolt.Tx }

// bucket returns the bucket of a table, nil where there is none.
func (t boltTx) bucket(table Table) *bbolt.Bucket {
	outer, inner, nested := table.path()
	b := t.tx.Bucket([]byte(outer))
	if b == nil || !nested {
		return b
	}
	return b.Bucket([]byte(inner))
}

// made returns the bucket of a table to write to.
func (t boltTx) made(table Table) (*bbolt.Bucket, error) {
	if !t.tx.Writable() {
		return nil, ErrReadOnly
	}
	outer, inner, nested := table.path()
	b, err := t.tx.CreateBucketIfNotExists([]byte(outer))
	if err != nil || !nested {
		return b, err
	}
	return b.CreateBucketIfNotExists([]byte(inner))
}

// Get implements Tx.
func (t boltTx) Get(table Table, key string) ([]byte, bool) {
	b := t.bucket(table)
	if b == nil {
		return nil, false
	}
	v := b.Get([]byte(key))
	return v, v != nil
}

// Put implements Tx.
func (t boltTx) Put(table Table, key string, value []byte) error {
	if key == "" || len(key) > maxKey {
		return ErrKey
	}
	b, err := t.made(table)
	if err != nil {
		return err
	}
	if value == nil {
		value = []byte{} // nil would read as absent until the commit
	}
	return b.Put([]byte(key), value)
}

// Delete implements Tx.
func (t boltTx) Delete(table Table, key string) error {
	if !t.tx.Writable() {
		return ErrReadOnly
	}
	if b := t.bucket(table); b != nil {
		return b.Delete([]byte(key))
	}
	return nil
}

// Scan implements Tx. Nested tables are no keys.
func (t boltTx) Scan(table Table, prefix string, visit func(key string, value []byte) bool) error {
	b := t.bucket(table)
	if b == nil {
		return nil
	}
	c := b.Cursor()
	k, v := c.Seek([]byte(prefix))
	for k != nil && bytes.HasPrefix(k, []byte(prefix)) {
		key := string(k)
		if v != nil && !visit(key, v) {
			return nil
		}
		if k, v = c.Next(); b.Writable() {
			// What visit wrote may have moved the cursor.
			if k, v = c.Seek([]byte(key)); string(k) == key {
				k, v = c.Next()
			}
		}
	}
	return nil
}

// ScanBack implements Tx.
func (t boltTx) ScanBack(table Table, prefix, before string, visit func(key string, value []byte) bool) error {
	b := t.bucket(table)
	if b == nil {
		return nil
	}
	c := b.Cursor()
	for k, v := seekBelow(c, prefix, before); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Prev() {
		if v != nil && !visit(string(k), v) {
			return nil
		}
	}
	return nil
}

// seekBelow finds the last key below before, or with prefix where before is "".
func seekBelow(c *bbolt.Cursor, prefix, before string) (k, v []byte) {
	end := []byte(before)
	if before == "" {
		if end = after(prefix); end == nil {
			return c.Last()
		}
	}
	if k, _ = c.Seek(end); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// after is the first key behind all that begin with prefix, nil for none.
func after(prefix string) []byte {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// Last implements Tx.
func (t boltTx) Last(table Table, prefix string) (key string, value []byte, found bool) {
	_ = t.ScanBack(table, prefix, "", func(k string, v []byte) bool { // it never fails
		key, value, found = k, v, true
		return false
	})
	return key, value, found
}

// DeleteTable implements Tx.
func (t boltTx) DeleteTable(table Table) error {
	if !t.tx.Writable() {
		return ErrReadOnly
	}
	outer, inner, nested := table.path()
	switch b := t.tx.Bucket([]byte(outer)); {
	case b == nil:
		return nil
	case !nested:
		return t.tx.DeleteBucket([]byte(outer))
	case b.Bucket([]byte(inner)) != nil:
		return b.DeleteBucket([]byte(inner))
	}
	return nil
}

// Tables implements Tx.
func (t boltTx) Tables() (tables []Table) {
	_ = t.tx.ForEach(func(name []byte, _ *bbolt.Bucket) error { // visit never fails
		tables = append(tables, Table(name))
		return nil
	})
	return tables
}

// Inside implements Tx.
func (t boltTx) Inside(table Table) (tables []Table) {
	b := t.bucket(table)
	if b == nil {
		return nil
	}
	_ = b.ForEachBucket(func(name []byte) error { // visit never fails
		tables = append(tables, Nested(table, string(name)))
		return nil
	})
	return tables
}

// closedError turns bbolt's word for a closed file into ours.
func closedError(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// guarded runs fn and turns a panic, with which bbolt meets a page that makes
// no sense, and a fault, which a file cut short makes of its memory map, into an
// error. The transaction is rolled back on the way.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of this goroutine only
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return fn()
}
