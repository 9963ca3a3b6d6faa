package store

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/store/space"
	"pgregory.net/rapid"
)

// storage is what other rooms declare; a *space.Space is one.
type storage interface {
	View(func(space.Tx) error) error
	Update(func(space.Tx) error) error
}

var _ storage = (*space.Space)(nil)

// TestSpaceIsAMap holds spaces against a map, in transactions of which some
// fail.
func TestSpaceIsAMap(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		failed := errors.New("failed")
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			sp, other := s.Space(fmt.Sprint("room", round)), s.Space(fmt.Sprint("room", round, "b"))
			model := map[string]string{}
			keys := rapid.SampledFrom([]string{"a", "a/1", "a/2", "b", "b/1", "ÿ"})
			for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
				next := maps.Clone(model)
				fail := rapid.Bool().Draw(rt, "fail")
				writes := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) write {
					value := rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "value")
					return write{keys.Draw(rt, "key"), value, rapid.Bool().Draw(rt, "put")}
				}), 0, 6).Draw(rt, "writes")
				err := sp.Update(func(tx space.Tx) error {
					next = maps.Clone(model) // it may run more than once
					for _, w := range writes {
						if err := w.do(tx, next); err != nil {
							return err
						}
						if v, ok := tx.Get(w.key); ok != has(next, w.key) || string(v) != next[w.key] {
							t.Errorf("%q is %q, %v inside", w.key, v, ok)
						}
					}
					if fail {
						return failed
					}
					return nil
				})
				if fail != errors.Is(err, failed) || !fail && err != nil {
					rt.Fatal(err)
				}
				if !fail {
					model = next
				}
				for _, prefix := range []string{"", "a", "a/", "b/1", "c"} {
					expectScan(rt, sp, prefix, model)
				}
				expectScan(rt, other, "", nil)
			}
		})
	})
}

// write is one Put or Delete.
type write struct {
	key, value string
	put        bool
}

// do writes to a transaction and to a map.
func (w write) do(tx space.Tx, m map[string]string) error {
	if w.put {
		m[w.key] = w.value
		return tx.Put(w.key, []byte(w.value))
	}
	delete(m, w.key)
	return tx.Delete(w.key)
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

func expectScan(t *rapid.T, sp *space.Space, prefix string, model map[string]string) {
	var want, got []string
	for _, key := range slices.Sorted(maps.Keys(model)) {
		if strings.HasPrefix(key, prefix) {
			want = append(want, key+"="+model[key])
		}
	}
	err := sp.View(func(tx space.Tx) error {
		return tx.Scan(prefix, func(key string, value []byte) bool {
			got = append(got, key+"="+string(value))
			return true
		})
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("scan %q: %v, %v, want %v", prefix, got, err, want)
	}
}

func TestScanMayDeleteWhatItVisits(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		sp := open(Options{}).Space("room")
		const n = 500 // more than a page
		err := sp.Update(func(tx space.Tx) error {
			for i := range n {
				if err := tx.Put(fmt.Sprintf("%04d", i), make([]byte, 50)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		visited := 0
		err = sp.Update(func(tx space.Tx) error {
			visited = 0
			return tx.Scan("", func(key string, _ []byte) bool {
				visited++
				return tx.Delete(key) == nil
			})
		})
		if err != nil || visited != n {
			t.Errorf("visited %d of %d, %v", visited, n, err)
		}
		stopped := 0
		_ = sp.Update(func(tx space.Tx) error { return tx.Put("k", nil) })
		err = sp.View(func(tx space.Tx) error {
			if err := tx.Put("x", nil); !errors.Is(err, ErrReadOnly) {
				t.Errorf("a View wrote: %v", err)
			}
			return tx.Scan("", func(string, []byte) bool { stopped++; return false })
		})
		if err != nil || stopped != 1 {
			t.Errorf("%d keys left, %v", stopped, err)
		}
	})
}
