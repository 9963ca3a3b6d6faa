package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// eachEngine runs a test on a file and in memory, each with its failpoint.
func eachEngine(t *testing.T, test func(t *testing.T, open func(kv.Stop) kv.DB)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB, kv.Stop) kv.DB{
		"bolt":   openFile,
		"memory": func(_ testing.TB, stop kv.Stop) kv.DB { return kv.NewMemory(stop) },
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(stop kv.Stop) kv.DB {
				db := open(t, stop)
				t.Cleanup(func() { closeOnce(t, db) })
				return db
			})
		})
	}
}

func openFile(t testing.TB, stop kv.Stop) kv.DB {
	t.Helper()
	return openPath(t, filepath.Join(t.TempDir(), "journal.db"), stop)
}

func openPath(t testing.TB, path string, stop kv.Stop) kv.DB {
	t.Helper()
	db, err := kv.OpenBolt(path, kv.BoltOptions{LockTimeout: time.Minute, Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closeOnce(t testing.TB, db kv.DB) {
	if err := db.Close(); err != nil && !errors.Is(err, kv.ErrClosed) {
		t.Error(err)
	}
}

// tester is what the helpers need of testing.TB; rapid's T has it too.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func openJournal(t testing.TB, db kv.DB, o Options) *Local {
	t.Helper()
	l, err := Open(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return l
}

// begin begins a run.
func begin(t tester, l *Local, run string, records ...Record) *Lease {
	t.Helper()
	b, err := l.Begin(run, 1, "test", records...)
	if err == nil {
		err = l.db.Update(context.Background(), b.Write)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Lease()
}

// seal ends a run.
func seal(t tester, lease *Lease, newEpoch bool, records ...Record) *Ending {
	t.Helper()
	e := lease.Seal(newEpoch, records...)
	if err := lease.local.db.Update(context.Background(), e.Write); err != nil {
		t.Fatal(err)
	}
	e.Done()
	return e
}

func openLog(t testing.TB, l *Local, run string) *Log {
	t.Helper()
	log, err := l.Open(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// text is a delta of a model's text.
func text(model int, s string) Record {
	return Packet(packet.At(0, 0).ForModel(model), packet.MessageDelta{Content: s})
}

// named is a fact that is told apart by a name.
func named(name string) Record { return Of(CallStarted{CallID: name}) }

// said writes the records of a log each as a word.
func said(log *Log) []string {
	return words(slices.Collect(log.Records()))
}

func words(records []Record) (out []string) {
	for _, r := range records {
		switch {
		case r.Damaged != nil:
			out = append(out, "damaged")
		case r.Obj != nil:
			raw, _ := packet.EncodeObj(r.Obj)
			out = append(out, fmt.Sprintf("%s %s", r.Place.Key(), raw))
		default:
			_, data := encodeFact(r.Fact)
			out = append(out, string(data))
		}
	}
	return out
}

func packetsOf(log *Log) (packets []packet.Packet) {
	for r := range log.Records() {
		if r.Obj != nil {
			packets = append(packets, packet.Packet{Run: log.run, Epoch: log.epoch, Seq: r.Seq, Placement: r.Place,
				Obj: r.Obj})
		}
	}
	return packets
}

func factsOf(log *Log) (facts []string) {
	for r := range log.Records() {
		if r.Fact != nil {
			facts = append(facts, words([]Record{r})[0])
		}
	}
	return facts
}

// tickRuns are the runs in the table of ticks, by the number of the tick.
func tickRuns(t testing.TB, db kv.DB) map[uint64][]string {
	t.Helper()
	runs := map[uint64][]string{}
	err := db.View(t.Context(), func(tx kv.Tx) error {
		return tx.Scan(tableTicks, "", func(key string, value []byte) bool {
			n := binary.BigEndian.Uint64([]byte(key))
			runs[n] = []string{}
			for value = value[4:]; len(value) > 0; {
				size := binary.LittleEndian.Uint32(value)
				s, rest, err := decodeSection(value[4 : 4+size])
				if err != nil || len(rest) != 0 {
					t.Errorf("tick %d: %v, %d bytes left", n, err, len(rest))
				}
				runs[n] = append(runs[n], s.run)
				value = value[4+size:]
			}
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// swept waits until no tick is left.
func swept(t *testing.T, l *Local) {
	t.Helper()
	for range 1000 {
		if len(tickRuns(t, l.db)) == 0 {
			return
		}
		// A transaction behind the writer's.
		if err := l.db.Commit(t.Context(), func(kv.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("ticks are left: %v", tickRuns(t, l.db))
}
