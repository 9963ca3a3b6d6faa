package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest/packetgen"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// someRecords draws the packets of a run with facts among them.
func someRecords(t *rapid.T) (records []Record) {
	for i, p := range packetgen.Stream(t) {
		records = append(records, Packet(p.Placement, p.Obj))
		if rapid.IntRange(0, 9).Draw(t, "fact here") == 0 {
			records = append(records, named(fmt.Sprint(i)))
		}
	}
	return records
}

// TestSealedLogDrawsTheSame ends random runs and reads them again.
func TestSealedLogDrawsTheSame(t *testing.T) {
	dbs := map[string]kv.DB{"bolt": openFile(t, nil), "memory": kv.NewMemory(nil)}
	journals := map[string]*Local{}
	for name, db := range dbs {
		defer closeOnce(t, db)
		journals[name] = openJournal(t, db, Options{Tick: -1})
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		run := fmt.Sprintf("r_%06d", n)
		records := someRecords(rt)
		cut := rapid.IntRange(0, len(records)).Draw(rt, "final")
		newEpoch := rapid.Bool().Draw(rt, "new epoch")
		for _, name := range slices.Sorted(maps.Keys(journals)) {
			l := journals[name]
			lease := begin(rt, l, run)
			for _, r := range records[:cut] {
				lease.Record(r)
			}
			e := seal(rt, lease, newEpoch, records[cut:]...)
			stored, err := l.Open(t.Context(), run)
			if err != nil {
				rt.Fatal(err)
			}
			live := packetsOf(lease.Log())
			if v := packettest.CheckReplay(live, packetsOf(stored)); v != nil {
				rt.Fatalf("%s: the stored log draws something else: %v", name, v)
			}
			if got, want := factsOf(stored), factsOf(lease.Log()); !slices.Equal(got, want) {
				rt.Fatalf("%s: facts are %q, were %q", name, got, want)
			}
			if got, want := said(stored), said(e.Log()); !slices.Equal(got, want) || stored.Damage() != nil ||
				!stored.Closed() {
				rt.Fatalf("%s: stored is %q, should be %q (%v)", name, got, want, stored.Damage())
			}
			joined := stored.Last() != int64(len(live))
			epoch := int64(1)
			if joined || newEpoch {
				epoch = 2
			}
			if stored.Epoch() != epoch || e.Log().Epoch() != epoch {
				rt.Fatalf("%s: epoch %d and %d, want %d", name, e.Log().Epoch(), stored.Epoch(), epoch)
			}
			if e.LiveSeq() != int64(len(live)) || lease.Log().Last() != e.LiveSeq() {
				rt.Fatalf("%s: %d packets were live, LiveSeq is %d", name, len(live), e.LiveSeq())
			}
			if !joined && !slices.Equal(said(stored), said(lease.Log())) {
				rt.Fatalf("%s: nothing was joined, and stored is %q", name, said(stored))
			}
		}
	})
	for name, l := range journals {
		t.Run(name, func(t *testing.T) { swept(t, l) })
	}
}

func TestNothingJoinsALogThatEnds(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	lease := begin(t, l, "r_1", text(0, "a"))
	lease.Seal(false, named("end"))
	lease.Append(packet.At(0, 0), delta(1)) // too late
	l.trouble([]*liveLog{lease.log}, errors.New("a disk"))
	if err := lease.Record(named("late")).Durable(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("a late record: %v", err)
	}
	lease.Trouble(errors.New("the transaction failed")) // and then it may go on
	lease.Trouble(errors.New("again"))
	at := lease.Record(text(1, "b"))
	seal(t, lease, false, named("end"))
	if err := at.Durable(t.Context()); err != nil {
		t.Errorf("what is sealed is not durable: %v", err)
	}
	if got, want := said(openLog(t, l, "r_1")), said(lease.Log()); !slices.Equal(got, want) || len(got) != 4 {
		t.Errorf("stored is %q, live was %q", got, want)
	}
}

// TestWhatIsSealedIsDurable: also what no tick has.
func TestWhatIsSealedIsDurable(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	lease := begin(t, l, "r_1")
	lease.log.tell(nil) // the writer is not woken
	at := lease.Record(text(0, "a"))
	seal(t, lease, false)
	if err := at.Durable(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTicksGoWithTheLastRunInThem(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		db := open(nil)
		l := openJournal(t, db, Options{Tick: -1})
		leases := map[string]*Lease{}
		for _, run := range []string{"r_1", "r_2", "r_3"} {
			leases[run] = begin(t, l, run, text(0, run))
		}
		var at []Position
		for i := range 20 {
			for _, lease := range leases {
				at = append(at, lease.Record(text(0, fmt.Sprint(i))))
			}
		}
		for _, p := range at {
			if err := p.Durable(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		seal(t, leases["r_1"], false)
		shared := 0
		for n, runs := range tickRuns(t, db) {
			if slices.Equal(runs, []string{"r_1"}) {
				t.Errorf("tick %d is of %q alone, which has ended", n, runs)
			}
			if len(runs) > 1 {
				shared++
			}
		}
		if shared == 0 {
			t.Fatal("no tick was shared, so the test shows nothing")
		}
		leases["r_2"].Abandon()
		if err := leases["r_3"].Record(text(0, "last")).Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n, runs := range tickRuns(t, db) {
			if !slices.Contains(runs, "r_3") {
				t.Errorf("tick %d of %q is left", n, runs)
			}
		}
		if _, err := l.Open(t.Context(), "r_2"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the abandoned run: %v", err)
		}
		seal(t, leases["r_3"], false)
		swept(t, l)
		for _, run := range []string{"r_1", "r_3"} {
			if err := db.Update(t.Context(), func(tx kv.Tx) error { return Delete(tx, run) }); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Open(t.Context(), run); !errors.Is(err, ErrNotFound) {
				t.Errorf("deleted: %v", err)
			}
		}
		if keys := runKeys(t, db); len(keys) != 0 {
			t.Errorf("sections are left: %q", keys)
		}
	})
}

func runKeys(t testing.TB, db kv.DB) (keys []string) {
	t.Helper()
	err := db.View(t.Context(), func(tx kv.Tx) error {
		return tx.Scan(tableRuns, "", func(key string, _ []byte) bool {
			keys = append(keys, key)
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestAbandonedRunLeavesNothing: also where nothing else is written.
func TestAbandonedRunLeavesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		l := openJournal(t, open(nil), Options{Tick: -1})
		lease := begin(t, l, "r_1", text(0, "secret"))
		at := lease.Record(text(0, "more"))
		lease.Abandon()
		if err := at.Durable(t.Context()); err != nil && !errors.Is(err, ErrLost) {
			t.Error(err)
		}
		swept(t, l)
		lease.Abandon() // twice is fine
	})
}

func TestRunWithoutRecordsEndsToo(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	seal(t, begin(t, l, "r_1"), true)
	if log := openLog(t, l, "r_1"); log.Epoch() != 2 || log.Last() != 0 || !log.Closed() {
		t.Errorf("epoch %d with %q", log.Epoch(), said(log))
	}
}

func TestLongRunHasSeveralSections(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	lease := begin(t, l, "r_1")
	for i := range 300 {
		lease.Record(text(0, fmt.Sprintf("%01000d", i)), named(fmt.Sprint(i)))
	}
	seal(t, lease, false)
	if n := len(runKeys(t, l.db)); n < 3 {
		t.Errorf("%d sections", n)
	}
	if got, want := said(openLog(t, l, "r_1")), said(lease.Log()); !slices.Equal(got, want) {
		t.Errorf("got %d records, want %d", len(got), len(want))
	}
}

func TestImportedRunsAreLikeOthers(t *testing.T) {
	db := openFile(t, nil)
	defer closeOnce(t, db)
	records := []Record{text(0, "a"), text(0, "b"), named("c")}
	err := db.Update(t.Context(), func(tx kv.Tx) error {
		_, first := Import(tx, "r_1", 3, false, 0, records)
		_, second := Import(tx, "r_2", 3, true, 1, records)
		_, bad := Import(tx, "r/3", 3, true, 2, records)
		if bad == nil {
			t.Error("r/3 is a run")
		}
		return errors.Join(first, second)
	})
	if err != nil {
		t.Fatal(err)
	}
	l := openJournal(t, db, Options{})
	if log := openLog(t, l, "r_1"); log.Epoch() != 4 || log.Last() != 1 || !log.Closed() {
		t.Errorf("epoch %d with %q", log.Epoch(), said(log))
	}
	if log := openLog(t, l, "r_2"); log.Epoch() != 3 || log.Last() != 2 || log.Closed() {
		t.Errorf("epoch %d with %q", log.Epoch(), said(log))
	}
}
