package journal

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// values are all values of a table, by key.
func values(t testing.TB, db kv.DB, table kv.Table) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := db.View(t.Context(), func(tx kv.Tx) error {
		return tx.Scan(table, "", func(key string, value []byte) bool {
			out[key] = bytes.Clone(value)
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func overwrite(t testing.TB, db kv.DB, table kv.Table, key string, value []byte) {
	t.Helper()
	if err := db.Update(t.Context(), func(tx kv.Tx) error { return tx.Put(table, key, value) }); err != nil {
		t.Fatal(err)
	}
}

// eachDamage calls test with each byte of a value changed, with random groups of bytes
// changed, and with the value cut short.
func eachDamage(value []byte, test func(what string, damaged []byte)) {
	random := rand.New(rand.NewPCG(1, 2))
	for at := 0; at < len(value); at++ {
		if at > 250 && len(value) > 2000 { // far behind the header
			at = min(at+random.IntN(len(value)/100), len(value)-1)
		}
		damaged := bytes.Clone(value)
		damaged[at] ^= byte(1 << random.IntN(8))
		test(fmt.Sprintf("byte %d", at), damaged)
		test(fmt.Sprintf("cut at %d", at), value[:at:at])
	}
	for i := range 200 {
		damaged := bytes.Clone(value)
		at := random.IntN(len(value))
		for j := range min(1+random.IntN(64), len(value)-at) {
			damaged[at+j] = byte(random.Uint32())
		}
		test(fmt.Sprintf("group %d at %d", i, at), damaged)
	}
}

// expectWhole holds what is left of a log against what it was: packets keep their
// numbers, facts their order, and nothing is made up. It tells whether all is there.
func expectWhole(t *testing.T, what string, log *Log, packets []packet.Packet, facts []string) bool {
	t.Helper()
	left := packetsOf(log)
	whole := len(left) == len(packets)
	for i, p := range left {
		if i < len(packets) && p.Placement.Key() == packets[i].Placement.Key() && p.Obj == packets[i].Obj {
			continue
		}
		whole = false
		notice, ok := p.Obj.(packet.Notice)
		if i >= len(packets) || !ok || notice.Code != packet.CodeRecordDamaged || p.Seq != int64(i)+1 {
			t.Fatalf("%s: packet %d is %+v", what, i+1, p)
		}
	}
	at := 0
	for _, f := range factsOf(log) {
		i := slices.Index(facts[at:], f)
		if i < 0 {
			t.Fatalf("%s: the fact %s was not there, or in another place", what, f)
		}
		at += i + 1
	}
	return whole && len(factsOf(log)) == len(facts)
}

func TestDamageOfASealedRunIsToldAndCostsNoMore(t *testing.T) {
	db := kv.NewMemory(nil)
	l := openJournal(t, db, Options{})
	lease := begin(t, l, "r_1", Of(Begun{User: "u_1", Models: []string{"m"}}))
	for i := range 8 {
		size := 10
		if i > 4 {
			size = 25 << 10 // so that there are three sections
		}
		lease.Record(text(i%2, strings.Repeat(fmt.Sprint(i), size)), named(fmt.Sprint(i)))
	}
	e := seal(t, lease, true)
	packets, facts := packetsOf(e.Log()), factsOf(e.Log())
	stored := values(t, db, tableRuns)
	if len(stored) != 2 {
		t.Fatalf("%d sections, want 2", len(stored))
	}
	for key, value := range stored {
		eachDamage(value, func(what string, damaged []byte) {
			what = key + ", " + what
			overwrite(t, db, tableRuns, key, damaged)
			log, err := l.Open(t.Context(), "r_1")
			if err != nil {
				t.Fatalf("%s: %v", what, err) // the other section is whole
			}
			whole := expectWhole(t, what, log, packets, facts)
			if !whole && log.Damage() == nil {
				t.Fatalf("%s: it is not whole, and that is not told", what)
			}
			if log.Epoch() != 2 || !log.Closed() {
				t.Fatalf("%s: epoch %d", what, log.Epoch())
			}
			for _, damage := range log.Damage() {
				if !errors.Is(damage, ErrDamaged) {
					t.Fatalf("%s: %v", what, damage)
				}
			}
			_ = Answers(log.Records(), 1)
		})
		overwrite(t, db, tableRuns, key, value)
	}
	for key := range stored {
		overwrite(t, db, tableRuns, key, nil)
	}
	if _, err := l.Open(t.Context(), "r_1"); !errors.Is(err, ErrDamaged) {
		t.Errorf("nothing can be read, and the error is %v", err)
	}
}

// TestOneDamagedRecordCostsNoOther: a byte of one record, in each.
func TestOneDamagedRecordCostsNoOther(t *testing.T) {
	db := kv.NewMemory(nil)
	l := openJournal(t, db, Options{})
	seal(t, begin(t, l, "r_1", text(0, "aaa"), named("bbb"), text(1, "ccc"), named("ddd")), false)
	key := sectionKey("r_1", 0)
	value := values(t, db, tableRuns)[key]
	for i, word := range []string{"aaa", "bbb", "ccc", "ddd"} {
		overwrite(t, db, tableRuns, key, bytes.Replace(value, []byte(word), []byte("xxx"), 1))
		log := openLog(t, l, "r_1")
		records := slices.Collect(log.Records())
		if len(records) != 4 || len(log.Damage()) != 1 {
			t.Fatalf("%d records, damage %v", len(records), log.Damage())
		}
		for j, r := range records {
			notice, isNotice := r.Obj.(packet.Notice)
			broken := r.Damaged != nil || isNotice && notice.Code == packet.CodeRecordDamaged
			if broken != (i == j) {
				t.Errorf("record %d damaged, record %d is %+v", i, j, r)
			}
		}
	}
}

func TestDamageOfATickIsToldAndCostsNoMore(t *testing.T) {
	db := kv.NewMemory(nil)
	l := openJournal(t, db, Options{Tick: -1})
	leases := []*Lease{begin(t, l, "r_1", text(0, "a")), begin(t, l, "r_2", text(0, "b"))}
	l.mu.Lock() // so that the writer takes both in one tick
	for i := range 4 {
		for _, lease := range leases {
			lease.Record(text(0, fmt.Sprint(i)), named(fmt.Sprint(i)))
		}
	}
	l.mu.Unlock()
	for _, lease := range leases {
		lease.Record(text(1, "end"))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for key, value := range values(t, db, tableTicks) {
		eachDamage(value, func(what string, damaged []byte) {
			what = fmt.Sprintf("%x, %s", key, what)
			overwrite(t, db, tableTicks, key, damaged)
			var logged bytes.Buffer
			again, err := Open(t.Context(), db, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			if err != nil {
				t.Fatal(err)
			}
			whole := true
			for _, lease := range leases {
				log, err := again.Open(t.Context(), lease.log.run)
				if err != nil {
					whole = false
					continue
				}
				one := expectWhole(t, what, log, packetsOf(lease.Log()), factsOf(lease.Log()))
				whole = whole && one
				if log.Epoch() != 1 || log.Closed() {
					t.Fatalf("%s: epoch %d", what, log.Epoch())
				}
			}
			if !whole && logged.Len() == 0 {
				t.Fatalf("%s: it is not whole, and nobody is told", what)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			overwrite(t, db, tableTicks, key, value) // a tick in which nothing could be read was swept
		})
	}
}

// TestLengthBeforeASectionIsNotNeeded: a damaged one costs nothing.
func TestLengthBeforeASectionIsNotNeeded(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	value := appendTick(nil, section{run: "r_1", epoch: 1, rows: []row{{kind: kindPacket, data: []byte("{}")}}})
	first := len(value)
	value = appendTick(value, section{run: "r_2", epoch: 1})
	value[4] ^= 0xff
	if s := l.sections(value, 0); len(s) != 2 || s[0].run != "r_1" || s[1].run != "r_2" {
		t.Errorf("got %+v", s)
	}
	value[4] ^= 0xff
	value[first-10] ^= 0xff // in the first header
	if s := l.sections(value, 0); len(s) != 1 || s[0].run != "r_2" {
		t.Errorf("got %+v", s)
	}
}

// TestRecordsThatAreThereTwiceAreReadOnce: a commit that was reported as failed and was
// written after all is followed by one that begins in the same place.
func TestRecordsThatAreThereTwiceAreReadOnce(t *testing.T) {
	db := kv.NewMemory(nil)
	was := logOf([]Record{text(0, "a"), named("b"), text(1, "c"), named("d"), text(0, "e")})
	rows, _ := was.rowsOf(mark{}, nil)
	err := db.Update(t.Context(), func(tx kv.Tx) error {
		for i, s := range []section{
			{rows: rows[:2]}, {before: mark{1, 1}, rows: rows[2:3]}, {before: mark{1, 1}, rows: rows[2:5]},
			{rows: rows[:3]},
		} {
			s.run, s.epoch = "r_1", 1
			if err := tx.Put(tableTicks, tickKey(uint64(i)), appendTick(nil, s)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	log := openLog(t, openJournal(t, db, Options{}), "r_1")
	if got, want := said(log), said(was); !slices.Equal(got, want) || log.Damage() != nil {
		t.Errorf("got %q, want %q (%v)", got, want, log.Damage())
	}
}

func TestSectionFarBehindTheRestIsRefused(t *testing.T) {
	l := New("r_1", 1)
	l.load(section{run: "r_1", epoch: 1, before: mark{packets: 1 << 60}, rows: []row{{kind: kindFact}}})
	if l.Last() != 0 || len(l.Damage()) != 1 {
		t.Errorf("%d packets, damage %v", l.Last(), l.Damage())
	}
}
