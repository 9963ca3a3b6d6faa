package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// BoltOptions are the seams of OpenBolt.
type BoltOptions struct {
	// LockTimeout is how long another process is waited for, at least 1 ns.
	LockTimeout time.Duration
	// Holder is what another process is told that has to wait; the program's name if
	// empty.
	Holder string
	// Stop is a failpoint, nil for none.
	Stop Stop
}

// Bolt is the engine over one bbolt file.
type Bolt struct {
	path string
	// closing takes the holder's name away, while the lock is still held.
	closing sync.Once

	db    *bbolt.DB
	stop  Stop
	group *group
}

var _ DB = (*Bolt)(nil)

// OpenBolt opens the file at path, with mode 0600 where it makes it. It returns a
// *LockedError when another process has it, an error that matches ErrDamaged when it
// is no data file, and else that of the file system.
func OpenBolt(path string, o BoltOptions) (*Bolt, error) {
	b := &Bolt{path: path, stop: o.Stop}
	err := guarded(func() (err error) {
		b.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: o.LockTimeout, FreelistType: bbolt.FreelistMapType})
		return err
	})
	switch {
	case err == nil:
		if err := writeHolder(path, o.Holder); err != nil {
			return nil, errors.Join(fmt.Errorf("note who holds the data file: %w", err), b.db.Close())
		}
		b.group = newGroup(b.write)
		return b, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, LockedBy(path)
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
	b.closing.Do(func() { removeHolder(b.path) })
	return b.db.Close()
}

// Check reads every page of the file in a transaction that writes nothing, calls found
// for each that makes no sense, and then also with the same transaction. Of a file that
// was cut short, only that is found.
func (b *Bolt) Check(found func(error), also func(Tx) error) error {
	errChecked := errors.New("checked")
	// bbolt's own check needs the writer's place: it reads the list of free pages.
	err := guarded(func() error {
		return closedError(b.db.Update(func(tx *bbolt.Tx) error {
			if err := b.whole(tx); err != nil {
				found(err)
			} else {
				for err := range tx.Check() {
					found(err)
				}
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

// whole tells whether the file holds all pages that it names. bbolt looks at them in a
// goroutine of its own, in which a page behind the end of the file would end the process.
func (b *Bolt) whole(tx *bbolt.Tx) error {
	info, err := os.Stat(b.db.Path())
	if err != nil {
		return fmt.Errorf("look at the data file: %w", err)
	}
	if have, want := info.Size(), tx.Size(); have < want {
		return fmt.Errorf("the file ends after %d of %d bytes", have, want)
	}
	return nil
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
	outer, inner, nested := table.path()
	b, err := t.tx.CreateBucketIfNotExists([]byte(outer))
	if err != nil || !nested {
		return b, err
	}
	b, err = b.CreateBucketIfNotExists([]byte(inner))
	return b, takenError(err)
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
	if err := checkPut(t.tx.Writable(), table, key); err != nil {
		return err
	}
	b, err := t.made(table)
	if err != nil {
		return err
	}
	if value == nil {
		value = []byte{} // nil would read as absent until the commit
	}
	return takenError(b.Put([]byte(key), value))
}

// Delete implements Tx.
func (t boltTx) Delete(table Table, key string) error {
	if !t.tx.Writable() {
		return ErrReadOnly
	}
	b := t.bucket(table)
	if b == nil || b.Get([]byte(key)) == nil { // none, or the name of a nested table
		return nil
	}
	return b.Delete([]byte(key))
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
		if !b.Writable() {
			k, v = c.Next()
		} else if k, v = c.Seek([]byte(key)); string(k) == key { // what visit wrote may have moved the cursor
			k, v = c.Next()
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
	back := backward{c: b.Cursor()}
	if b.Writable() {
		if back.first, _ = b.Cursor().First(); back.first == nil {
			return nil
		}
	}
	for k, v := back.seek(endOf(prefix, before)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = back.prev(k) {
		if v != nil && !visit(string(k), v) {
			return nil
		}
	}
	return nil
}

// backward walks a bucket backward. Where its transaction has deleted all keys of a
// page, bbolt 1.5.0's Prev stops there as if nothing stood before it, and where it has
// deleted all keys of several pages, Last never returns. first, the bucket's first key
// in a transaction that writes, tells that apart from the beginning.
type backward struct {
	c     *bbolt.Cursor
	first []byte
}

// seek returns the last key below end, the very last where end is nil.
func (b backward) seek(end []byte) (k, v []byte) {
	if end == nil {
		return b.c.Last()
	}
	if k, _ = b.c.Seek(end); k == nil {
		return b.c.Last()
	}
	return b.prev(end)
}

// prev returns the key before the cursor's, of which there is none below key where
// first is not.
func (b backward) prev(key []byte) (k, v []byte) {
	k, v = b.c.Prev()
	for k == nil && b.first != nil && bytes.Compare(b.first, key) < 0 {
		k, v = b.c.Prev()
	}
	return k, v
}

// endOf is the key behind all that ScanBack visits, nil where there is none.
func endOf(prefix, before string) []byte {
	end := after(prefix)
	if before != "" && (end == nil || before < string(end)) {
		return []byte(before)
	}
	return end
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

// takenError turns bbolt's word for a key that is a bucket, or the other way round, into
// ours.
func takenError(err error) error {
	if errors.Is(err, berrors.ErrIncompatibleValue) {
		return ErrTaken
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
