package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// schemaKey is where the version stands in tableMeta.
const schemaKey = "schema"

// migrations lead from version i to version i+1, each inside the transaction
// that also writes the new version. What they do is never changed once it was
// released; a new layout is a new entry.
var migrations = []func(kv.Tx) error{
	newTables,
	newTables, // memories and files
	newTables, // agents
	newTables, // pictures
	toJournals,
}

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
		have, err = schemaVersion(tx)
		return err
	})
	if err != nil || have == len(migrations) {
		return err
	}
	if have > len(migrations) {
		return &SchemaError{Path: s.path, Have: have, Want: len(migrations)}
	}
	return s.update(context.Background(), func(tx kv.Tx) error {
		for v := have; v < len(migrations); v++ {
			if err := migrations[v](tx); err != nil {
				return fmt.Errorf("bring the data file to version %d: %w", v+1, err)
			}
		}
		return tableMeta.putRaw(tx, schemaKey, []byte(strconv.Itoa(len(migrations))))
	})
}

// schemaVersion reads the version, 0 for a new file.
func schemaVersion(tx kv.Tx) (int, error) {
	if there := tx.Tables(); !slices.Contains(there, kv.Table(tableMeta)) {
		if len(there) > 0 {
			return 0, fmt.Errorf("%w: it holds %q but no version", ErrDamaged, there[0])
		}
		return 0, nil
	}
	v, err := strconv.Atoi(tableMeta.text(tx, schemaKey))
	if err != nil || v < 1 {
		return 0, &RecordError{
			Table: string(tableMeta), Key: schemaKey, Err: fmt.Errorf("it is not a version: %w", ErrDamaged),
		}
	}
	return v, nil
}

// newTables is the step of a version that only added tables: they are made by what is
// first put into them.
func newTables(kv.Tx) error { return nil }
