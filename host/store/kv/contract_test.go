package kv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachEngine runs a test on a file and in memory. open makes a DB that is closed at
// the end of the test.
func eachEngine(t *testing.T, test func(t *testing.T, open func(Stop) DB)) {
	t.Helper()
	for _, engine := range []struct {
		name string
		open func(testing.TB, Stop) DB
	}{
		{"bolt", openBolt},
		{"memory", func(_ testing.TB, stop Stop) DB { return NewMemory(stop) }},
	} {
		t.Run(engine.name, func(t *testing.T) {
			test(t, func(stop Stop) DB {
				db := engine.open(t, stop)
				t.Cleanup(func() {
					if err := db.Close(); err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
				})
				return db
			})
		})
	}
}

func openBolt(t testing.TB, stop Stop) DB {
	t.Helper()
	db, err := OpenBolt(filepath.Join(t.TempDir(), "kv.db"), BoltOptions{LockTimeout: time.Second, Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// ways are the two ways to write.
var ways = map[string]func(DB, context.Context, func(Tx) error) error{"Update": DB.Update, "Commit": DB.Commit}

func write(t *testing.T, db DB, fn func(Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// put writes keys with themselves as values.
func put(t *testing.T, db DB, table Table, keys ...string) {
	t.Helper()
	write(t, db, func(tx Tx) error {
		for _, key := range keys {
			if err := tx.Put(table, key, []byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// read is what a DB holds: table, key and value of everything.
func read(t *testing.T, db DB) (all []string) {
	t.Helper()
	err := db.View(t.Context(), func(tx Tx) error {
		all = everything(tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func everything(tx Tx) (all []string) {
	for _, table := range tx.Tables() {
		for _, in := range append([]Table{table}, tx.Inside(table)...) {
			all = append(all, fmt.Sprintf("%q", in))
			for _, key := range scanned(tx, in, "") {
				value, _ := tx.Get(in, key)
				all = append(all, fmt.Sprintf("%q/%q=%q", in, key, value))
			}
		}
	}
	return all
}

func scanned(tx Tx, table Table, prefix string) (keys []string) {
	_ = tx.Scan(table, prefix, func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	return keys
}

func scannedBack(tx Tx, table Table, prefix, before string) (keys []string) {
	_ = tx.ScanBack(table, prefix, before, func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	return keys
}

func TestAFailedTransactionNeverHappened(t *testing.T) {
	failed := errors.New("failed")
	for name, fail := range map[string]struct {
		end  func() error
		want error
	}{
		"error": {func() error { return failed }, failed},
		"panic": {func() error { panic("a fault") }, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, open func(Stop) DB) {
				db := open(nil)
				put(t, db, "a", "1", "2")
				put(t, db, Nested("n", "in"), "1")
				before := read(t, db)
				for way, do := range ways {
					err := do(db, t.Context(), func(tx Tx) error {
						err := errors.Join(
							tx.Put("a", "1", []byte("other")), tx.Delete("a", "2"), tx.Put("a", "3", nil),
							tx.Put("new", "k", nil), tx.DeleteTable("n"),
							tx.Put(Nested("n", "in"), "2", nil), tx.Put(Nested("m", "in"), "2", nil),
							tx.DeleteTable("a"), tx.Put("a", "1", []byte("again")))
						if err != nil {
							t.Error(err)
						}
						return fail.end()
					})
					if !errors.Is(err, fail.want) {
						t.Errorf("%s: got %v, want %v", way, err, fail.want)
					}
					if after := read(t, db); !slices.Equal(after, before) {
						t.Errorf("%s left %v, want %v", way, after, before)
					}
				}
				if err := db.View(t.Context(), func(Tx) error { return fail.end() }); !errors.Is(err, fail.want) {
					t.Errorf("View: got %v, want %v", err, fail.want)
				}
				put(t, db, "a", "goes on")
			})
		})
	}
}

func TestAGoroutineThatEndsInATransactionHoldsNobodyUp(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		for _, do := range ways {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = do(db, context.Background(), func(tx Tx) error {
					_ = tx.Put("a", "cut off", nil)
					runtime.Goexit()
					return nil
				})
			}()
			<-ended
		}
		if err := db.Commit(t.Context(), func(tx Tx) error { return tx.Put("a", "1", []byte("1")) }); err != nil {
			t.Error(err)
		}
		if got, want := read(t, db), []string{`"a"`, `"a"/"1"="1"`}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestViewReadsOneState looks at two keys that change together.
func TestViewReadsOneState(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		var wg sync.WaitGroup
		written := make(chan struct{})
		wg.Go(func() {
			defer close(written)
			for i := range 50 {
				err := db.Update(t.Context(), func(tx Tx) error {
					value := fmt.Append(nil, i)
					return errors.Join(tx.Put("a", "1", value), tx.Put("b", "1", value))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		for range 3 {
			wg.Go(func() {
				for done := false; !done; {
					select {
					case <-written:
						done = true
					default:
					}
					err := db.View(t.Context(), func(tx Tx) error {
						one, _ := tx.Get("a", "1")
						runtime.Gosched()
						other, _ := tx.Get("b", "1")
						if string(one) != string(other) {
							t.Errorf("read %q and %q", one, other)
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestViewWritesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		put(t, db, "a", "1")
		err := db.View(t.Context(), func(tx Tx) error {
			for name, err := range map[string]error{
				"Put":           tx.Put("a", "1", nil),
				"Put elsewhere": tx.Put("b", "1", nil),
				"Put of no key": tx.Put("", "", nil),
				"Delete":        tx.Delete("a", "1"),
				"Delete none":   tx.Delete("b", "1"),
				"DeleteTable":   tx.DeleteTable("a"),
			} {
				if !errors.Is(err, ErrReadOnly) {
					t.Errorf("%s: got %v, want ErrReadOnly", name, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, db); len(got) != 2 {
			t.Errorf("the table is %v", got)
		}
	})
}

func TestKeysAndTablesHaveLimits(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		put(t, db, "keys", "k", strings.Repeat("x", 32768))
		put(t, db, Nested("outer", "in"), "k")
		write(t, db, func(tx Tx) error {
			for _, c := range []struct {
				table Table
				key   string
				want  error
			}{
				{"keys", "", ErrKey}, {"keys", strings.Repeat("x", 32769), ErrKey},
				{"", "k", ErrTable}, {Nested("", "in"), "k", ErrTable}, {Nested("outer", ""), "k", ErrTable},
				{Nested(Nested("outer", "in"), "deeper"), "k", ErrTable},
				{"outer", "in", ErrTaken}, {Nested("keys", "k"), "k", ErrTaken},
			} {
				if err := tx.Put(c.table, c.key, nil); !errors.Is(err, c.want) {
					t.Errorf("put %.20q/%.20q: got %v, want %v", c.table, c.key, err, c.want)
				}
				if v, found := tx.Get(c.table, c.key); found {
					t.Errorf("%.20q/%.20q is %q", c.table, c.key, v)
				}
				if err := tx.Delete(c.table, c.key); err != nil {
					t.Errorf("delete %.20q/%.20q: %v", c.table, c.key, err)
				}
			}
			return errors.Join(tx.DeleteTable(""), tx.DeleteTable("none"),
				tx.DeleteTable(Nested("outer", "none")), tx.DeleteTable(Nested("keys", "k")))
		})
		want := []string{`"keys"`, `"keys"/"k"="k"`, `"outer"`, `"outer\x00in"`, `"outer\x00in"/"k"="k"`}
		if got := slices.DeleteFunc(read(t, db), func(s string) bool { return len(s) > 1000 }); !slices.Equal(got,
			want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestAnEmptyValueIsThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		look := func(tx Tx) error {
			for _, key := range []string{"nil", "empty"} {
				if v, found := tx.Get("a", key); !found || len(v) != 0 {
					t.Errorf("%s is %q, %v", key, v, found)
				}
			}
			if keys := scanned(tx, "a", ""); len(keys) != 2 {
				t.Errorf("scanned %q", keys)
			}
			return nil
		}
		write(t, db, func(tx Tx) error {
			return errors.Join(tx.Put("a", "nil", nil), tx.Put("a", "empty", []byte{}), look(tx))
		})
		if err := db.View(t.Context(), look); err != nil {
			t.Error(err)
		}
	})
}

func TestScanIsInByteOrderWithinThePrefix(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		put(t, db, "a", "b", "a", "a/2", "a/1", "a0", "\xff\xff", "\xff", "ä", "A")
		put(t, db, Nested("a", "a/3"), "no key of a")
		look := func(tx Tx) error {
			for _, c := range []struct{ prefix, want string }{
				{"", "A a a/1 a/2 a0 b ä \xff \xff\xff"}, {"a", "a a/1 a/2 a0"}, {"a/", "a/1 a/2"}, {"a/2", "a/2"},
				{"\xff", "\xff \xff\xff"}, {"c", ""}, {"z", ""},
			} {
				want := strings.Fields(c.want)
				if got := scanned(tx, "a", c.prefix); !slices.Equal(got, want) {
					t.Errorf("scan %q: %q, want %q", c.prefix, got, want)
				}
				slices.Reverse(want)
				if got := scannedBack(tx, "a", c.prefix, ""); !slices.Equal(got, want) {
					t.Errorf("scan back %q: %q, want %q", c.prefix, got, want)
				}
				key, value, found := tx.Last("a", c.prefix)
				if found != (len(want) > 0) || found && (key != want[0] || string(value) != key) {
					t.Errorf("the last of %q is %q, %q, %v", c.prefix, key, value, found)
				}
			}
			for _, c := range []struct{ prefix, before, want string }{
				{"", "a/2", "a/1 a A"}, {"a", "a/2", "a/1 a"}, {"a/", "a/15", "a/1"}, {"a/", "a/1", ""},
				{"a/", "A", ""},
				{"a/", "zzz", "a/2 a/1"}, {"\xff", "\xff\xff", "\xff"},
				{"", "\xff\xff\xff", "\xff\xff \xff ä b a0 a/2 a/1 a A"},
			} {
				if got := scannedBack(tx, "a", c.prefix, c.before); !slices.Equal(got, strings.Fields(c.want)) {
					t.Errorf("scan back %q from %q: %q, want %q", c.prefix, c.before, got, c.want)
				}
			}
			if keys := scanned(tx, "none", ""); keys != nil {
				t.Errorf("a table that is not there has %q", keys)
			}
			n := 0
			first := func(string, []byte) bool { n++; return false }
			if err := errors.Join(tx.Scan("a", "", first), tx.ScanBack("a", "", "", first)); err != nil || n != 2 {
				t.Errorf("visited %d, want each to stop at once, %v", n, err)
			}
			return nil
		}
		if err := db.View(t.Context(), look); err != nil {
			t.Error(err)
		}
		write(t, db, look)
	})
}

func TestScanMayWriteToWhatItVisits(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		const n = 1000 // some pages
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf("%04d", i))
		}
		put(t, db, "a", keys...)
		write(t, db, func(tx Tx) error {
			var visited []string
			err := tx.Scan("a", "", func(key string, _ []byte) bool {
				visited = append(visited, key)
				if len(visited)%3 == 0 {
					return tx.Put("a", key, []byte(strings.Repeat(key, 50))) == nil
				}
				return tx.Delete("a", key) == nil
			})
			if !slices.Equal(visited, keys) {
				t.Errorf("visited %d keys, want %d in order", len(visited), n)
			}
			return err
		})
		if got := read(t, db); len(got) != 1+n/3 {
			t.Errorf("%d keys are left, want %d", len(got)-1, n/3)
		}
	})
}

// TestScanBackPassesWhatTheTransactionDeleted deletes many keys in a row: in a file
// these are whole pages.
func TestScanBackPassesWhatTheTransactionDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		var keys []string
		for i := range 3000 {
			keys = append(keys, fmt.Sprintf("k%04d", i))
		}
		put(t, db, "a", keys...)
		for _, c := range []struct{ from, to int }{{100, 2900}, {0, 2999}, {1, 3000}, {0, 3000}, {1000, 2000}} {
			undo := errors.New("undo")
			err := db.Update(t.Context(), func(tx Tx) error {
				for _, key := range keys[c.from:c.to] {
					if err := tx.Delete("a", key); err != nil {
						return err
					}
				}
				want := slices.Concat(keys[:c.from], keys[c.to:])
				slices.Reverse(want)
				if got := scannedBack(tx, "a", "", ""); !slices.Equal(got, want) {
					t.Errorf("without %d to %d: %d keys, want %d", c.from, c.to, len(got), len(want))
				}
				if got := scannedBack(tx, "a", "k", keys[c.to-1]); len(got) != c.from {
					t.Errorf("below %s: %d keys, want %d", keys[c.to-1], len(got), c.from)
				}
				if got := scanned(tx, "a", ""); len(got) != len(want) {
					t.Errorf("forward: %d keys, want %d", len(got), len(want))
				}
				key, _, found := tx.Last("a", "k")
				if found != (len(want) > 0) || found && key != want[0] {
					t.Errorf("without %d to %d the last is %q, %v", c.from, c.to, key, found)
				}
				return undo
			})
			if !errors.Is(err, undo) {
				t.Fatal(err)
			}
		}
	})
}

func TestTablesAreListedAndDeletedWithWhatIsNestedInThem(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		put(t, db, "b", "1")
		put(t, db, "a", "1")
		put(t, db, Nested("a", "y"), "1", "2")
		put(t, db, Nested("a", "x"), "1")
		put(t, db, Nested("only", "x"), "1")
		expect := func(want ...string) {
			t.Helper()
			if got := read(t, db); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		expect(`"a"`, `"a"/"1"="1"`, `"a\x00x"`, `"a\x00x"/"1"="1"`, `"a\x00y"`, `"a\x00y"/"1"="1"`, `"a\x00y"/"2"="2"`,
			`"b"`, `"b"/"1"="1"`, `"only"`, `"only\x00x"`, `"only\x00x"/"1"="1"`)
		write(t, db, func(tx Tx) error {
			return errors.Join(tx.DeleteTable(Nested("a", "y")), tx.DeleteTable(Nested("only", "x")),
				tx.Delete("b", "1"))
		})
		expect(`"a"`, `"a"/"1"="1"`, `"a\x00x"`, `"a\x00x"/"1"="1"`, `"b"`, `"only"`)
		write(t, db, func(tx Tx) error { return errors.Join(tx.DeleteTable("a"), tx.DeleteTable("only")) })
		expect(`"b"`)
	})
}

func TestAClosedDBSaysSo(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		put(t, db, "a", "1")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		never := func(Tx) error { t.Error("fn ran"); return nil }
		for name, err := range map[string]error{
			"View": db.View(t.Context(), never), "Update": db.Update(t.Context(), never),
			"Commit": db.Commit(t.Context(), never), "Close": db.Close(),
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
	})
}

func TestADoneContextBeginsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		never := func(Tx) error { t.Error("fn ran"); return nil }
		for name, err := range map[string]error{
			"View": db.View(ctx, never), "Update": db.Update(ctx, never), "Commit": db.Commit(ctx, never),
		} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want context.Canceled", name, err)
			}
		}
	})
}

// gather lets commits wait for each other: the first holds the writer until all the
// others are queued, so that they share the next transaction.
func gather(t *testing.T, db DB, fns ...func(Tx) error) (errs []error) {
	t.Helper()
	errs = make([]error, len(fns))
	holding, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		once := sync.OnceFunc(func() { close(holding); <-release })
		if err := db.Commit(t.Context(), func(Tx) error { once(); return nil }); err != nil {
			t.Error(err)
		}
	})
	<-holding
	g := groupOf(db)
	for i, fn := range fns {
		wg.Go(func() { errs[i] = db.Commit(t.Context(), fn) })
		for queued := 0; queued <= i; runtime.Gosched() { // so that they are queued in order
			g.mu.Lock()
			queued = len(g.queue)
			g.mu.Unlock()
		}
	}
	close(release)
	wg.Wait()
	return errs
}

func groupOf(db DB) *group {
	if b, ok := db.(*Bolt); ok {
		return b.group
	}
	return db.(*Memory).group
}

func TestWhatWaitsGoesInOneTransactionInOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		var commits atomic.Int64
		db := open(func(before bool) error {
			if !before {
				commits.Add(1)
			}
			return nil
		})
		var fns []func(Tx) error
		var want []byte
		for i := range 20 {
			want = append(want, byte('a'+i))
			fns = append(fns, func(tx Tx) error {
				v, _ := tx.Get("a", "order")
				return tx.Put("a", "order", append(slices.Clone(v), byte('a'+i)))
			})
		}
		if err := errors.Join(gather(t, db, fns...)...); err != nil {
			t.Fatal(err)
		}
		if n := commits.Load(); n != 2 {
			t.Errorf("%d transactions, want the first and one for all others", n)
		}
		if got, want := read(t, db)[1], fmt.Sprintf(`"a"/"order"=%q`, want); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestOneThatFailsSpoilsNoOther also counts: those that shared a transaction with it
// run again.
func TestOneThatFailsSpoilsNoOther(t *testing.T) {
	failed := errors.New("failed")
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		ran := make([]int, 4)
		good := func(i int) func(Tx) error {
			return func(tx Tx) error {
				ran[i]++
				return tx.Put("a", fmt.Sprint(i), nil)
			}
		}
		errs := gather(t, db, good(0),
			func(tx Tx) error { ran[1]++; return errors.Join(tx.Put("a", "bad", nil), failed) },
			func(tx Tx) error { ran[2]++; _ = tx.Put("a", "worse", nil); panic("a fault") },
			good(3))
		for i, want := range []error{nil, failed, ErrDamaged, nil} {
			if !errors.Is(errs[i], want) {
				t.Errorf("commit %d: got %v, want %v", i, errs[i], want)
			}
			if ran[i] < 1 || i == 0 && ran[i] < 2 {
				t.Errorf("commit %d ran %d times", i, ran[i])
			}
		}
		if got, want := read(t, db), []string{`"a"`, `"a"/"0"=""`, `"a"/"3"=""`}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestManyCommitAtOnce(t *testing.T) {
	failed := errors.New("failed")
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		var wg sync.WaitGroup
		const workers, each = 16, 20
		for w := range workers {
			wg.Go(func() {
				for i := range each {
					fail := i%5 == w%5
					err := db.Commit(t.Context(), func(tx Tx) error {
						if err := tx.Put("a", fmt.Sprintf("%02d/%02d", w, i), nil); err != nil || !fail {
							return err
						}
						return failed
					})
					if fail != errors.Is(err, failed) || !fail && err != nil {
						t.Errorf("worker %d, %d: %v", w, i, err)
					}
				}
			})
		}
		wg.Wait()
		if got, want := len(read(t, db))-1, workers*each*4/5; got != want {
			t.Errorf("%d keys, want %d", got, want)
		}
	})
}

// TestADiskThatRefusesOneTakesTheOthers has a disk with no room for a large
// transaction. What failed only because of a write that never happened does not fail.
func TestADiskThatRefusesOneTakesTheOthers(t *testing.T) {
	failed := errors.New("there already")
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		size := 0 // of the transaction; the writer alone has it
		db := open(func(before bool) (err error) {
			if before && size > 100 {
				err = syscall.ENOSPC
			}
			size = 0
			return err
		})
		sized := func(n int, key string) func(Tx) error {
			return func(tx Tx) error {
				size += n
				return tx.Put("a", key, nil)
			}
		}
		unless := func(key string) func(Tx) error { // fails where another's write is there
			return func(tx Tx) error {
				if _, found := tx.Get("a", key); found {
					return failed
				}
				return tx.Put("a", "instead of "+key, nil)
			}
		}
		errs := gather(t, db, sized(1, "small"), sized(1000, "large"), unless("large"), unless("small"))
		for i, want := range []error{nil, syscall.ENOSPC, nil, failed} {
			if !errors.Is(errs[i], want) {
				t.Errorf("commit %d: got %v, want %v", i, errs[i], want)
			}
		}
		want := []string{`"a"`, `"a"/"instead of large"=""`, `"a"/"small"=""`}
		if got := read(t, db); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestCloseWaitsForWhatIsQueued(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		holding, release := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		var written atomic.Int64
		commit := func(fn func(Tx) error) func() {
			return func() {
				if err := db.Commit(t.Context(), fn); err != nil {
					t.Error(err)
				}
				written.Add(1)
			}
		}
		wg.Go(commit(func(Tx) error { close(holding); <-release; return nil }))
		<-holding
		g := groupOf(db)
		for range 5 {
			wg.Go(commit(func(tx Tx) error { return tx.Put("a", "1", nil) }))
		}
		for queued := 0; queued < 5; runtime.Gosched() {
			g.mu.Lock()
			queued = len(g.queue)
			g.mu.Unlock()
		}
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		for shut := false; !shut; runtime.Gosched() {
			g.mu.Lock()
			shut = g.closed
			g.mu.Unlock()
		}
		if err := db.Commit(t.Context(), func(Tx) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("a commit after Close: %v", err)
		}
		close(release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		wg.Wait()
		if n := written.Load(); n != 6 {
			t.Errorf("%d of 6 were written", n)
		}
	})
}

// TestNobodyWritesForOthersWithoutEnd keeps the queue full: whoever writes hands over
// all the same.
func TestNobodyWritesForOthersWithoutEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Stop) DB) {
		db := open(nil)
		g := groupOf(db)
		var wg sync.WaitGroup
		var others atomic.Int64
		returned := make(chan struct{})
		// Each commit, while it runs, has another queued behind it until the first returns.
		var next func(Tx) error
		next = func(Tx) error {
			select {
			case <-returned:
				return nil
			default:
			}
			others.Add(1)
			wg.Go(func() {
				if err := db.Commit(t.Context(), next); err != nil {
					t.Error(err)
				}
			})
			for queued := 0; queued == 0; runtime.Gosched() {
				g.mu.Lock()
				queued = len(g.queue)
				g.mu.Unlock()
			}
			return nil
		}
		if err := db.Commit(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		close(returned)
		wg.Wait()
		if others.Load() == 0 {
			t.Error("nobody came meanwhile")
		}
	})
}

func TestAnotherProcessIsToldThatTheFileIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kv.db")
	db, err := OpenBolt(path, BoltOptions{LockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBolt(path, BoltOptions{LockTimeout: time.Nanosecond}); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckFindsNothingInASoundFileAndWritesNothing(t *testing.T) {
	db := openBolt(t, nil).(*Bolt)
	defer func() { _ = db.Close() }()
	put(t, db, "a", "1")
	seen := false
	err := db.Check(func(err error) { t.Error(err) }, func(tx Tx) error {
		_, seen = tx.Get("a", "1")
		return tx.Put("a", "2", nil)
	})
	if err != nil || !seen {
		t.Errorf("%v, %v", seen, err)
	}
	if got := read(t, db); len(got) != 2 {
		t.Errorf("the check left %v", got)
	}
	failed := errors.New("failed")
	if err := db.Check(func(error) {}, func(Tx) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
