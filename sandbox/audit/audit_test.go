package audit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/audit/audittest"
)

func clock() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func filled(t *testing.T, n int) (*audit.Log, *audittest.Space) {
	t.Helper()
	space := &audittest.Space{}
	log := audit.New(space, clock)
	for i := range n {
		if err := log.Record(audit.Entry{Kind: audit.KindHostCall, Plugin: "search", Summary: fmt.Sprint(i),
			Bytes: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	return log, space
}

func TestTailReturnsTheLastEntriesInOrder(t *testing.T) {
	log, _ := filled(t, 12)
	got, err := log.Tail(3)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	for i, e := range got {
		if e.Seq != int64(10+i) || e.Summary != fmt.Sprint(9+i) || !e.Time.Equal(clock()) {
			t.Errorf("entry %d is %+v", i, e)
		}
	}
	if all, _ := log.Tail(100); len(all) != 12 {
		t.Errorf("a tail longer than the log has %d entries", len(all))
	}
}

func TestVerifyFindsEveryChangeFromOutside(t *testing.T) {
	key := func(n int) string { return fmt.Sprintf("entry/%020d", n) }
	edits := map[string]func(audit.Tx) error{
		"a word changed": func(tx audit.Tx) error {
			v, _ := tx.Get(key(4))
			return tx.Put(key(4), []byte(strings.Replace(string(v), "search", "sparse", 1)))
		},
		"an entry removed":  func(tx audit.Tx) error { return tx.Delete(key(4)) },
		"the end cut off":   func(tx audit.Tx) error { return tx.Delete(key(6)) },
		"the first removed": func(tx audit.Tx) error { return tx.Delete(key(1)) },
		"one put in": func(tx audit.Tx) error {
			v, _ := tx.Get(key(6))
			return tx.Put(key(7), v)
		},
		"two exchanged": func(tx audit.Tx) error {
			a, _ := tx.Get(key(2))
			b, _ := tx.Get(key(3))
			return errors.Join(tx.Put(key(2), b), tx.Put(key(3), a))
		},
		"not JSON any more": func(tx audit.Tx) error { return tx.Put(key(5), []byte("{")) },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			log, space := filled(t, 6)
			if n, err := log.Verify(); n != 6 || err != nil {
				t.Fatalf("untouched: %d, %v", n, err)
			}
			if err := space.Update(edit); err != nil {
				t.Fatal(err)
			}
			if _, err := log.Verify(); !errors.Is(err, audit.ErrBroken) {
				t.Fatalf("the change is not found: %v", err)
			}
		})
	}
}

func TestConcurrentRecordsMakeOneChain(t *testing.T) {
	log, _ := filled(t, 0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := log.Record(audit.Entry{Kind: audit.KindToolCall}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := log.Verify(); n != 160 || err != nil {
		t.Fatalf("%d entries, %v", n, err)
	}
}

func TestShortenKeepsWholeCharactersOnOneLine(t *testing.T) {
	if got := audit.Shorten("Grüße\naus Köln", 7); got != "Grüße a…" {
		t.Errorf("got %q", got)
	}
	if got := audit.Shorten("kurz", 4); got != "kurz" {
		t.Errorf("got %q", got)
	}
}
