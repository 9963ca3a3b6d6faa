package meter

import (
	"fmt"
	"math"
	"slices"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// point is a place in a body at which a cost is subtracted. Its cost is below 0 where
// more was subtracted before than the path turned out to need.
type point struct {
	// at is the offset of the instruction before which it is done.
	at   int
	cost int64
	// check says that the counter is compared there, stays that a loop's head keeps its
	// cost.
	check, stays bool
	// look says that it stands behind a call and compares, so that a stack of calls that all
	// return does not run for long unseen.
	look bool
	// parent and refund are points, or none. A point with a parent is paid there, and
	// what was paid is given back at refund: whoever passes parent passes either this
	// point or refund.
	parent, refund int
}

// none means no point.
const none = -1

// region is a frame of the body: a block, loop, if or else, or the function.
type region struct {
	op wasmbin.Op
	// outer is the point that the code around it is charged to.
	outer int
	// head is the point of a loop's head; of an if, the first one of its first part.
	head int
	// second is the first point of an else.
	second int
	// dead says that the frame is never entered.
	dead bool
	// reach is the index of the outermost frame that a branch inside leads to.
	reach int
	// targeted says that a branch inside leads to its label; conditionally, that some
	// of those branches can also not be taken, or lead elsewhere.
	targeted, conditionally bool
	// entry says that the function's entry leads straight to it.
	entry bool
	// called says that its end can be reached after a look behind a call inside.
	called bool
}

// back is an unconditional branch to a loop's head, with the point that it is charged
// to.
type back struct{ head, site int }

// planner finds the points of one body. The sum that is subtracted on a path is the
// number of its instructions, whatever the path, with as few subtractions as it can do
// with:
//
//   - Straight code is charged where it begins.
//
//   - What follows a frame is charged where the code before it is, if nothing inside
//     leaves the frame but by its end: it runs exactly as often.
//
//   - What follows an if that always leaves (a return, a goto) is charged before the if,
//     and given back inside of it; so is an else.
//
//   - The code at a loop's head is charged where the branches to it are, if all of them
//     are unconditional; the head then only compares.
//
//   - What follows a call is charged behind it, where much of the body is left: else a
//     million calls inside one another would have paid for all that follows each of them
//     before the first returns, and nothing would be compared until the last has.
//
// A frame that runs forever or traps never reaches what follows, which was then paid in
// vain: the same each time.
type planner struct {
	points  []point
	regions []region
	backs   []back
	current int
	dead    bool
	// ranges says that the body has an operation on a range, calls that it calls.
	ranges, calls bool
	every         bool
	// size is the length of the code, tail how much of it behind a call asks for a look.
	size, tail int
}

// tail is how many bytes of code behind a call run without a look when it returns. The guest's
// stack takes 1.5 million frames, so 256 bytes are up to 150 million instructions.
const tail = 256

// of plans a body's code.
func (p *planner) of(d *wasmbin.Decoder, code []byte) error {
	p.points = append(p.points[:0], point{check: true, parent: none, refund: none})
	p.regions = append(p.regions[:0], region{op: wasmbin.OpBlock, outer: none, head: none, second: none,
		reach: math.MaxInt})
	p.backs = p.backs[:0]
	p.current, p.dead, p.ranges, p.calls, p.size = 0, false, false, false, len(code)
	d.Reset(code)
	var in wasmbin.Instr
	for d.Next(&in) {
		if len(p.regions) == 0 {
			return fmt.Errorf("%w: code after the end of a function", ErrInvalid)
		}
		if err := p.step(&in); err != nil {
			return err
		}
	}
	if err := d.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	p.settle()
	return nil
}

// step goes past one instruction. block, loop, else and end only mark places in the
// code and cost nothing; every other instruction costs 1.
func (p *planner) step(in *wasmbin.Instr) error {
	switch in.Op {
	case wasmbin.OpElse:
		f := &p.regions[len(p.regions)-1]
		f.op, p.dead, p.current = wasmbin.OpElse, f.dead, none
		return nil
	case wasmbin.OpEnd:
		p.leave()
		return nil
	case wasmbin.OpBlock, wasmbin.OpLoop:
		p.enter(in)
		return nil
	}
	if p.dead {
		if in.Op == wasmbin.OpIf {
			p.enter(in)
		}
		return nil
	}
	p.charge(in.Start)
	switch in.Op {
	case wasmbin.OpIf:
		p.enter(in)
	case wasmbin.OpBr, wasmbin.OpBrIf:
		return p.branch(in.Op == wasmbin.OpBr, in.A)
	case wasmbin.OpBrTable:
		return p.branchTable(in.Labels)
	case wasmbin.OpReturn:
		return p.branch(true, uint32(len(p.regions)-1))
	case wasmbin.OpUnreachable:
		p.current, p.dead = none, true
	case wasmbin.OpCall, wasmbin.OpCallIndirect:
		p.calls = true
		if p.size-in.End >= p.tail && !p.every {
			p.regions[len(p.regions)-1].called = true
			p.add(point{at: in.End, look: true, parent: none, refund: none})
		}
	default:
		p.ranges = p.ranges || in.Op.IsRange()
	}
	return nil
}

// add makes a new point the current one.
func (p *planner) add(n point) {
	p.points = append(p.points, n)
	p.current = len(p.points) - 1
}

// open makes sure that there is a current point.
func (p *planner) open(at int) {
	if p.current != none {
		return
	}
	p.add(point{at: at, parent: none, refund: none})
	if f := &p.regions[len(p.regions)-1]; f.op == wasmbin.OpIf && f.head == none {
		f.head = p.current
	} else if f.op == wasmbin.OpElse && f.second == none {
		f.second = p.current
	}
}

// charge adds an instruction to the current point.
func (p *planner) charge(at int) {
	if p.every {
		p.current = none
	}
	p.open(at)
	p.points[p.current].cost++
}

func (p *planner) enter(in *wasmbin.Instr) {
	if !p.dead {
		p.open(in.Start)
	}
	f := region{op: in.Op, outer: p.current, dead: p.dead, head: none, second: none, reach: math.MaxInt}
	switch {
	case p.dead || in.Op == wasmbin.OpBlock:
	case in.Op == wasmbin.OpIf:
		p.current = none
	default:
		f.entry = p.current == 0 && !p.calls
		p.add(point{at: in.End, check: true, parent: none, refund: none})
		f.head = p.current
	}
	p.regions = append(p.regions, f)
}

// leave ends the innermost frame.
func (p *planner) leave() {
	f := p.regions[len(p.regions)-1]
	p.regions = p.regions[:len(p.regions)-1]
	ended := p.dead
	p.dead = f.dead
	if f.dead || len(p.regions) == 0 {
		return
	}
	// A branch inside leads out of the frame, past its end.
	escapes := f.reach < len(p.regions)
	around := &p.regions[len(p.regions)-1]
	around.reach = min(around.reach, f.reach)
	through := !ended || f.op == wasmbin.OpElse || f.op != wasmbin.OpLoop && f.targeted
	around.called = around.called || f.called && (through || escapes)
	switch f.op {
	case wasmbin.OpLoop:
		p.leaveLoop(f)
	case wasmbin.OpElse:
		if f.head != none && f.second != none && !p.every {
			e := &p.points[f.second]
			e.parent, e.refund = f.outer, f.head
		}
	case wasmbin.OpIf:
		if escapes && ended && !f.targeted && f.head != none && !p.every {
			p.add(point{parent: f.outer, refund: f.head})
			return
		}
	}
	p.current = f.outer
	if escapes || f.called && through {
		p.current = none
	}
}

func (p *planner) leaveLoop(f region) {
	head := &p.points[f.head]
	switch {
	case !f.targeted:
		// It runs once: its head is straight code.
		p.points[f.outer].cost += head.cost
		head.cost, head.check = 0, false
		return
	case f.conditionally || p.every:
		head.stays = true
	default:
		p.backs = append(p.backs, back{f.head, f.outer})
	}
	if f.entry {
		p.points[0].check = false
	}
}

// branch records a branch to a label. What follows it runs less often; if it is always
// taken, never.
func (p *planner) branch(always bool, label uint32) error {
	if uint64(label) >= uint64(len(p.regions)) {
		return fmt.Errorf("%w: a branch to nowhere", ErrInvalid)
	}
	target := len(p.regions) - 1 - int(label)
	inner := &p.regions[len(p.regions)-1]
	inner.reach = min(inner.reach, target)
	f := &p.regions[target]
	f.targeted = true
	f.conditionally = f.conditionally || !always
	if f.op == wasmbin.OpLoop && always {
		p.backs = append(p.backs, back{f.head, p.current})
	}
	p.current, p.dead = none, always
	return nil
}

func (p *planner) branchTable(labels []uint32) error {
	for _, label := range labels {
		if err := p.branch(false, label); err != nil {
			return err
		}
	}
	p.dead = true
	return nil
}

// settle moves costs to where they are paid, and keeps the points that are left.
func (p *planner) settle() {
	heads := map[int]int64{}
	for _, b := range p.backs {
		if head := p.points[b.head]; !head.stays {
			heads[b.head] = head.cost
		}
	}
	for _, b := range p.backs {
		p.points[b.site].cost += heads[b.head]
	}
	for head, cost := range heads {
		p.points[head].cost -= cost
	}
	for i := len(p.points) - 1; i >= 0; i-- {
		if n := &p.points[i]; n.parent != none {
			p.points[n.parent].cost += n.cost
			p.points[n.refund].cost -= n.cost
			n.cost = 0
		}
	}
	if e := &p.points[0]; e.cost == 0 {
		e.check = false
	}
	p.points = slices.DeleteFunc(p.points, func(n point) bool { return n.cost == 0 && !n.check && !n.look })
}
