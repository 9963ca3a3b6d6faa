package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

var errFull = errors.New("no space left on device")

// disk is a failpoint that refuses commits while it is full, and knows when it was
// tried.
type disk struct {
	mu    sync.Mutex
	full  bool
	tried []time.Time
}

func (d *disk) stop(before bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !before || !d.full {
		return nil
	}
	d.tried = append(d.tried, time.Now())
	return errFull
}

func (d *disk) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.tried = full, nil
}

func (d *disk) pauses() (pauses []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := 1; i < len(d.tried); i++ {
		pauses = append(pauses, d.tried[i].Sub(d.tried[i-1]).Round(time.Millisecond))
	}
	return pauses
}

// onFullDisk runs a test in a bubble of time, on each engine.
func onFullDisk(t *testing.T, test func(t *testing.T, d *disk, db kv.DB)) {
	for _, engine := range []string{"bolt", "memory"} {
		t.Run(engine, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			synctest.Test(t, func(t *testing.T) {
				d := &disk{}
				db := kv.DB(kv.NewMemory(d.stop))
				if engine == "bolt" {
					db = openPath(t, path, d.stop)
				}
				defer closeOnce(t, db)
				test(t, d, db)
			})
		})
	}
}

func notices(log *Log) (n int) {
	for _, p := range packetsOf(log) {
		if notice, ok := p.Obj.(packet.Notice); ok && notice.Code == packet.CodeNotSaved {
			n++
		}
	}
	return n
}

func TestFullDiskIsToldOncePerOutageAndLosesNothing(t *testing.T) {
	onFullDisk(t, func(t *testing.T, d *disk, db kv.DB) {
		l := openJournal(t, db, Options{})
		leases := []*Lease{begin(t, l, "r_1"), begin(t, l, "r_2")}
		var at []Position
		for outage := range 2 {
			d.set(true)
			for i := range 20 {
				for _, lease := range leases {
					at = append(at, lease.Record(text(0, fmt.Sprint(outage, i)), named("f")))
				}
				time.Sleep(time.Second) // of the bubble
			}
			want := []time.Duration{100, 200, 400, 800, 1600, 3200, 5000}
			for i := range want {
				want[i] *= time.Millisecond
			}
			if got := d.pauses(); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("the pauses are %v, want %v", got, want)
			}
			if b, err := l.Begin("r_3", 1, "test", text(0, "a")); err != nil {
				t.Error(err)
			} else if err := db.Commit(t.Context(), b.Write); !errors.Is(err, errFull) {
				t.Errorf("a run begins on a full disk: %v", err)
			}
			d.set(false)
			// The writer waits yet. A run that begins and ends meanwhile hears nothing.
			short := begin(t, l, fmt.Sprint("r_4", outage), text(0, "a"))
			short.Record(text(0, "b"))
			seal(t, short, false)
			if n := notices(short.Log()); n != 0 {
				t.Errorf("the short run has %d notices", n)
			}
			for i, lease := range leases {
				if n := notices(lease.Log()); n != outage+1 {
					t.Errorf("run %d has %d notices after outage %d", i, n, outage+1)
				}
			}
			for _, p := range at {
				if err := p.Durable(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		again := openJournal(t, db, Options{})
		for _, lease := range leases {
			if got, want := said(openLog(t, again, lease.log.run)), said(lease.Log()); !slices.Equal(got, want) {
				t.Errorf("got %d records, want %d", len(got), len(want))
			}
		}
		if runs := again.Unfinished(); !slices.Equal(runs, []string{"r_1", "r_2"}) {
			t.Errorf("live are %q", runs)
		}
		if log := openLog(t, again, "r_40"); log.Last() != 1 {
			t.Errorf("the short run is %q", said(log))
		}
	})
}

// TestEndOnAFullDiskIsTriedAgain ends a run as its holder does: Seal, Trouble, Seal.
func TestEndOnAFullDiskIsTriedAgain(t *testing.T) {
	onFullDisk(t, func(t *testing.T, d *disk, db kv.DB) {
		l := openJournal(t, db, Options{})
		lease := begin(t, l, "r_1", text(0, "a"))
		lease.Record(text(1, "b"))
		time.Sleep(time.Second) // of the bubble
		d.set(true)
		for range 3 {
			e := lease.Seal(false, Packet(packet.At(0, 0), packet.Stop{}), named("end"))
			if err := db.Update(t.Context(), e.Write); !errors.Is(err, errFull) {
				t.Fatal(err)
			}
			lease.Trouble(errFull)
			time.Sleep(time.Second) // of the bubble
		}
		d.set(false)
		e := seal(t, lease, false, Packet(packet.At(0, 0), packet.Stop{}), named("end"))
		if n := notices(e.Log()); n != 1 {
			t.Errorf("%d notices, want 1", n)
		}
		stored := said(openLog(t, l, "r_1"))
		if !slices.Equal(stored, said(lease.Log())) || e.LiveSeq() != e.Log().Last() || e.Log().Epoch() != 1 {
			t.Errorf("stored is %q, live was %q", stored, said(lease.Log()))
		}
		time.Sleep(time.Minute) // of the bubble, for the writer
		if ticks := tickRuns(t, db); len(ticks) != 0 {
			t.Errorf("ticks are left: %v", ticks)
		}
	})
}

func TestCloseOnAFullDiskDoesNotWait(t *testing.T) {
	onFullDisk(t, func(t *testing.T, d *disk, db kv.DB) {
		l := openJournal(t, db, Options{})
		lease := begin(t, l, "r_1", text(0, "a"))
		d.set(true)
		at := lease.Record(text(1, "b"))
		waiting := make(chan error)
		go func() { waiting <- at.Durable(t.Context()) }()
		time.Sleep(250 * time.Millisecond) // of the bubble: the writer waits to try again
		began := time.Now()
		if err := l.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("Close waited %s, %v", time.Since(began), err)
		}
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("who waits for the disk gets %v, want ErrClosed", err)
		}
		d.set(false)
		again := openJournal(t, db, Options{})
		if got := said(openLog(t, again, "r_1")); len(got) != 1 {
			t.Errorf("got %q", got)
		}
	})
}

// TestCloseTakesWhatTheDiskTakes: the disk is there again when the journal closes.
func TestCloseTakesWhatTheDiskTakes(t *testing.T) {
	onFullDisk(t, func(t *testing.T, d *disk, db kv.DB) {
		l := openJournal(t, db, Options{})
		lease := begin(t, l, "r_1", text(0, "a"))
		d.set(true)
		at := lease.Record(text(1, "b"))
		time.Sleep(250 * time.Millisecond) // of the bubble
		d.set(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := at.Durable(t.Context()); err != nil {
			t.Errorf("what is on disk is not durable: %v", err)
		}
		again := openJournal(t, db, Options{})
		if got, want := said(openLog(t, again, "r_1")), said(lease.Log()); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestDurableEndsWithItsContext(t *testing.T) {
	onFullDisk(t, func(t *testing.T, d *disk, db kv.DB) {
		l := openJournal(t, db, Options{})
		lease := begin(t, l, "r_1")
		d.set(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		at := lease.Record(text(0, "a"))
		if err := at.Durable(ctx); !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
			t.Errorf("got %v", err)
		}
		d.set(false)
		if err := at.Durable(t.Context()); err != nil {
			t.Error(err)
		}
		if err := at.Durable(ctx); err != nil {
			t.Errorf("what is durable needs no waiting: %v", err)
		}
	})
}
