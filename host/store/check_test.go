package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// TestCheckFindsWhatIsWrongWithAJournal spoils the journal of a run that ended.
func TestCheckFindsWhatIsWrongWithAJournal(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(tx kv.Tx, run string) error
		want  string
	}{
		"gone":   {func(tx kv.Tx, run string) error { return journal.Delete(tx, run) }, "cannot be read"},
		"spoilt": {spoilJournal, "a part of its journal cannot be read"},
		"shorter": {func(tx kv.Tx, run string) error {
			_, err := journal.Import(tx, run, 1, false, 0, []journal.Record{journal.Packet(packet.At(0, 0),
				packet.MessageStart{})})
			return err
		}, "its journal has 1 packets in epoch 1, and should have 2 in epoch 1"},
		"of another epoch": {func(tx kv.Tx, run string) error {
			_, err := journal.Import(tx, run, 2, false, 0, []journal.Record{journal.Packet(packet.At(0, 0),
				packet.MessageStart{})})
			return err
		}, "in epoch 2"},
		"without a result": {func(tx kv.Tx, run string) error {
			at := packet.At(0, 0)
			step := journal.Step{Calls: []journal.Call{{ID: "c", Name: "clock"}}}
			_, err := journal.Import(tx, run, 1, false, 0, []journal.Record{
				journal.Packet(at, packet.MessageStart{}), journal.Packet(at, packet.MessageEnd{}), journal.Of(step),
			})
			return err
		}, "a call has no result"},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, open func(Options) *Store) {
				s := open(Options{})
				b := ask(t, s, newUser(t, s, "ada"), "", "hello")
				f := withJournal(b.Run, Finish{StopReason: StatusCompleted}, "hello", "you")
				if err := s.Runs().Finish(t.Context(), b.Run.ID, f); err != nil {
					t.Fatal(err)
				}
				expectSound(t, s)
				if err := s.update(t.Context(), func(tx kv.Tx) error { return c.spoil(tx, b.Run.ID) }); err != nil {
					t.Fatal(err)
				}
				problems := s.Check(t.Context())
				if len(problems) != 1 || problems[0].Key != b.Run.ID || !strings.Contains(problems[0].Message, c.want) {
					t.Errorf("found %+v, want %q", problems, c.want)
				}
			})
		})
	}
}

// spoilJournal flips the last bytes of the journal of a run.
func spoilJournal(tx kv.Tx, run string) error {
	for _, each := range journal.Tables() {
		key, value, found := tx.Last(each, run+"/")
		if !found {
			continue
		}
		value = append([]byte(nil), value...)
		value[len(value)-2] ^= 0xff
		return tx.Put(each, key, value)
	}
	return errors.New("it has none")
}

func TestCheckFindsWhatDoesNotFitTogether(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b := ask(t, s, ada, "", "hello")
		complete(t, s, b, "hi")
		live := ask(t, s, ada, "", "live")
		expectSound(t, s)
		err := s.update(t.Context(), func(tx kv.Tx) error {
			return errors.Join(
				table.Live.Delete(tx, live.Session.ID),
				table.SessionRuns.Delete(tx, table.Join(b.Session.ID, b.Run.ID)),
				table.SessionMsgs.PutRaw(tx, table.Join(b.Session.ID, "m_gone"), nil))
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			live.Run.ID:                        "the list of live runs has it wrong",
			b.Run.ID:                           "it is missing in its session's list",
			table.Join(b.Session.ID, "m_gone"): "it leads to messages/m_gone, which is not there",
		}
		problems := s.Check(t.Context())
		for _, p := range problems {
			if p.Message != want[p.Key] {
				t.Errorf("found %+v", p)
			}
			delete(want, p.Key)
		}
		if len(want) > 0 {
			t.Errorf("not found: %v", want)
		}
	})
}
