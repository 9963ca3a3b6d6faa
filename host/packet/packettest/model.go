package packettest

import (
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// kind is what a block shows.
type kind string

const (
	kindReasoning kind = "reasoning"
	kindMessage   kind = "message"
	kindTool      kind = "tool"
	kindReport    kind = "report"
)

// model is what is known of one model's part of the stream.
type model struct {
	index   int
	stopped bool
	reason  packet.StopReason
	// failed tells that its error was seen; a stop{error} must follow.
	failed bool
	// top orders the model's own blocks, nested those of the agents that run in
	// its tool blocks, by the place of the tool block.
	top    *agent
	nested map[packet.Key]*agent
	// blocks are all blocks by place, open and closed.
	blocks map[packet.Key]*block
	// text is what the deltas of the top blocks join to.
	text  strings.Builder
	cites citations
	// usageAt is the place of the newest packet if that was a usage.
	usageAt *packet.Key
}

// agent is one order of turns: the model's own, or a nested agent's.
type agent struct {
	// turn is the highest turn that was opened, -1 for none.
	turn  int
	turns map[int]*turn
	// reasoning is the reasoning block that is open, or nil.
	reasoning *block
}

// turn is what was opened under one turn_index.
type turn struct {
	kind kind
	// open counts the blocks not yet closed.
	open int
	// announced are the tabs of top_level_branching, nil without one; waiting are
	// those of them that have not opened.
	announced, waiting []int
	// dispatched tells that a tool_args of the turn was seen.
	dispatched bool
}

// block is one block of the stream.
type block struct {
	kind   kind
	place  packet.Key
	closed bool
	// text is what the block's own deltas join to; only of a message and a report.
	text   []byte
	tool   toolState
	report reportState
}

func newModel(index int) *model {
	return &model{index: index, top: newAgent(), nested: map[packet.Key]*agent{},
		blocks: map[packet.Key]*block{}, cites: newCitations()}
}

func newAgent() *agent { return &agent{turn: -1, turns: map[int]*turn{}} }

// agentOf returns the agent whose block is at key, and the block's turn and tab
// in that agent's counting.
func (m *model) agentOf(key packet.Key) (a *agent, turn, tab int) {
	if key.SubTurn < 0 {
		return m.top, key.Turn, key.Tab
	}
	parent := parentOf(key)
	if m.nested[parent] == nil {
		m.nested[parent] = newAgent()
	}
	return m.nested[parent], key.SubTurn, key.SubTab
}

// parentOf returns the place of the tool block in which key's agent runs.
func parentOf(key packet.Key) packet.Key {
	key.SubTurn, key.SubTab = -1, -1
	return key
}

func (a *agent) at(index int) *turn {
	if a.turns[index] == nil {
		a.turns[index] = &turn{}
	}
	return a.turns[index]
}

// modelPacket takes a packet that belongs to a model.
func (c *Checker) modelPacket(p packet.Packet) {
	key := p.Placement.Key()
	m := c.models[key.Model]
	if m == nil {
		if c.started {
			c.fail(RuleSeq, "run_started did not name model %d", key.Model)
		}
		m = newModel(key.Model)
		c.models[key.Model] = m
	}
	if m.stopped {
		c.fail(RuleStop, "%s comes after the stop of model %d", p.Obj.Type(), m.index)
		return
	}
	usageAt := m.usageAt
	m.usageAt = nil
	switch obj := p.Obj.(type) {
	case packet.SessionCreated, packet.RunStarted:
		c.fail(RuleFields, "%s carries a model_index", obj.Type())
		if started, ok := obj.(packet.RunStarted); ok {
			c.start(started)
		}
	case packet.Usage:
		if usageAt != nil && *usageAt == key {
			c.fail(RuleFields, "a second usage for the same step")
		}
		m.usageAt = &key
	case packet.Error:
		c.modelError(m, obj)
	case packet.Stop:
		c.modelStop(m, obj)
	case packet.TopLevelBranching:
		c.branching(m, key, obj)
	case packet.Notice, packet.Unknown:
	default:
		c.blockPacket(m, key, obj)
	}
}

func (c *Checker) modelError(m *model, obj packet.Error) {
	if obj.ModelIndex != nil && *obj.ModelIndex != m.index {
		c.fail(RuleFields, "an error of model %d in a packet of model %d", *obj.ModelIndex, m.index)
	}
	if m.failed {
		c.fail(RuleFields, "a second error of model %d; an error is terminal", m.index)
	}
	m.failed = true
}

func (c *Checker) modelStop(m *model, obj packet.Stop) {
	c.requireClosed(m, "its stop")
	m.stopped, m.reason = true, obj.Reason
	switch obj.Reason {
	case packet.StopCompleted, packet.StopUserCancelled, packet.StopError, packet.StopInterrupted,
		packet.StopAwaitingUser:
	default:
		c.fail(RuleFields, "stop has the unknown reason %q", obj.Reason)
	}
	if m.failed && obj.Reason != packet.StopError {
		c.fail(RuleFields, "after an error the stop is %q, not error", obj.Reason)
	}
	if obj.Reason == packet.StopCompleted {
		c.requireShown(m)
	}
	if obj.Reason == packet.StopInterrupted {
		return // a crash may fall between the announcement and the calls
	}
	for index, t := range m.top.turns {
		for _, tab := range t.waiting {
			c.fail(RuleToolBlock, "the call of turn %d tab %d was announced and has no block", index, tab)
		}
	}
}

// requireClosed reports the blocks of m that are open.
func (c *Checker) requireClosed(m *model, when string) {
	var open []*block
	for _, b := range m.blocks {
		if !b.closed {
			open = append(open, b)
		}
	}
	slices.SortFunc(open, func(a, b *block) int { return strings.Compare(a.place.String(), b.place.String()) })
	for _, b := range open {
		c.fail(RuleClosed, "the %s block at %s is still open at %s", b.kind, b.place, when)
	}
}

// branching takes the announcement of a tool turn's tabs.
func (c *Checker) branching(m *model, key packet.Key, obj packet.TopLevelBranching) {
	if key.SubTurn >= 0 {
		c.fail(RuleFields, "top_level_branching inside a nested agent")
		return
	}
	if len(obj.Tabs) == 0 {
		c.fail(RuleFields, "top_level_branching announces no tab")
	}
	t := m.top.at(obj.TurnIndex)
	if t.announced != nil {
		c.fail(RuleFields, "a second top_level_branching for turn %d", obj.TurnIndex)
	}
	if t.dispatched {
		c.fail(RuleFields, "top_level_branching for turn %d after its first dispatch", obj.TurnIndex)
	}
	t.announced = append([]int{}, obj.Tabs...)
	for _, tab := range obj.Tabs {
		at := packet.Key{Model: m.index, Turn: obj.TurnIndex, Tab: tab, SubTurn: -1, SubTab: -1}
		if m.blocks[at] == nil {
			t.waiting = append(t.waiting, tab)
		}
	}
}
