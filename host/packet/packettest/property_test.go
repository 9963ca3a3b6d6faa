package packettest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest/packetgen"
)

func TestEveryValidStreamPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets := packetgen.Stream(t)
		Require(t, packets, Stored(0, Text(packets, 0)))
		if found := CheckReplay(packets, slices.Clone(packets)); len(found) != 0 {
			t.Fatalf("a stream is not its own replay: %v", found)
		}
	})
}

// mutations are edits each of which breaks any valid stream. on tells which
// packets an edit applies to.
var mutations = map[string]struct {
	on   func(packet.Packet) bool
	edit func(packets []packet.Packet, i int) []packet.Packet
}{
	"drop": {isFrame, func(p []packet.Packet, i int) []packet.Packet {
		return renumber(slices.Delete(slices.Clone(p), i, i+1))
	}},
	"lose a number": {isAny, func(p []packet.Packet, i int) []packet.Packet {
		return slices.Concat(p[:i], bump(p[i:]))
	}},
	"send twice": {isFrame, func(p []packet.Packet, i int) []packet.Packet {
		return renumber(slices.Insert(slices.Clone(p), i, p[i]))
	}},
	"send after the end": {isAny, func(p []packet.Packet, i int) []packet.Packet {
		return renumber(append(slices.Clone(p), p[i]))
	}},
	"delay beyond the stop": {isClosing, func(p []packet.Packet, i int) []packet.Packet {
		return move(p, i, len(p)-1)
	}},
	"send before run_started": {isOfModel, func(p []packet.Packet, i int) []packet.Packet {
		return move(p, i, 0)
	}},
	"put elsewhere": {isOfBlock, func(p []packet.Packet, i int) []packet.Packet {
		out := slices.Clone(p)
		out[i].Placement.TurnIndex += 1000
		return out
	}},
	"give to another model": {isOfModel, func(p []packet.Packet, i int) []packet.Packet {
		out := slices.Clone(p)
		out[i].Placement = out[i].Placement.ForModel(9)
		return out
	}},
	"take the model away": {isOfBlock, func(p []packet.Packet, i int) []packet.Packet {
		out := slices.Clone(p)
		out[i].Placement.ModelIndex = nil
		return out
	}},
}

func isAny(packet.Packet) bool { return true }

func isOfModel(p packet.Packet) bool { return p.Placement.ModelIndex != nil }

// isFrame is true for packets that a stream needs exactly once.
func isFrame(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.RunStarted, packet.Stop, packet.ReasoningStart, packet.MessageStart, packet.ToolStart,
		packet.ApprovalRequest,
		packet.ApprovalResolved:
		return true
	}
	return isClosing(p)
}

func isClosing(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.ReasoningDone, packet.MessageEnd, packet.SectionEnd:
		return true
	}
	return false
}

// isOfBlock is true for packets that stand in a block, opening ones left out.
func isOfBlock(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.ReasoningDelta, packet.MessageDelta, packet.CitationInfo, packet.ToolArgs, packet.ToolOutput,
		packet.ToolError:
		return true
	}
	return isClosing(p)
}

func bump(packets []packet.Packet) []packet.Packet {
	out := slices.Clone(packets)
	for i := range out {
		out[i].Seq++
	}
	return out
}

func TestEverySingleMutationIsCaught(t *testing.T) {
	for name, mutation := range mutations {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				packets := packetgen.Stream(t)
				var fitting []int
				for i, p := range packets {
					if mutation.on(p) {
						fitting = append(fitting, i)
					}
				}
				i := rapid.SampledFrom(fitting).Draw(t, "packet")
				broken := mutation.edit(packets, i)
				if len(Check(broken)) == 0 {
					t.Fatalf("not caught at packet %d:\n%s", i+1, Dump(broken))
				}
			})
		})
	}
}
