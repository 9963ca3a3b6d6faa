package meter

import (
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

const (
	opI32LeU = 0x4d
	opI64Shl = 0x86
	opSelect = 0x1b
	empty    = 0x40 // the block type without operands
)

// body appends a function's new body.
func (r *rewriter) body(dst []byte, index int, b wasmbin.Body) ([]byte, error) {
	r.plan.every = r.options.every
	if err := r.plan.of(&r.decode, b.Code); err != nil {
		return nil, err
	}
	dst, scratch := r.locals(dst, index, b)
	points := r.plan.points
	dead := deadCode{}
	r.decode.Reset(b.Code)
	var in wasmbin.Instr
	for r.decode.Next(&in) {
		for len(points) > 0 && points[0].at == in.Start {
			dst = r.charge(dst, points[0])
			points = points[1:]
		}
		if isRange(in.Op) && !dead.is {
			dst = r.chargeRange(dst, in.Op, scratch)
		}
		dst = r.shift.AppendInstr(dst, b.Code, &in)
		dead.step(in.Op)
	}
	return dst, r.decode.Err()
}

// locals appends the body's locals, with one more i32 if the body has an operation on a
// range, and returns its index.
func (r *rewriter) locals(dst []byte, index int, b wasmbin.Body) (out []byte, scratch uint32) {
	if !r.plan.ranges {
		return append(dst, b.Raw[:len(b.Raw)-len(b.Code)]...), 0
	}
	scratch = uint32(len(r.info.Types[r.info.FuncTypes[index]].Params))
	for _, l := range b.Locals {
		scratch += l.Count
	}
	groups := append(b.Locals[:len(b.Locals):len(b.Locals)], wasmbin.Local{Count: 1, Type: wasmbin.I32})
	return wasmbin.AppendLocals(dst, groups), scratch
}

func (r *rewriter) get(dst []byte) []byte {
	return wasmbin.AppendU32(append(dst, byte(wasmbin.OpGlobalGet)), r.fuel)
}

func (r *rewriter) set(dst []byte) []byte {
	return wasmbin.AppendU32(append(dst, byte(wasmbin.OpGlobalSet)), r.fuel)
}

// charge appends: fuel -= cost, and the comparison if the point has one.
func (r *rewriter) charge(dst []byte, p point) []byte {
	if p.cost != 0 {
		dst = append(r.get(dst), byte(wasmbin.OpI64Const))
		dst = append(wasmbin.AppendS64(dst, p.cost), byte(wasmbin.OpI64Sub))
		dst = r.set(dst)
	}
	if p.check {
		dst = r.check(dst)
	}
	return dst
}

// check appends: if fuel < 0 { refill() }.
func (r *rewriter) check(dst []byte) []byte {
	dst = append(r.get(dst), byte(wasmbin.OpI64Const), 0, byte(wasmbin.OpI64LtS), byte(wasmbin.OpIf), empty, byte(wasmbin.OpCall))
	return append(wasmbin.AppendU32(dst, r.refill), byte(wasmbin.OpEnd))
}

// chargeRange appends the cost of an operation on a range, whose size is the topmost
// operand and stays there.
func (r *rewriter) chargeRange(dst []byte, op wasmbin.Op, scratch uint32) []byte {
	local := func(dst []byte, op wasmbin.Op) []byte { return wasmbin.AppendU32(append(dst, byte(op)), scratch) }
	dst = local(dst, wasmbin.OpLocalTee)
	dst = r.get(dst)
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
	return r.check(r.set(dst))
}
