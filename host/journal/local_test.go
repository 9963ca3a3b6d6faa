package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// TestRecordIsNeverParted has many append groups of a packet, a fact and a packet, live
// and after a start.
func TestRecordIsNeverParted(t *testing.T) {
	const writers, each = 6, 40
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		db := open(nil)
		l := openJournal(t, db, Options{Tick: -1})
		lease := begin(t, l, "r_1")
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					name := fmt.Sprintf("%d-%d", w, i)
					at := lease.Record(text(0, name), named(name), text(0, name))
					if i%8 != 0 {
						continue
					}
					if err := at.Durable(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		check := func(log *Log) {
			t.Helper()
			next := map[int]int{}
			records := slices.Collect(log.Records())
			if len(records) != 3*writers*each {
				t.Fatalf("%d records, want %d", len(records), 3*writers*each)
			}
			for group := range slices.Chunk(records, 3) {
				fact, ok := group[1].Fact.(CallStarted)
				if !ok || group[0].Obj != (packet.MessageDelta{Content: fact.CallID}) || group[2].Obj != group[0].Obj {
					t.Fatalf("parted: %v", words(group))
				}
				var w, i int
				if _, err := fmt.Sscanf(fact.CallID, "%d-%d", &w, &i); err != nil || next[w] != i {
					t.Fatalf("writer %d: %d came when %d was next (%v)", w, i, next[w], err)
				}
				next[w]++
			}
		}
		check(lease.Log())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		again := openJournal(t, db, Options{})
		check(openLog(t, again, "r_1"))
	})
}

func TestReadBeginsBehindAPositionAndFollowsALiveRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		l := openJournal(t, open(nil), Options{})
		lease := begin(t, l, "r_1", named("begun"), text(0, "a"))
		got := make([][]string, 5)
		var wg sync.WaitGroup
		for after := range got {
			wg.Go(func() {
				for r, err := range l.Read(t.Context(), "r_1", int64(after)) {
					if err != nil {
						t.Error(err)
					}
					got[after] = append(got[after], words([]Record{r})[0])
				}
			})
		}
		lease.Record(text(1, "b"), named("c"), text(0, "d"))
		at := lease.Record(named("e"))
		if at.Number() != 6 {
			t.Errorf("the position is %d, want 6", at.Number())
		}
		seal(t, lease, false, Packet(packet.At(0, 0), packet.Stop{}), Of(End{Reason: "completed"}))
		wg.Wait()
		want := said(lease.Log())
		if len(want) != 8 {
			t.Fatalf("the live log holds %q", want)
		}
		for after := range got {
			if !slices.Equal(got[after], want[after:]) {
				t.Errorf("after %d: got %q, want %q", after, got[after], want[after:])
			}
		}
		var stored []string
		for r, err := range l.Read(t.Context(), "r_1", 2) {
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, words([]Record{r})[0])
		}
		if !slices.Equal(stored, want[2:]) {
			t.Errorf("stored after 2: %q, want %q", stored, want[2:])
		}
	})
}

func TestReadEndsWithItsContextAndItsReader(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	begin(t, l, "r_1", text(0, "a"), text(0, "b"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range l.Read(ctx, "r_1", 0) {
		if n++; n == 2 {
			cancel()
		}
		last = err
	}
	if n != 3 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d records, then %v", n, last)
	}
	for range l.Read(t.Context(), "r_1", 0) {
		break
	}
	for r, err := range l.Read(t.Context(), "r_2", 0) {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v, %v", r, err)
		}
	}
}

func TestOneLeaseAtATime(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		db := open(nil)
		l := openJournal(t, db, Options{})
		lease := begin(t, l, "r_1", text(0, "a"))
		if _, err := l.Lease(t.Context(), "r_1", "other"); !errors.Is(err, ErrTaken) {
			t.Errorf("got %v, want ErrTaken", err)
		}
		if _, err := l.Lease(t.Context(), "r_2", "other"); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), lease, text(0, "b")); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if _, err := l.Lease(t.Context(), "r_1", "other"); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		again := openJournal(t, db, Options{})
		if runs := again.Unfinished(); !slices.Equal(runs, []string{"r_1"}) {
			t.Fatalf("live are %q", runs)
		}
		second, err := again.Lease(t.Context(), "r_1", "after a crash")
		if err != nil {
			t.Fatal(err)
		}
		at, err := again.Append(t.Context(), second, text(0, "b"))
		if err == nil {
			err = at.Durable(t.Context())
		}
		if err != nil || second.Log().Last() != 2 {
			t.Errorf("appended with %v, %q", err, said(second.Log()))
		}
	})
}

func TestNothingIsTakenUnderALostLease(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, l *Lease){
		"seal":    func(t *testing.T, l *Lease) { seal(t, l, false) },
		"abandon": func(_ *testing.T, l *Lease) { l.Abandon() },
		"release": func(_ *testing.T, l *Lease) { l.Release() },
	} {
		t.Run(name, func(t *testing.T) {
			l := openJournal(t, kv.NewMemory(nil), Options{})
			lease := begin(t, l, "r_1", text(0, "a"))
			end(t, lease)
			if _, err := l.Append(t.Context(), lease, text(0, "b")); !errors.Is(err, ErrLost) {
				t.Errorf("Append: %v, want ErrLost", err)
			}
			if err := lease.Record(text(0, "b")).Durable(t.Context()); !errors.Is(err, ErrLost) {
				t.Errorf("Durable: %v, want ErrLost", err)
			}
			if lease.Append(packet.At(0, 0), delta(1)); lease.Log().Last() != 1 {
				t.Errorf("the log holds %q", said(lease.Log()))
			}
			if err := lease.Author(0).CallStarted(t.Context(), CallStarted{Writes: true}); !errors.Is(err, ErrLost) {
				t.Errorf("a write may begin: %v", err)
			}
		})
	}
}

func TestBeginThatIsNotCommittedLeavesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		db := open(nil)
		l := openJournal(t, db, Options{})
		failed := errors.New("failed")
		b, err := l.Begin("r_1", 1, "test", text(0, "a"))
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx kv.Tx) error { return errors.Join(b.Write(tx), failed) })
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if _, err := l.Open(t.Context(), "r_1"); !errors.Is(err, ErrNotFound) || len(l.Unfinished()) != 0 {
			t.Errorf("got %v, live are %q", err, l.Unfinished())
		}
		// The same transaction twice, each time with a Begin of its own, as a Commit does
		// whose neighbour failed.
		tries := 0
		err = db.Update(t.Context(), func(tx kv.Tx) error {
			for range 2 {
				var err error
				if tries++; tries > 1 {
					b, err = l.Begin("r_1", 1, "test", text(0, "a"))
				}
				if err := errors.Join(err, b.Write(tx), b.Write(tx)); err != nil {
					return err
				}
				if tries == 1 {
					if err := tx.Delete(tableTicks, tickKey(b.number)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		lease := b.Lease()
		if err := lease.Record(text(0, "b")).Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		again := openJournal(t, db, Options{})
		if got := said(openLog(t, again, "r_1")); !slices.Equal(got, said(lease.Log())) {
			t.Errorf("got %q, want %q", got, said(lease.Log()))
		}
		for _, run := range []string{"", "r/1"} {
			if _, err := l.Begin(run, 1, "test"); err == nil {
				t.Errorf("%q is a run", run)
			}
		}
		if _, err := l.Begin("r_3", 1, "test"); !errors.Is(err, ErrClosed) {
			t.Errorf("Begin after Close: %v", err)
		}
	})
}

func TestCloseEndsReadersAndASecondIsAnError(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	b, err := l.Begin("r_2", 1, "test")
	if err != nil {
		t.Fatal(err)
	}
	begin(t, l, "r_1", text(0, "a"))
	reading, ended := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for _, err := range l.Read(context.Background(), "r_1", 0) {
			if n++; err != nil {
				t.Error(err)
			}
			close(reading)
		}
		ended <- n
	}()
	<-reading
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := <-ended; n != 1 {
		t.Errorf("the reader got %d records", n)
	}
	if err := l.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	if err := b.Lease().Record(text(0, "a")).Durable(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a run that began while the journal closed: %v", err)
	}
}
