// Package migrate brings the records of a data file to the newest layout.
//
// A transaction of an older version comes in, and leaves as one of the newest. It reads
// records by the fields that they had then, so that it goes on working when the types
// of package store change; it must not know that package.
package migrate

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// schemaKey is where the version stands in table.Meta.
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

// Version reads the version of a data file, 0 for a new one. The error matches
// kv.ErrDamaged when the file holds something and no version.
func Version(tx kv.Tx) (int, error) {
	if there := tx.Tables(); !slices.Contains(there, kv.Table(table.Meta)) {
		if len(there) > 0 {
			return 0, fmt.Errorf("%w: it holds %q but no version", kv.ErrDamaged, there[0])
		}
		return 0, nil
	}
	v, err := strconv.Atoi(table.Meta.Text(tx, schemaKey))
	if err != nil || v < 1 {
		return 0, &table.RecordError{
			Table: string(table.Meta), Key: schemaKey, Err: fmt.Errorf("it is not a version: %w", kv.ErrDamaged),
		}
	}
	return v, nil
}

// newTables is the step of a version that only added tables: they are made by what is
// first put into them.
func newTables(kv.Tx) error { return nil }

// Newest is the version to which Up leads.
func Newest() int { return len(migrations) }

// Up brings the records from version have to the newest, and writes its number, in the
// caller's transaction.
func Up(tx kv.Tx, have int) error {
	for v := have; v < len(migrations); v++ {
		if err := migrations[v](tx); err != nil {
			return fmt.Errorf("bring the data file to version %d: %w", v+1, err)
		}
	}
	return table.Meta.PutRaw(tx, schemaKey, []byte(strconv.Itoa(len(migrations))))
}
