package meter

import (
	"cmp"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

const (
	opI32LeU = 0x4d
	opI64Shl = 0x86
	opSelect = 0x1b
)

// body appends a function's new body.
func (r *rewriter) body(dst []byte, index int, b wasmbin.Body) ([]byte, error) {
	r.plan.every, r.plan.tail = r.options.every, cmp.Or(r.options.tail, tail)
	if err := r.plan.of(&r.decode, b.Code); err != nil {
		return nil, err
	}
	r.points = r.plan.points
	r.nest.reset()
	r.looks = 0
	dst = r.enter(r.locals(dst, index, b))
	dead := deadCode{}
	r.decode.Reset(b.Code)
	var in wasmbin.Instr
	for r.decode.Next(&in) {
		for len(r.points) > 0 && r.points[0].at == in.Start {
			dst = r.counter.pay(dst, r.points[0].cost)
			if r.points[0].look {
				dst = r.look(dst)
			}
			r.points = r.points[1:]
		}
		dst = r.instruction(dst, b.Code, &in, dead.is)
		dead.step(in.Op)
	}
	return dst, r.decode.Err()
}

// inlineLooks is how many looks of a body have their code there. More are calls, since the
// compiler takes the square of a body's blocks, and a megabyte of calls has 500,000.
const inlineLooks = 100

// look appends a look behind a call.
func (r *rewriter) look(dst []byte) []byte {
	if r.looks++; r.looks <= cmp.Or(r.options.looks, inlineLooks) {
		return r.counter.look(dst)
	}
	return r.counter.lookFar(dst)
}

// locals appends the body's locals and at most two more: an i32 if the body has an
// operation on a range, and the copy of the counter if it has a loop that is checked.
func (r *rewriter) locals(dst []byte, index int, b wasmbin.Body) []byte {
	next := uint32(len(r.info.Types[r.info.FuncTypes[index]].Params))
	for _, l := range b.Locals {
		next += l.Count
	}
	groups := b.Locals[:len(b.Locals):len(b.Locals)]
	if r.plan.ranges {
		groups = append(groups, wasmbin.Local{Count: 1, Type: wasmbin.I32})
		r.scratch = next
		next++
	}
	r.counter.cached, r.counter.cell = false, next
	for _, p := range r.points {
		r.counter.cached = r.counter.cached || p.check && p.at > 0
	}
	if r.counter.cached {
		groups = append(groups, wasmbin.Local{Count: 1, Type: wasmbin.I64})
	}
	return r.counter.reload(wasmbin.AppendLocals(dst, groups))
}

// enter appends the check of the function's entry, if it has one: a loop around a block,
// which ends when too little is left, and behind which leave appends the call.
func (r *rewriter) enter(dst []byte) []byte {
	r.entry = nil
	if len(r.points) == 0 || r.points[0].at > 0 || !r.points[0].check {
		return dst
	}
	r.entry = &r.points[0]
	r.nest.wrap(2)
	dst = append(dst, byte(wasmbin.OpLoop), empty, byte(wasmbin.OpBlock), empty)
	return r.counter.orBranch(dst, r.entry.cost, 0)
}

// instruction appends one instruction of the original, with what it needs around it.
func (r *rewriter) instruction(dst, code []byte, in *wasmbin.Instr, dead bool) []byte {
	switch in.Op {
	case wasmbin.OpLoop:
		return r.loop(dst, code, in)
	case wasmbin.OpBlock, wasmbin.OpIf:
		r.nest.enter(1)
	case wasmbin.OpEnd:
		return r.leave(dst)
	case wasmbin.OpBr, wasmbin.OpBrIf:
		return wasmbin.AppendU32(append(dst, byte(in.Op)), r.nest.label(in.A))
	case wasmbin.OpBrTable:
		dst = wasmbin.AppendU32(append(dst, byte(in.Op)), uint32(len(in.Labels)-1)) // the default is apart
		for _, label := range in.Labels {
			dst = wasmbin.AppendU32(dst, r.nest.label(label))
		}
		return dst
	}
	if in.Op.IsRange() && !dead {
		dst = r.chargeRange(dst, in.Op)
	}
	dst = r.shift.AppendInstr(dst, code, in)
	if (in.Op == wasmbin.OpCall || in.Op == wasmbin.OpCallIndirect) && !dead {
		dst = r.counter.reload(dst)
	}
	return dst
}

// loop appends the beginning of a loop, and of the one around it if it is checked.
func (r *rewriter) loop(dst, code []byte, in *wasmbin.Instr) []byte {
	begin := code[in.Start:in.End]
	if len(r.points) == 0 || r.points[0].at != in.End || !r.points[0].check {
		r.nest.enter(1)
		return append(dst, begin...)
	}
	cost := r.points[0].cost
	r.nest.enter(2)
	dst = append(r.counter.ask(append(dst, begin...), cost), begin...)
	if in.Block.Index >= 0 {
		return r.counter.orBranchWith(dst, cost, 1)
	}
	return r.counter.orBranch(dst, cost, 1)
}

// leave appends the end of a frame, and behind the whole body the call that its entry
// branches to.
func (r *rewriter) leave(dst []byte) []byte {
	frames, outermost := r.nest.leave()
	for range frames {
		dst = append(dst, byte(wasmbin.OpEnd))
	}
	if !outermost {
		return dst
	}
	if r.entry != nil {
		dst = append(dst, byte(wasmbin.OpReturn), byte(wasmbin.OpEnd))
		dst = append(r.counter.more(dst, r.entry.cost), byte(wasmbin.OpBr), 0, byte(wasmbin.OpEnd))
		dst = append(dst, byte(wasmbin.OpUnreachable))
	}
	return append(dst, byte(wasmbin.OpEnd))
}

// chargeRange appends the cost of an operation on a range, whose size is the topmost
// operand and stays there.
func (r *rewriter) chargeRange(dst []byte, op wasmbin.Op) []byte {
	local := func(dst []byte, op wasmbin.Op) []byte { return wasmbin.AppendU32(append(dst, byte(op)), r.scratch) }
	dst = r.counter.get(local(dst, wasmbin.OpLocalTee))
	dst = append(local(dst, wasmbin.OpLocalGet), byte(wasmbin.OpI64ExtendU))
	switch op {
	case wasmbin.OpMemoryInit, wasmbin.OpMemoryCopy, wasmbin.OpMemoryFill:
		dst = append(dst, byte(wasmbin.OpI64Const), bytesShift, byte(wasmbin.OpI64ShrU))
	case wasmbin.OpMemoryGrow:
		// Growth beyond what addresses reach fails at once, and costs nothing.
		dst = append(dst, byte(wasmbin.OpI64Const), pageShift, opI64Shl, byte(wasmbin.OpI64Const), 0)
		dst = append(local(dst, wasmbin.OpLocalGet), byte(wasmbin.OpI32Const))
		dst = append(wasmbin.AppendS64(dst, 1<<16), opI32LeU, opSelect)
	}
	dst = append(dst, byte(wasmbin.OpI64Sub))
	return r.counter.ask(r.counter.set(dst), 0)
}
