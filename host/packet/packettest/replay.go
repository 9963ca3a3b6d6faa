package packettest

import (
	"bytes"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Text returns the answer of one model as a client shows it: its message_delta
// packets joined, without those of nested agents.
func Text(packets []packet.Packet, model int) string {
	var b strings.Builder
	for _, p := range packets {
		delta, ok := p.Obj.(packet.MessageDelta)
		if key := p.Placement.Key(); ok && key.Model == model && key.SubTurn < 0 {
			b.WriteString(delta.Content)
		}
	}
	return b.String()
}

// Block is what a client shows of one block.
type Block struct {
	Place packet.Key
	// Content is the block's packets in order, from the opening one to the
	// closing one, with deltas that follow each other joined into one.
	Content []packet.Obj
}

// Blocks returns the blocks of a stream in the order in which they opened. Two
// streams that draw the same have equal blocks, however their deltas were cut.
func Blocks(packets []packet.Packet) []Block {
	var blocks []Block
	index := map[packet.Key]int{}
	for _, p := range packets {
		switch p.Obj.(type) {
		case packet.SessionCreated, packet.RunStarted, packet.TopLevelBranching, packet.Notice,
			packet.Error, packet.Usage, packet.Stop, packet.Unknown:
			continue
		}
		key := p.Placement.Key()
		i, ok := index[key]
		if !ok {
			i = len(blocks)
			index[key] = i
			blocks = append(blocks, Block{Place: key})
		}
		blocks[i].Content = appendJoined(blocks[i].Content, p.Obj)
	}
	return blocks
}

// appendJoined appends obj, or adds it to the last entry where both are deltas
// of the same thing.
func appendJoined(content []packet.Obj, obj packet.Obj) []packet.Obj {
	if len(content) > 0 {
		if joined, ok := join(content[len(content)-1], obj); ok {
			content[len(content)-1] = joined
			return content
		}
	}
	return append(content, obj)
}

func join(last, next packet.Obj) (packet.Obj, bool) {
	switch a := last.(type) {
	case packet.ReasoningDelta:
		if b, ok := next.(packet.ReasoningDelta); ok {
			a.Reasoning += b.Reasoning
			return a, true
		}
	case packet.MessageDelta:
		if b, ok := next.(packet.MessageDelta); ok {
			a.Content += b.Content
			return a, true
		}
	case packet.IntermediateReportDelta:
		if b, ok := next.(packet.IntermediateReportDelta); ok {
			a.Content += b.Content
			return a, true
		}
	case packet.ToolArgsDelta:
		if b, ok := next.(packet.ToolArgsDelta); ok && a.CallID == b.CallID && a.Key == b.Key {
			a.Delta += b.Delta
			return a, true
		}
	case packet.ToolOutput:
		if b, ok := next.(packet.ToolOutput); ok && a.CallID == b.CallID && a.Channel == b.Channel {
			a.Delta += b.Delta
			return a, true
		}
	}
	return nil, false
}

// CheckReplay compares a replay with the stream that was sent first, for rule
// 10. Nil means that both draw the same.
func CheckReplay(sent, replay []packet.Packet) []Violation {
	var seq int64
	if len(replay) > 0 {
		seq = replay[len(replay)-1].Seq
	}
	c := &Checker{seq: seq}
	a, b := Blocks(sent), Blocks(replay)
	if len(a) != len(b) {
		c.fail(RuleSameReplay, "the replay has %d blocks, the run had %d", len(b), len(a))
	}
	for i := range min(len(a), len(b)) {
		if a[i].Place != b[i].Place {
			c.fail(RuleSameReplay, "block %d of the replay is at %s, in the run it was at %s", i, b[i].Place,
				a[i].Place)
			continue
		}
		if !equalContent(a[i].Content, b[i].Content) {
			c.fail(RuleSameReplay, "the block at %s has other content in the replay", a[i].Place)
		}
	}
	return c.found
}

func equalContent(a, b []packet.Obj) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, errX := packet.EncodeObj(a[i])
		y, errY := packet.EncodeObj(b[i])
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}
