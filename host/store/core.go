package store

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/migrate"
)

// core is what the kinds of records share.
type core struct {
	db    kv.DB
	now   func() time.Time
	newID func(prefix string) string
}

// view runs fn in a read transaction.
func (c *core) view(ctx context.Context, fn func(kv.Tx) error) error { return c.db.View(ctx, fn) }

// update runs fn in a write transaction that is on disk when update returns
// nil, and that never happened when it returns an error. fn may run more than once:
// what others write at the same time shares the transaction.
func (c *core) update(ctx context.Context, fn func(kv.Tx) error) error { return c.db.Commit(ctx, fn) }

// clock returns the time as it is stored.
func (c *core) clock() time.Time { return c.now().UTC().Round(0) }

// The kinds of records.
type (
	// Agents are the named agents.
	Agents struct{ *core }
	// Documents are the documents of the knowledge base, with their texts.
	Documents struct{ *core }
	// Files are the files that people attached.
	Files struct{ *core }
	// Memories are the what people had remembered.
	Memories struct{ *core }
	// Messages are the conversations' messages, which stand in a tree.
	Messages struct{ *core }
	// Runs are the runs, and the messages that they begin and end.
	Runs struct{ *core }
	// Sessions are the conversations.
	Sessions struct{ *core }
	// SignIns are the sign-in links and cookies.
	SignIns struct{ *core }
	// Users are the people.
	Users struct{ *core }
)

// Agents returns the named agents.
func (s *Store) Agents() Agents { return Agents{s.core} }

// Documents returns the documents of the knowledge base, with their texts.
func (s *Store) Documents() Documents { return Documents{s.core} }

// Files returns the files that people attached.
func (s *Store) Files() Files { return Files{s.core} }

// Memories returns the what people had remembered.
func (s *Store) Memories() Memories { return Memories{s.core} }

// Messages returns the conversations' messages, which stand in a tree.
func (s *Store) Messages() Messages { return Messages{s.core} }

// Runs returns the runs, and the messages that they begin and end.
func (s *Store) Runs() Runs { return Runs{s.core} }

// Sessions returns the conversations.
func (s *Store) Sessions() Sessions { return Sessions{s.core} }

// SignIns returns the sign-in links and cookies.
func (s *Store) SignIns() SignIns { return SignIns{s.core} }

// Users returns the people.
func (s *Store) Users() Users { return Users{s.core} }

// SchemaError is returned when the data file was written by a newer Bulkhead.
type SchemaError struct {
	Path string
	// Have is the file's version, Want the newest that this program knows.
	Have, Want int
}

// Error implements error.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s was written by a newer Bulkhead (data version %d, this one knows %d). "+
		"Use that newer version, or restore a backup.", e.Path, e.Have, e.Want)
}

// migrate brings the file to the newest version.
func (s *Store) migrate() error {
	var have int
	err := s.view(context.Background(), func(tx kv.Tx) (err error) {
		have, err = migrate.Version(tx)
		return err
	})
	if err != nil || have == migrate.Newest() {
		return err
	}
	if have > migrate.Newest() {
		return &SchemaError{Path: s.path, Have: have, Want: migrate.Newest()}
	}
	return s.update(context.Background(), func(tx kv.Tx) error { return migrate.Up(tx, have) })
}
