package packettest

import (
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// reportState is how far a block of an agent's text has come.
type reportState struct {
	// cited are the documents of cited_docs, nil before it.
	cited []packet.Document
}

// agentStart takes the beginning of an agent in a tool block.
func (c *Checker) agentStart(m *model, key packet.Key, obj packet.ResearchAgentStart) {
	b := c.inside(m, key, kindTool, obj)
	if b == nil {
		return
	}
	switch {
	case key.SubTurn >= 0:
		c.fail(RuleFields, "an agent starts at %s, inside another", key)
	case !b.tool.args || b.tool.failed:
		c.fail(RuleToolBlock, "an agent starts at %s before the tool_args of call %q or after its error", key,
			b.tool.call)
	case b.tool.agent:
		c.fail(RuleToolBlock, "a second agent starts in the block of call %q", b.tool.call)
	case m.nested[key] != nil:
		c.fail(RuleToolBlock, "the agent of call %q starts after blocks of its own", b.tool.call)
	}
	b.tool.agent = true
}

// reportPacket takes what opens, fills and closes a block of an agent's text.
func (c *Checker) reportPacket(m *model, key packet.Key, obj packet.Obj) {
	if _, opens := obj.(packet.IntermediateReportStart); opens {
		parent := m.blocks[parentOf(key)]
		if key.SubTurn < 0 || parent == nil || !parent.tool.agent {
			c.fail(RuleFields, "a report opens at %s, where no agent works", key)
		}
		c.open(m, key, kindReport)
		return
	}
	b := c.inside(m, key, kindReport, obj)
	if b == nil {
		return
	}
	if b.report.cited != nil {
		if _, ends := obj.(packet.IntermediateReportEnd); !ends {
			c.fail(RuleCitation, "%s at %s after the report's cited documents", obj.Type(), key)
		}
	}
	switch obj := obj.(type) {
	case packet.IntermediateReportDelta:
		b.text = append(b.text, obj.Content...)
	case packet.IntermediateReportCitedDocs:
		b.report.cited = append([]packet.Document{}, obj.Documents...)
		c.citedDocs(key, obj.Documents)
	case packet.IntermediateReportEnd:
		c.close(m, b)
	}
}

// citedDocs checks the documents of a report.
func (c *Checker) citedDocs(key packet.Key, documents []packet.Document) {
	if len(documents) == 0 {
		c.fail(RuleCitation, "the report at %s cites no document and says so", key)
	}
	for i, d := range documents {
		switch {
		case d.Ref < 1:
			c.fail(RuleCitation, "the report at %s cites %q, which has no ref", key, d.ID)
		case slices.ContainsFunc(documents[:i], func(o packet.Document) bool { return o.Ref == d.Ref }):
			c.fail(RuleCitation, "the report at %s cites ref %d twice", key, d.Ref)
		}
	}
}
