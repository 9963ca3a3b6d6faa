package packettest

import (
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// blockPacket takes a packet that opens a block, closes one or stands in one.
func (c *Checker) blockPacket(m *model, key packet.Key, obj packet.Obj) {
	switch obj := obj.(type) {
	case packet.ReasoningStart:
		c.open(m, key, kindReasoning)
	case packet.MessageStart:
		c.open(m, key, kindMessage)
	case packet.ToolStart:
		c.toolStart(m, key, obj)
	case packet.ReasoningDelta:
		c.inside(m, key, kindReasoning, obj)
	case packet.ReasoningDone:
		c.close(m, c.inside(m, key, kindReasoning, obj))
	case packet.MessageDelta, packet.CitationInfo, packet.CitationSupport:
		c.messagePacket(m, key, obj)
	case packet.MessageEnd:
		c.close(m, c.inside(m, key, kindMessage, obj))
	case packet.ResearchAgentStart:
		c.agentStart(m, key, obj)
	case packet.IntermediateReportStart, packet.IntermediateReportDelta, packet.IntermediateReportCitedDocs,
		packet.IntermediateReportEnd:
		c.reportPacket(m, key, obj)
	default:
		c.toolPacket(m, key, obj)
	}
}

// open opens a block and returns it, also where it should not have been opened.
func (c *Checker) open(m *model, key packet.Key, k kind) *block {
	a, index, tab := m.agentOf(key)
	if key.SubTurn >= 0 {
		if parent := m.blocks[parentOf(key)]; parent == nil || parent.kind != kindTool || parent.closed {
			c.fail(RuleClosed, "the nested block at %s opens outside an open tool block", key)
		}
	}
	if a.reasoning != nil {
		c.fail(RuleReasoning, "a %s block opens at %s before the reasoning at %s closed", k, key, a.reasoning.place)
	}
	c.checkTurn(a, index, key, k)
	if old := m.blocks[key]; old != nil {
		c.fail(RuleReasoning, "two blocks share the place %s", key)
		c.close(m, old) // so that one mistake is told once
	} else {
		c.checkNeighbours(a, index, key, k)
	}
	t := a.at(index)
	if t.announced != nil && !slices.Contains(t.announced, tab) {
		c.fail(RuleFields, "tab %d of turn %d was not announced", tab, index)
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(w int) bool { return w == tab })
	t.kind = k
	t.open++
	a.turn = max(a.turn, index)
	b := &block{kind: k, place: key}
	m.blocks[key] = b
	if k == kindReasoning {
		a.reasoning = b
	}
	return b
}

// checkTurn reports a block that falls back in turn_index.
func (c *Checker) checkTurn(a *agent, index int, key packet.Key, k kind) {
	if index >= a.turn {
		return
	}
	t := a.turns[index]
	if k == kindTool && t != nil && (t.kind == kindTool || t.announced != nil) && (t.open > 0 || len(t.waiting) > 0) {
		return // a further tab of a tool turn that has not ended
	}
	c.fail(RuleTurnOrder, "a %s block opens at %s after turn %d was opened", k, key, a.turn)
}

// checkNeighbours reports blocks that may not stand under one turn_index.
func (c *Checker) checkNeighbours(a *agent, index int, key packet.Key, k kind) {
	t := a.turns[index]
	switch {
	case t == nil || t.kind == "" || (t.kind == kindTool && k == kindTool):
	case t.kind == kindReasoning || k == kindReasoning:
		c.fail(RuleReasoning, "a %s block opens at %s in the turn of a %s block", k, key, t.kind)
	case t.kind != k:
		c.fail(RuleNarration, "a %s block opens at %s in the turn of a %s block", k, key, t.kind)
	default:
		c.fail(RuleTurnOrder, "a second block of text opens at %s in the same turn", key)
	}
}

// inside returns the open block of kind k at key, or reports that there is none
// and returns nil.
func (c *Checker) inside(m *model, key packet.Key, k kind, obj packet.Obj) *block {
	b := m.blocks[key]
	switch {
	case b == nil:
		c.fail(RuleClosed, "%s at %s, where no block was opened", obj.Type(), key)
		return nil
	case b.kind != k:
		c.fail(RuleClosed, "%s at %s, inside a %s block", obj.Type(), key, b.kind)
		return nil
	case b.closed:
		c.fail(RuleClosed, "%s at %s, where the block is closed", obj.Type(), key)
		return nil
	}
	c.checkReasoning(m, key, k, obj)
	return b
}

// checkReasoning reports an answer or tool packet while reasoning of the same
// agent is open. What ends a block is left out: after a stop everything closes,
// in whatever order.
func (c *Checker) checkReasoning(m *model, key packet.Key, k kind, obj packet.Obj) {
	a, _, _ := m.agentOf(key)
	if a.reasoning == nil || k == kindReasoning {
		return
	}
	switch obj.(type) {
	case packet.MessageEnd, packet.IntermediateReportEnd, packet.ToolError, packet.SectionEnd, packet.ApprovalResolved,
		packet.InputResolved:
		return
	}
	c.fail(RuleReasoning, "%s at %s before the reasoning at %s closed", obj.Type(), key, a.reasoning.place)
}

// close closes b; nil is a close that was reported already.
func (c *Checker) close(m *model, b *block) {
	if b == nil || b.closed {
		return
	}
	b.closed = true
	a, index, _ := m.agentOf(b.place)
	a.at(index).open--
	if a.reasoning == b {
		a.reasoning = nil
	}
	if b.kind == kindTool {
		for key, inner := range m.blocks {
			if key.SubTurn >= 0 && parentOf(key) == b.place && !inner.closed {
				c.fail(RuleClosed, "the nested block at %s is still open at its tool's section_end", key)
				inner.closed = true
			}
		}
	}
}
