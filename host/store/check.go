package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Problem is something that Check found.
type Problem struct {
	// Table and Key name the record, "" for the file as a whole.
	Table, Key string
	// Message says what is wrong with it.
	Message string
}

// Check reads the whole file and returns what is wrong with it: pages that make
// no sense, records that cannot be read, and records that do not fit together.
// Nothing can be written while it runs.
func (s *Store) Check(ctx context.Context) []Problem {
	c := &checker{}
	records := func(tx kv.Tx) error {
		c.tx = tx
		for _, check := range []func(){c.users, c.sessions, c.messages, c.runs, c.documents, c.memories, c.files,
			c.agents} {
			if err := ctx.Err(); err != nil {
				return err
			}
			check()
		}
		return nil
	}
	check := s.view
	if file, ok := s.db.(*kv.Bolt); ok {
		check = func(_ context.Context, fn func(kv.Tx) error) error {
			return file.Check(func(err error) { c.add("", "", "%v", err) }, fn)
		}
	}
	if err := check(ctx, records); err != nil {
		c.add("", "", "the check did not come to its end: %v", err)
	}
	return c.problems
}

// checker collects problems.
type checker struct {
	tx       kv.Tx
	problems []Problem
}

func (c *checker) add(t table.Name, key, format string, args ...any) {
	c.problems = append(c.problems, Problem{Table: string(t), Key: key, Message: fmt.Sprintf(format, args...)})
}

// expect adds a problem unless ok.
func (c *checker) expect(ok bool, t table.Name, key, format string, args ...any) {
	if !ok {
		c.add(t, key, format, args...)
	}
}

// each visits the records of a table.Name that can be read.
func each[T any](c *checker, t table.Name, visit func(key string, v T)) {
	t.Scan(c.tx, "", func(key string, data []byte) bool {
		v, err := table.Decode[T](t, key, data)
		if err != nil {
			c.add(t, key, "it cannot be read: %v", errors.Unwrap(err))
		} else {
			visit(key, v)
		}
		return true
	})
}

// index visits the entries of an index and expects each to lead to a record.
func (c *checker) index(t, target table.Name, id func(key, value string) string) {
	t.Scan(c.tx, "", func(key string, value []byte) bool {
		to := id(key, string(value))
		c.expect(target.Has(c.tx, to), t, key, "it leads to %s/%s, which is not there", target, to)
		return true
	})
}

func idInKey(key, _ string) string     { return table.LastPart(key) }
func idInValue(_, value string) string { return value }

func (c *checker) owner(t table.Name, key, owner string) {
	c.expect(table.Users.Has(c.tx, owner), t, key, "its owner %q is not there", owner)
}
