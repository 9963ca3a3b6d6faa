// Package store keeps what must survive: users and their sign-in, sessions and
// their tree of messages, runs, documents, memories, attached files, agents, and a
// key space for each room that asks for one. All of it lives in one data file, in
// which host/journal keeps what runs and answers say.
//
// Records come in and go out as plain values; every record has an owner, and
// every read of a person's records takes the Principal who asks. Somebody
// else's record is ErrNotFound, so that nobody learns that it exists. What a
// method returned without an error is on disk, fsync included.
//
// Transactions are those of kv, the only package that knows bbolt. It must not know
// models, tools, HTTP or plugins, nor, but for the migration that made journals of
// them, what packets say.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/space"
	"github.com/bulkhead-host/bulkhead/host/store/table"
	"github.com/bulkhead-host/bulkhead/host/store/ulid"
)

// Options are the seams of a Store. The zero value is ready for use.
type Options struct {
	// Now tells the time; time.Now if nil.
	Now func() time.Time
	// NewID returns a new id that begins with prefix and "_". Ids must be unique,
	// and later ones must sort after earlier ones. If nil, the store makes ULIDs.
	NewID func(prefix string) string
	// LockTimeout is how long Open waits for another process to let go of the
	// file; 0 means one second.
	LockTimeout time.Duration
	// Holder is what another process is told that holds the file, such as
	// "bulkhead serve"; the program's name if empty.
	Holder string
	// Stop is a failpoint for tests, nil for none.
	Stop kv.Stop
}

// defaultLockTimeout is how long Open waits for another process.
const defaultLockTimeout = time.Second

// Store is an open data file. It is safe for concurrent use. The records of a kind
// are read and written through a value of that kind, such as Users; those values
// are as safe, cost nothing and last as long as the Store.
type Store struct {
	*core
	path string
}

// Open opens the data file at path and creates it, and its folder, if they do
// not exist: the file with mode 0600, the folder with 0700. The caller closes
// the Store. It returns a *LockedError when another process holds the file, a
// *SchemaError when a newer Bulkhead wrote it, and an error that matches
// ErrDamaged when the file is not a data file or cannot be read. After the last
// this process may keep the file's lock until it ends.
func Open(path string, opts Options) (*Store, error) {
	s := &Store{core: &core{now: opts.Now}, path: path}
	if s.now == nil {
		s.now = time.Now
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	db, err := kv.OpenBolt(path, kv.BoltOptions{
		LockTimeout: cmp.Or(opts.LockTimeout, defaultLockTimeout), Holder: opts.Holder, Stop: opts.Stop,
	})
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.prepare(opts); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// OpenMemory opens a Store that keeps nothing beyond the process. Its Path is "". Of
// opts the lock and the holder are not looked at.
func OpenMemory(opts Options) (*Store, error) {
	s := &Store{core: &core{db: kv.NewMemory(opts.Stop), now: opts.Now}}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.migrateAndNumber(opts); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// prepare does what an open file needs before its first use.
func (s *Store) prepare(opts Options) error {
	if err := os.Chmod(s.path, 0o600); err != nil {
		return fmt.Errorf("protect the data file: %w", err)
	}
	return s.migrateAndNumber(opts)
}

// migrateAndNumber brings the records to the newest version, and lets new ids go on
// behind those that are there.
func (s *Store) migrateAndNumber(opts Options) error {
	if err := s.migrate(); err != nil {
		return err
	}
	if s.newID = opts.NewID; s.newID != nil {
		return nil
	}
	ids := ulid.NewSource(s.now)
	s.newID = ids.Next
	return s.view(context.Background(), func(tx kv.Tx) error {
		for _, t := range []table.Name{table.Users, table.Sessions, table.Messages, table.Runs, table.Documents,
			table.Memories, table.Files, table.Agents} {
			last, _, _ := tx.Last(kv.Table(t), "")
			ids.After(last)
		}
		return nil
	})
}

// Close waits for what is being written, and closes the file. Everything after it
// returns ErrClosed, a second Close too.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close the data file: %w", err)
	}
	return nil
}

// DB is what the Store stands on, for rooms whose records share its transactions.
func (s *Store) DB() kv.DB { return s.db }

// Space returns the key space with that name. It does not fail; a space that was never
// written to is empty.
func (s *Store) Space(name string) *space.Space { return space.New(s.db, name) }

// Path returns the path of the data file, "" for none.
func (s *Store) Path() string { return s.path }
