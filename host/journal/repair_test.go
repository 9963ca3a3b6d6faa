package journal

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest/packetgen"
)

// closed returns packets with what Unfinished adds.
func closed(packets []packet.Packet, models int) []packet.Packet {
	out := slices.Clone(packets)
	for _, m := range Unfinished(packets, models) {
		out = append(out, packet.Packet{Run: "r_1", Epoch: 1, Seq: int64(len(out)) + 1, Placement: m.Place, Obj: m.Obj})
	}
	return out
}

// TestEveryBeginningIsClosed cuts runs off after each of their packets and
// holds what Unfinished makes of it to the protocol.
func TestEveryBeginningIsClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets := packetgen.Stream(t)
		started := slices.IndexFunc(packets, func(p packet.Packet) bool { return p.Obj.Type() == "run_started" })
		for cut := started + 1; cut <= len(packets); cut++ {
			whole := closed(packets[:cut], 0)
			packettest.Require(t, whole, packettest.Stored(0, packettest.Text(packets[:cut], 0)))
			if cut == len(packets) && len(whole) != cut {
				t.Fatalf("an ended run got %d more packets", len(whole)-cut)
			}
		}
	})
}

// TestModelThatFailedStopsWithError: the crash fell between the error and the
// stop that follows it.
func TestModelThatFailedStopsWithError(t *testing.T) {
	l := New("r_1", 1)
	l.Append(packet.Placement{}, packet.RunStarted{Responses: []packet.Response{{ModelIndex: 0}}})
	l.Append(packet.At(0, 0).ForModel(0), packet.NewError(packet.CodeModelFailed, ""))
	entries, err := l.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var packets []packet.Packet
	for _, e := range entries {
		packets = append(packets, e.Packet)
	}
	whole := closed(packets, 1)
	packettest.Require(t, whole)
	for _, p := range whole[2:] {
		if p.Obj != (packet.Stop{Reason: packet.StopError}) {
			t.Errorf("the run ends with %+v", p.Obj)
		}
	}
}

func TestRunWithoutAnyPacketGetsItsStops(t *testing.T) {
	missing := Unfinished(nil, 2)
	if len(missing) != 3 {
		t.Fatalf("%d packets, want a stop for each of 2 models and the run's", len(missing))
	}
	for _, m := range missing {
		if m.Obj != (packet.Stop{Reason: packet.StopInterrupted}) {
			t.Errorf("got %+v", m.Obj)
		}
	}
}
