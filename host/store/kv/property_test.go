package kv

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is what both engines are held against: tables of keys.
type model map[Table]map[string]string

func (m model) clone() model {
	out := model{}
	for t, keys := range m {
		out[t] = maps.Clone(keys)
	}
	return out
}

func (m model) put(t Table, key, value string) {
	outer, _, _ := t.path()
	for _, t := range []Table{Table(outer), t} {
		if m[t] == nil {
			m[t] = map[string]string{}
		}
	}
	m[t][key] = value
}

func (m model) deleteTable(t Table) {
	maps.DeleteFunc(m, func(name Table, _ map[string]string) bool {
		return name == t || strings.HasPrefix(string(name), string(t)+"\x00")
	})
}

// keys are those of a table with a prefix and, unless before is "", below before.
func (m model) keys(t Table, prefix, before string) []string {
	keys := slices.Sorted(maps.Keys(m[t]))
	return slices.DeleteFunc(keys, func(k string) bool {
		return !strings.HasPrefix(k, prefix) || before != "" && k >= before
	})
}

func (m model) everything() (all []string) {
	names := slices.SortedFunc(maps.Keys(m), func(a, b Table) int { return strings.Compare(string(a), string(b)) })
	for _, t := range names {
		all = append(all, fmt.Sprintf("%q", t))
		for _, key := range m.keys(t, "", "") {
			all = append(all, fmt.Sprintf("%q/%q=%q", t, key, m[t][key]))
		}
	}
	return all
}

var (
	someTables = rapid.SampledFrom([]Table{"a", "b", Nested("a", "in"), Nested("a", "more"), Nested("c", "in")})
	someKeys   = rapid.Custom(func(t *rapid.T) string {
		// Few short keys, so that they meet, and many long ones, so that there are pages.
		if rapid.Bool().Draw(t, "short") {
			return rapid.SampledFrom([]string{"k", "k/1", "k/2", "l", "\xff", "\xff\xff"}).Draw(t, "key")
		}
		return fmt.Sprintf("long/%03d/%s", rapid.IntRange(0, 200).Draw(t, "number"), strings.Repeat("x", 200))
	})
	somePrefixes = rapid.SampledFrom([]string{"", "k", "k/", "long/", "long/1", "l", "\xff", "z"})
)

// TestBothEnginesAreAMap holds random transactions, some of which fail, on both
// engines against a map.
func TestBothEnginesAreAMap(t *testing.T) {
	failed := errors.New("failed")
	dbs := map[string]DB{"bolt": openBolt(t, nil), "memory": NewMemory(nil)}
	defer func() {
		for _, db := range dbs {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		for name, db := range dbs {
			err := db.Update(t.Context(), func(tx Tx) error {
				for _, table := range tx.Tables() {
					if err := tx.DeleteTable(table); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				rt.Fatal(name, err)
			}
		}
		now := model{}
		for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
			way := rapid.SampledFrom(slices.Sorted(maps.Keys(ways))).Draw(rt, "way")
			steps := rapid.SliceOfN(someSteps, 0, 30).Draw(rt, "steps")
			fail := rapid.Bool().Draw(rt, "fail")
			next := now.clone()
			for _, s := range steps {
				s.want(next)
			}
			for name, db := range dbs {
				var wrong []string
				err := ways[way](db, t.Context(), func(tx Tx) error {
					wrong = nil
					m := now.clone()
					for _, s := range steps {
						if got, want := s.got(tx), s.want(m); got != want {
							wrong = append(wrong, fmt.Sprintf("%+v: got %s, want %s", s, got, want))
						}
					}
					if fail {
						return failed
					}
					return nil
				})
				if fail != errors.Is(err, failed) || !fail && err != nil {
					rt.Fatalf("%s: %v", name, err)
				}
				if wrong != nil {
					rt.Fatalf("%s:\n%s", name, strings.Join(wrong, "\n"))
				}
			}
			if !fail {
				now = next
			}
			for name, db := range dbs {
				if got, want := read(t, db), now.everything(); !slices.Equal(got, want) {
					rt.Fatalf("%s holds %q, want %q", name, got, want)
				}
			}
		}
	})
}

// step is one operation.
type step struct {
	do             string
	table          Table
	key            string
	prefix, before string
}

var someSteps = rapid.Custom(func(t *rapid.T) step {
	return step{
		do: rapid.SampledFrom([]string{
			"put", "put", "put", "fill", "get", "delete", "delete range", "delete table", "scan", "back", "last",
			"tables",
		}).Draw(t, "do"),
		table:  someTables.Draw(t, "table"),
		key:    someKeys.Draw(t, "key"),
		prefix: somePrefixes.Draw(t, "prefix"),
		before: rapid.OneOf(rapid.Just(""), someKeys).Draw(t, "before"),
	}
})

// filled are the keys of the step "fill".
func filled() (keys []string) {
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("long/%03d/%s", i, strings.Repeat("x", 200)))
	}
	return keys
}

// got does the step in a transaction and says what came of it.
func (s step) got(tx Tx) string {
	var err error
	switch s.do {
	case "put":
		err = tx.Put(s.table, s.key, []byte(s.prefix))
	case "fill":
		for _, key := range filled() {
			err = errors.Join(err, tx.Put(s.table, key, []byte(s.prefix)))
		}
	case "get":
		v, found := tx.Get(s.table, s.key)
		return fmt.Sprintf("%q %v", v, found)
	case "delete":
		err = tx.Delete(s.table, s.key)
	case "delete range":
		err = tx.Scan(s.table, s.prefix, func(key string, _ []byte) bool {
			if s.before == "" || key < s.before {
				err = errors.Join(err, tx.Delete(s.table, key))
			}
			return true
		})
	case "delete table":
		err = tx.DeleteTable(s.table)
	case "scan":
		return fmt.Sprintf("%q", scanned(tx, s.table, s.prefix))
	case "back":
		return fmt.Sprintf("%q", scannedBack(tx, s.table, s.prefix, s.before))
	case "last":
		key, value, found := tx.Last(s.table, s.prefix)
		return fmt.Sprintf("%q %q %v", key, value, found)
	case "tables":
		return fmt.Sprintf("%q", everything(tx))
	}
	return fmt.Sprint(err)
}

// want does the same in the model.
func (s step) want(m model) string {
	switch s.do {
	case "put":
		m.put(s.table, s.key, s.prefix)
	case "fill":
		for _, key := range filled() {
			m.put(s.table, key, s.prefix)
		}
	case "get":
		v, found := m[s.table][s.key]
		return fmt.Sprintf("%q %v", v, found)
	case "delete":
		delete(m[s.table], s.key)
	case "delete range":
		for _, key := range m.keys(s.table, s.prefix, s.before) {
			delete(m[s.table], key)
		}
	case "delete table":
		m.deleteTable(s.table)
	case "scan":
		return fmt.Sprintf("%q", m.keys(s.table, s.prefix, ""))
	case "back":
		keys := m.keys(s.table, s.prefix, s.before)
		slices.Reverse(keys)
		return fmt.Sprintf("%q", keys)
	case "last":
		keys := m.keys(s.table, s.prefix, "")
		if len(keys) == 0 {
			return `"" "" false`
		}
		key := keys[len(keys)-1]
		return fmt.Sprintf("%q %q true", key, m[s.table][key])
	case "tables":
		return fmt.Sprintf("%q", m.everything())
	}
	return fmt.Sprint(error(nil))
}
