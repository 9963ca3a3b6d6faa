package store

import (
	"context"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/migrate"
)

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
