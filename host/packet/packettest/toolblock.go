package packettest

import (
	"maps"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// toolState is how far a tool block has come.
type toolState struct {
	call string
	// args and failed tell that tool_args and tool_error were seen.
	args, failed bool
	// agent tells that research_agent_start was seen.
	agent bool
	// asked and resolved hold the approvals and inputs that wait, and those that
	// were answered.
	asked, resolved map[string]bool
}

func (c *Checker) toolStart(m *model, key packet.Key, obj packet.ToolStart) {
	b := c.open(m, key, kindTool)
	b.tool = toolState{call: obj.CallID, asked: map[string]bool{}, resolved: map[string]bool{}}
	if obj.CallID == "" {
		c.fail(RuleToolBlock, "tool_start has no call_id")
	}
	if _, seen := c.calls[obj.CallID]; seen {
		c.fail(RuleToolBlock, "the call %q starts twice", obj.CallID)
	}
	c.calls[obj.CallID] = true
	if parent := obj.ParentCallID; parent != "" && !c.calls[parent] {
		c.fail(RuleToolBlock, "the parent call %q of %q is not running", parent, obj.CallID)
	}
	if outer := m.blocks[parentOf(key)]; key.SubTurn >= 0 && outer != nil && outer.tool.agent &&
		obj.ParentCallID == "" {
		c.fail(RuleToolBlock, "the call %q of an agent names no parent call", obj.CallID)
	}
}

// toolPacket takes what follows a tool_start.
func (c *Checker) toolPacket(m *model, key packet.Key, obj packet.Obj) {
	b := c.inside(m, key, kindTool, obj)
	if b == nil {
		return
	}
	if call, ok := callOf(obj); ok && call != b.tool.call {
		c.fail(RuleToolBlock, "%s of call %q in the block of call %q", obj.Type(), call, b.tool.call)
	}
	if end, ok := obj.(packet.SectionEnd); ok {
		c.sectionEnd(m, b, end)
		return
	}
	if b.tool.failed {
		c.fail(RuleToolBlock, "%s after the tool_error of call %q", obj.Type(), b.tool.call)
	}
	switch obj := obj.(type) {
	case packet.ToolArgsDelta:
		if obj.Key == "" || obj.Delta == "" {
			c.fail(RuleFields, "tool_args_delta of call %q without a key or a delta", b.tool.call)
		}
		if b.tool.args {
			c.fail(RuleToolBlock, "tool_args_delta after the tool_args of call %q", b.tool.call)
		}
		return
	case packet.ToolArgs:
		if b.tool.args {
			c.fail(RuleToolBlock, "a second tool_args of call %q", b.tool.call)
		}
		b.tool.args = true
		a, index, _ := m.agentOf(key)
		a.at(index).dispatched = true
		return
	case packet.ToolError:
		b.tool.failed = true
	case packet.ApprovalRequest:
		c.ask(b, "approval "+obj.ApprovalID)
	case packet.ApprovalResolved:
		c.resolve(b, "approval "+obj.ApprovalID)
	case packet.InputRequest:
		c.ask(b, "input "+obj.InputID)
	case packet.InputResolved:
		c.resolve(b, "input "+obj.InputID)
	}
	if !b.tool.args {
		c.fail(RuleToolBlock, "%s before the tool_args of call %q", obj.Type(), b.tool.call)
	}
}

func (c *Checker) ask(b *block, request string) {
	if b.tool.asked[request] || b.tool.resolved[request] {
		c.fail(RuleToolBlock, "%s is asked twice", request)
	}
	b.tool.asked[request] = true
}

func (c *Checker) resolve(b *block, request string) {
	switch {
	case b.tool.resolved[request]:
		c.fail(RuleToolBlock, "%s is resolved twice", request)
	case !b.tool.asked[request]:
		c.fail(RuleToolBlock, "%s is resolved and was not asked here", request)
	}
	delete(b.tool.asked, request)
	b.tool.resolved[request] = true
}

// sectionEnd closes the block. A call that never got to dispatch may end right
// after its start, and then its outcome says so.
func (c *Checker) sectionEnd(m *model, b *block, obj packet.SectionEnd) {
	for _, request := range slices.Sorted(maps.Keys(b.tool.asked)) {
		c.fail(RuleToolBlock, "%s is not resolved before section_end", request)
	}
	switch obj.Outcome {
	case packet.OutcomeOK:
		if b.tool.failed {
			c.fail(RuleToolBlock, "call %q has a tool_error and ends ok", b.tool.call)
		}
		fallthrough
	case packet.OutcomeTimeout:
		if !b.tool.args {
			c.fail(RuleToolBlock, "call %q ends with %s and never got to dispatch", b.tool.call, obj.Outcome)
		}
	case packet.OutcomeError, packet.OutcomeDenied, packet.OutcomeCancelled, packet.OutcomeInterrupted:
	default:
		c.fail(RuleFields, "section_end has the unknown outcome %q", obj.Outcome)
	}
	c.calls[b.tool.call] = false
	c.close(m, b)
}

// callOf returns the call_id of a payload that has one.
func callOf(obj packet.Obj) (string, bool) {
	switch obj := obj.(type) {
	case packet.ToolArgsDelta:
		return obj.CallID, true
	case packet.ToolArgs:
		return obj.CallID, true
	case packet.ToolProgress:
		return obj.CallID, true
	case packet.ToolOutput:
		return obj.CallID, true
	case packet.ToolDocuments:
		return obj.CallID, true
	case packet.ToolFiles:
		return obj.CallID, true
	case packet.ToolError:
		return obj.CallID, true
	case packet.ApprovalRequest:
		return obj.CallID, true
	case packet.InputRequest:
		return obj.CallID, true
	case packet.MemoryChanged:
		return obj.CallID, true
	}
	return "", false
}
