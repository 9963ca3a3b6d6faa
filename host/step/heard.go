package step

import (
	"slices"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// MaxCalls is how many calls one step may make. What a model asks for beyond it is
// counted and not run.
const MaxCalls = 64

// Blocks shows calls before they are complete. The runner of the calls is one.
type Blocks interface {
	// Streams tells whether the arguments of a tool are shown as the model writes
	// them.
	Streams(name string) bool
	// Writes tells whether a tool changes something, so that nothing is guessed for it.
	Writes(name string) bool
	// Open opens the block of a call at place and returns the call's id.
	Open(place packet.Placement, name string) (callID string)
	// Abandon closes the block of a call that is not going to run.
	Abandon(place packet.Placement, outcome packet.Outcome)
}

// Servers shows tools that the model's provider ran itself. Blocks may be one.
type Servers interface {
	// Served shows such a tool in a block of its own at place; it is over.
	Served(place packet.Placement, name, query string, failed bool)
}

// served takes note of a tool that the provider ran, and shows it. Once a block of
// a call of ours is open no other may open after it, so it is not shown then.
func (d *decoder) served(e llm.ServerTool) {
	d.ran = append(d.ran, e)
	s, ok := d.in.Blocks.(Servers)
	if !ok || d.callTurn >= 0 {
		return
	}
	d.close()
	s.Served(packet.At(d.turn, 0), e.Name, e.Query, e.Failed)
	d.turn++
}

// heard is a call as far as it was heard.
type heard struct {
	Call
	// native says that it came in the tool-call channel, under index; else told is
	// its number in the text, 0 if it was only heard of when it was whole.
	native bool
	index  int
	told   int
	// whole says that nothing more is to come; a native call is whole at the end.
	whole bool
	// sent is the arguments so far of a native call, and reader reads them.
	sent   fragments
	reader *salvage.Arguments
	// considered says that it was decided whether to open a block; opened is the
	// name under which there is one.
	considered bool
	opened     string
}

// hear takes note of another call, nil for one too many.
func (d *decoder) hear() *heard {
	d.close()
	if len(d.heard) >= MaxCalls {
		d.excess++
		return nil
	}
	c := &heard{Call: Call{Tab: d.tabs}}
	d.tabs++
	d.heard = append(d.heard, c)
	return c
}

// open shows a call that has begun, where its tool wants that. Of calls of one tool
// that come both natively and in the text only those of the kind that came first
// are shown early: the others may be the same ones.
func (d *decoder) open(c *heard) {
	c.considered = true
	offered := slices.ContainsFunc(d.in.Request.Tools, func(t llm.ToolDef) bool { return t.Name == c.Name })
	bothWays := slices.ContainsFunc(d.heard, func(o *heard) bool { return o.Name == c.Name && o.native != c.native })
	if !offered || bothWays || d.in.Blocks == nil || !d.in.Blocks.Streams(c.Name) {
		return
	}
	d.close()
	if d.callTurn < 0 {
		d.callTurn = d.turn
		d.turn++
	}
	c.opened = c.Name
	c.ID = d.in.Blocks.Open(d.placeOf(c), c.Name)
}

func (d *decoder) placeOf(c *heard) packet.Placement { return packet.At(d.callTurn, c.Tab) }

// show shows pieces of the arguments of a call whose block is open.
func (d *decoder) showArguments(c *heard, pieces ...salvage.ArgumentDelta) {
	if c.opened == "" || len(pieces) == 0 {
		return
	}
	if d.block == reasoningBlock { // it ends before any packet of a tool
		d.close()
	}
	for _, p := range pieces {
		d.in.Emit.Emit(d.placeOf(c), packet.ToolArgsDelta{CallID: c.ID, Key: p.Key, Delta: p.Delta})
	}
}

// abandon closes the block of a call that is not going to run.
func (d *decoder) abandon(c *heard, outcome packet.Outcome) {
	if c.opened != "" {
		d.in.Blocks.Abandon(d.placeOf(c), outcome)
		c.opened, c.ID = "", ""
	}
}

// callDelta takes the next piece of a native call.
func (d *decoder) callDelta(e llm.ToolCallDelta) {
	i := slices.IndexFunc(d.heard, func(c *heard) bool { return c.native && c.index == e.Index })
	if i < 0 {
		if d.beyond[e.Index] {
			return
		}
		c := d.hear()
		if c == nil {
			d.beyond[e.Index] = true
			return
		}
		c.native, c.index = true, e.Index
		i = len(d.heard) - 1
	}
	c := d.heard[i]
	c.Name += e.Name
	c.sent.add(e.ArgumentsDelta)
	if c.Name == "" || e.ArgumentsDelta == "" {
		return
	}
	piece := e.ArgumentsDelta
	if !c.considered { // the name is whole when arguments come
		d.open(c)
		if c.opened != "" {
			c.reader = salvage.NewArguments(d.toolNamed(c.Name))
			piece = c.sent.arguments()
		}
	}
	if c.opened != "" && !c.sent.replaced { // else the whole arguments are shown at the end
		d.showArguments(c, c.reader.Write(piece)...)
	}
}

// textCall returns the call that the parser told of under id.
func (d *decoder) textCall(id int) *heard {
	i := slices.IndexFunc(d.heard, func(c *heard) bool { return !c.native && c.told == id })
	if i < 0 || id == 0 {
		return nil
	}
	return d.heard[i]
}

// textCallStarts takes note of a call in the text that is not whole.
func (d *decoder) textCallStarts(e salvage.CallStart) {
	if c := d.hear(); c != nil {
		c.told, c.Name = e.ID, e.Name
		d.open(c)
	}
}

// textCallIs takes a whole call from the text.
func (d *decoder) textCallIs(e salvage.Call) {
	c := d.textCall(e.ID)
	if c == nil && e.ID == 0 {
		c = d.hear()
	}
	if c != nil {
		c.Name, c.Arguments, c.Inexact, c.whole = e.Name, e.Arguments, e.Inexact, true
	}
}

// textCallIsNone forgets a call in the text that is none after all.
func (d *decoder) textCallIsNone(e salvage.CallDropped) {
	if c := d.textCall(e.ID); c != nil {
		d.abandon(c, packet.OutcomeError)
		d.heard = slices.DeleteFunc(d.heard, func(o *heard) bool { return o == c })
	}
}

// settle ends the hearing: native calls are whole and mended, a call that came both
// ways is one, and blocks of calls that are none are closed. failed is the outcome
// of all blocks that are open when the step failed, "" if it did not.
func (d *decoder) settle(failed packet.Outcome) {
	for _, c := range d.heard {
		if c.native {
			c.whole = true
			c.Call = d.named(Call{Name: c.Name, Arguments: c.sent.arguments(), ID: c.ID, Tab: c.Tab})
		}
		switch {
		case failed != "":
			d.abandon(c, failed)
		case c.opened != "" && c.opened != c.Name:
			d.abandon(c, packet.OutcomeError)
		}
	}
	d.heard = slices.DeleteFunc(d.heard, func(c *heard) bool { return !c.whole || !c.native && d.cameNatively(c) })
	slices.SortStableFunc(d.heard, func(a, b *heard) int { return a.Tab - b.Tab })
}

// cameNatively tells whether a call in the text came natively too. The native one
// then takes its place and its block, if it has none itself.
func (d *decoder) cameNatively(text *heard) bool {
	i := slices.IndexFunc(d.heard, func(n *heard) bool { return n.native && d.fitted(n.Call).same(text.Call) })
	if i < 0 {
		return false
	}
	n := d.heard[i]
	switch {
	case text.opened == "" && n.opened == "":
		n.Tab = min(n.Tab, text.Tab)
	case text.opened != "" && n.opened == "":
		n.opened, n.ID, n.Tab = text.opened, text.ID, text.Tab
	default:
		d.abandon(text, packet.OutcomeCancelled)
	}
	return true
}

// calls returns what the model called, in the order in which it began to.
func (d *decoder) calls() []Call {
	var calls []Call
	for _, c := range d.heard {
		calls = append(calls, c.Call)
	}
	return calls
}

// turnOfCalls is the turn in which the calls are to run: that of the blocks that
// are open, else the next.
func (d *decoder) turnOfCalls() int {
	if slices.ContainsFunc(d.heard, func(c *heard) bool { return c.opened != "" }) {
		return d.callTurn
	}
	return d.turn
}

// toolNamed returns a tool that the model was told of.
func (d *decoder) toolNamed(name string) salvage.Tool {
	for _, t := range d.in.Request.Tools {
		if t.Name == name {
			return salvage.Tool{Name: t.Name, Parameters: t.Parameters}
		}
	}
	return salvage.Tool{Name: name}
}
