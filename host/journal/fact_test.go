package journal

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

func TestEveryFactIsReadAsItWasWritten(t *testing.T) {
	for _, want := range everyFact() {
		same, data := encodeFact(want)
		got, err := decodeFact(data)
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(same, want) {
			t.Errorf("%s is read as %+v (%v), was %+v", data, got, err, want)
		}
	}
}

// TestFactIsKeptWithoutWhatIsNoJSON: live as it is stored.
func TestFactIsKeptWithoutWhatIsNoJSON(t *testing.T) {
	good, bad := json.RawMessage(`{}`), json.RawMessage(`{"cut`)
	list := []struct{ in, want Fact }{
		{Step{Text: "a", Native: bad, Usage: &Usage{CachedTokens: 3}}, Step{Text: "a", Usage: &Usage{CachedTokens: 3}}},
		{Step{Native: good, Usage: &Usage{Cost: math.NaN()}}, Step{Native: good, Usage: &Usage{}}},
		{Step{Native: good, Usage: &Usage{Cost: math.Inf(1)}}, Step{Native: good, Usage: &Usage{}}},
		{CallDone{CallID: "c", Text: "b", Structured: bad}, CallDone{CallID: "c", Text: "b"}},
		{CallDone{CallID: "c", Structured: json.RawMessage{}}, CallDone{CallID: "c"}},
		{Begun{User: "u", Agent: bad}, Begun{User: "u"}},
	}
	l := openJournal(t, kv.NewMemory(nil), Options{})
	lease := begin(t, l, "r_1")
	for _, c := range list {
		lease.Record(Of(c.in))
	}
	e := seal(t, lease, false)
	for _, log := range []*Log{lease.Log(), e.Log(), openLog(t, l, "r_1")} {
		i := 0
		for r := range log.Records() {
			if !sameFact(r.Fact, list[i].want) {
				t.Errorf("got %+v, want %+v", r.Fact, list[i].want)
			}
			i++
		}
		if log.Damage() != nil || i != len(list) {
			t.Errorf("%d facts, damage %v", i, log.Damage())
		}
	}
}

func sameFact(a, b Fact) bool {
	_, x := encodeFact(a)
	_, y := encodeFact(b)
	return string(x) == string(y) && reflect.TypeOf(a) == reflect.TypeOf(b)
}

// TestWhatALaterVersionWroteGoesThroughUnharmed: over a start, Seal and another start.
func TestWhatALaterVersionWroteGoesThroughUnharmed(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(kv.Stop) kv.DB) {
		db := open(nil)
		facts := []string{
			`{"fact":"later","v":7,"of":{"a":"<b>","c":[1, 2]}}`,
			`{"fact":"held","v":1,"of":{"model":0,"call_id":"c","later":"d"}}`,
		}
		body := `{"placement":` + string(appendPlacement(nil, packet.At(1, 0).ForModel(0))) + `,"obj":`
		packets := []string{
			body + `{"type":"later","a":{"b":1}}}`,
			body + `{"type":"message_delta","content":"a","later":"b"}}`,
		}
		s := section{run: "r_1", epoch: 1}
		for i := range facts {
			s.rows = append(s.rows, row{kind: kindPacket, data: []byte(packets[i])})
			s.rows = append(s.rows, row{kind: kindFact, data: []byte(facts[i])})
		}
		err := db.Update(t.Context(), func(tx kv.Tx) error {
			return tx.Put(tableTicks, tickKey(4),
				appendTick(nil, s))
		})
		if err != nil {
			t.Fatal(err)
		}
		l := openJournal(t, db, Options{})
		lease, err := l.Lease(t.Context(), "r_1", "test")
		if err != nil {
			t.Fatal(err)
		}
		seal(t, lease, false, text(1, "end"))
		for name, log := range map[string]*Log{"live": lease.Log(), "stored": openLog(t, l, "r_1")} {
			rows, _ := log.rowsOf(mark{}, nil)
			var got []string
			for _, r := range rows {
				if r.bare {
					r.data = slices.Concat([]byte{'{'}, r.data)
				}
				got = append(got, string(r.data))
			}
			want := []string{packets[0], facts[0], packets[1], facts[1]}
			if !slices.Equal(got[:4], want) || log.Damage() != nil {
				t.Errorf("%s: got %q, want %q", name, got[:4], want)
			}
			entries, err := log.Read(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if u, ok := entries[0].Packet.Obj.(packet.Unknown); !ok || u.Name != "later" ||
				!json.Valid(entries[0].JSON) {
				t.Errorf("%s: the packet is %s", name, entries[0].JSON)
			}
			if a := Answers(log.Records(), 1); a[0].Text != "a" {
				t.Errorf("%s: the text is %q", name, a[0].Text)
			}
		}
	})
}
