// Package kv is transactions over tables of keys: what a Store, a journal and the
// rooms that ask for a key space of their own all stand on. There are two engines
// with one contract, a file and memory.
//
// Keys and values come in and go out as bytes. It must not know what they mean.
package kv

import (
	"context"
	"errors"
	"strings"
)

// Table is the name of a table. Tables that are missing are empty, and are made by
// the first Put; one that was emptied key by key is still there.
type Table string

// Nested is a table of its own inside of t, for a room or a record that wants one.
// Names are not empty and hold no NUL, so that nothing is nested in a nested table.
func Nested(t Table, name string) Table { return t + "\x00" + Table(name) }

// path is the names of the buckets of a table.
func (t Table) path() (outer, inner string, nested bool) { return strings.Cut(string(t), "\x00") }

// checkPut tells whether a key may be put into a table.
func checkPut(writable bool, t Table, key string) error {
	outer, inner, nested := t.path()
	switch {
	case !writable:
		return ErrReadOnly
	case outer == "", nested && (inner == "" || strings.Contains(inner, "\x00")):
		return ErrTable
	case key == "" || len(key) > maxKey:
		return ErrKey
	}
	return nil
}

// Tx is one transaction. A key has 1 to 32,768 bytes; of another there is no value, and
// to delete it is no error. What is read belongs to the transaction and must not be
// changed; what is put must not be changed before the transaction ends. It is not safe
// for concurrent use.
type Tx interface {
	// Get returns a value, and whether there is one.
	Get(t Table, key string) ([]byte, bool)
	// Put stores a value. It returns ErrReadOnly in a View, ErrTable, ErrKey and
	// ErrTaken, and what the disk says.
	Put(t Table, key string, value []byte) error
	// Delete deletes a key; one that is not there is no error. It returns ErrReadOnly in
	// a View.
	Delete(t Table, key string) error
	// Scan visits the keys that begin with prefix, in byte order, until visit returns
	// false. visit may write to the keys that it was given.
	Scan(t Table, prefix string, visit func(key string, value []byte) bool) error
	// ScanBack is Scan in the reverse order, from the last such key below before; "" for
	// the very last. visit must not write.
	ScanBack(t Table, prefix, before string, visit func(key string, value []byte) bool) error
	// Last returns the last key that begins with prefix.
	Last(t Table, prefix string) (key string, value []byte, found bool)
	// DeleteTable deletes a table with all in it, nested ones too. One that is not there
	// is no error. It returns ErrReadOnly in a View.
	DeleteTable(t Table) error
	// Tables are the tables on the top level, in byte order, and Inside those that are
	// nested in one.
	Tables() []Table
	Inside(t Table) []Table
}

// DB is an open set of tables. It is safe for concurrent use. A transaction begun
// inside of another one may wait for ever. A panic in fn undoes the transaction and
// becomes an error that matches ErrDamaged.
type DB interface {
	// View runs fn in a transaction that reads one state and writes nothing.
	View(ctx context.Context, fn func(Tx) error) error
	// Update runs fn in a transaction of its own, which is durable when Update returns
	// nil, and never happened when it returns an error.
	Update(ctx context.Context, fn func(Tx) error) error
	// Commit is Update together with others: what waits while the disk is busy goes in
	// one transaction, in the order in which it came. What fails is left out and spoils
	// no other, which is why fn may run more than once, and each time anew: it must not
	// build on what it left in variables the last time. It may run in another caller's
	// goroutine, so it must not take a lock under which somebody calls Commit. ctx counts
	// until fn is queued; from there it is waited for, so that its outcome is known.
	Commit(ctx context.Context, fn func(Tx) error) error
	// Close waits for what is queued. Everything after it returns ErrClosed.
	Close() error
}

var (
	// ErrClosed is returned when the DB is closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly is returned when something is written in a View.
	ErrReadOnly = errors.New("a read transaction cannot write")
	// ErrKey is returned for a key that has no bytes or too many.
	ErrKey = errors.New("a key has 1 to 32768 bytes")
	// ErrTable is returned when something is put into a table whose name is empty or
	// holds a NUL.
	ErrTable = errors.New("the name of a table is not empty and holds no NUL")
	// ErrTaken is returned when a key and a nested table would have the same name.
	ErrTaken = errors.New("a key and a nested table cannot have the same name")
	// ErrDamaged is matched when the file cannot be read.
	ErrDamaged = errors.New("the data file is damaged")
	// ErrLocked is returned when another process holds the file.
	ErrLocked = errors.New("the data file is in use")
)

// maxKey is the greatest length of a key, in bytes.
const maxKey = 32768

// Stop is a failpoint for tests: it is called before and after each transaction is
// made durable, and what it returns before is the transaction's error.
type Stop func(before bool) error
