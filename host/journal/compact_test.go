package journal

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
)

func logOf(records []Record) *Log {
	l := New("r_1", 1)
	l.add(records...)
	return l
}

func TestCompactedRunDrawsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := someRecords(t)
		for i, r := range records { // some large deltas
			if d, ok := r.Obj.(packet.MessageDelta); ok && rapid.Bool().Draw(t, "large") {
				d.Content += strings.Repeat("x", rapid.IntRange(0, joinedBytes).Draw(t, "size"))
				records[i].Obj = d
			}
		}
		before := words(records)
		kept, joined := compact(records)
		if !slices.Equal(words(records), before) {
			t.Fatal("what came in was changed")
		}
		was, is := logOf(records), logOf(kept)
		if v := packettest.CheckReplay(packetsOf(was), packetsOf(is)); v != nil {
			t.Fatal(v)
		}
		if !slices.Equal(factsOf(was), factsOf(is)) || joined != (len(kept) < len(records)) {
			t.Fatalf("%d records of %d, joined is %v", len(kept), len(records), joined)
		}
		if _, more := compact(kept); more {
			t.Fatal("it can be compacted again")
		}
		packettest.Require(t, packetsOf(is))
		original := map[packet.Obj]bool{}
		for _, r := range records {
			if d, ok := r.Obj.(packet.MessageDelta); ok {
				original[d] = true
			}
		}
		for _, r := range kept {
			if d, ok := r.Obj.(packet.MessageDelta); ok && len(d.Content) > joinedBytes && !original[d] {
				t.Fatalf("a delta of %d bytes was made", len(d.Content))
			}
		}
	})
}

func TestOnlyDeltasOfOneThingAreJoined(t *testing.T) {
	at := packet.At(0, 0).ForModel(0)
	out := func(call, delta string, channel packet.Channel) Record {
		return Packet(at, packet.ToolOutput{CallID: call, Channel: channel, Delta: delta})
	}
	args := func(key, delta string) Record {
		return Packet(at, packet.ToolArgsDelta{CallID: "c", Key: key, Delta: delta})
	}
	for name, c := range map[string]struct {
		records []Record
		want    int
	}{
		"text":                 {[]Record{text(0, "a"), text(0, "b"), text(0, "c")}, 1},
		"around another block": {[]Record{text(0, "a"), text(1, "x"), text(0, "b"), text(1, "y")}, 2},
		"not over a fact":      {[]Record{text(0, "a"), named("f"), text(0, "b")}, 3},
		"not over a citation":  {[]Record{text(0, "a"), Packet(at, packet.CitationInfo{}), text(0, "b")}, 3},
		"text and reasoning":   {[]Record{text(0, "a"), Packet(at, packet.ReasoningDelta{Reasoning: "b"})}, 2},
		"output of one channel": {[]Record{out("c", "a", "stdout"), out("c", "b", "stdout"),
			out("c", "c", "stderr")}, 2},
		"output of two calls":  {[]Record{out("c", "a", "stdout"), out("d", "b", "stdout")}, 2},
		"arguments of one key": {[]Record{args("k", "a"), args("k", "b"), args("l", "c")}, 2},
		"reasoning of two at once": {[]Record{Packet(at, packet.ReasoningDelta{}), Packet(at, packet.ReasoningDelta{})},
			1},
		"reports": {[]Record{Packet(at.Nested(0, 0), packet.IntermediateReportDelta{Content: "a"}),
			Packet(at.Nested(0, 0), packet.IntermediateReportDelta{Content: "b"})}, 1},
		"damage": {[]Record{text(0, "a"), {Damaged: ErrDamaged}, text(0, "b")}, 2},
	} {
		kept, joined := compact(c.records)
		if len(kept) != c.want || joined != (c.want < len(c.records)) {
			t.Errorf("%s: %d records, joined is %v, want %d", name, len(kept), joined, c.want)
		}
	}
}
