package meter

import "github.com/bulkhead-host/bulkhead/runtime/wasmbin"

const (
	opI64LtS = 0x53
	opI64GeS = 0x59
	empty    = 0x40 // the block type without operands
)

// counter appends the code that works on the counter of one body. Where the body has a
// loop that is checked, a local holds the same as the global, so that a round of the
// loop reads a register; the global is written with each change, so what a trap leaves
// there is exact.
//
// How the code is laid out matters more than what it does. wazero's compiler gives a
// block the registers of the first of its predecessors that it has met, and after a
// call all are lost. So a check never has the call beside the code that it guards:
//
//   - A loop that is checked stands in another loop, whose head asks for more. When too
//     little is left the inner loop branches out to it, and the call is not part of it.
//   - At a function's entry the call stands behind the body, which begins again.
//   - Where there is no frame to branch to, the call is in the else of an if whose first
//     part, the usual one, is empty.
type counter struct {
	// fuel is the index of the global, refill that of the function that asks for more, and
	// looker that of the one that does so below 0.
	fuel, refill, looker uint32
	// cached says that the body has the local, whose index is cell.
	cached bool
	cell   uint32
}

// reload appends: local = fuel, if there is the local.
func (c *counter) reload(dst []byte) []byte {
	if !c.cached {
		return dst
	}
	dst = wasmbin.AppendU32(append(dst, byte(wasmbin.OpGlobalGet)), c.fuel)
	return wasmbin.AppendU32(append(dst, byte(wasmbin.OpLocalSet)), c.cell)
}

// get appends the counter's value.
func (c *counter) get(dst []byte) []byte {
	if c.cached {
		return wasmbin.AppendU32(append(dst, byte(wasmbin.OpLocalGet)), c.cell)
	}
	return wasmbin.AppendU32(append(dst, byte(wasmbin.OpGlobalGet)), c.fuel)
}

// set appends what sets the counter to the topmost operand.
func (c *counter) set(dst []byte) []byte {
	if c.cached {
		dst = wasmbin.AppendU32(append(dst, byte(wasmbin.OpLocalTee)), c.cell)
	}
	return wasmbin.AppendU32(append(dst, byte(wasmbin.OpGlobalSet)), c.fuel)
}

// with appends the counter's value and an operation on it and n.
func (c *counter) with(dst []byte, n int64, op byte) []byte {
	return append(wasmbin.AppendS64(append(c.get(dst), byte(wasmbin.OpI64Const)), n), op)
}

// change appends an operation of the counter and n, where n is not 0.
func (c *counter) change(dst []byte, n int64, op byte) []byte {
	if n == 0 {
		return dst
	}
	return c.set(c.with(dst, n, op))
}

// pay appends: fuel -= cost.
func (c *counter) pay(dst []byte, cost int64) []byte {
	return c.change(dst, cost, byte(wasmbin.OpI64Sub))
}

// more appends: fuel -= cost; refill(); fuel += cost. The host is asked with what the
// counter would be after the payment, which is what follows.
func (c *counter) more(dst []byte, cost int64) []byte {
	dst = wasmbin.AppendU32(append(c.pay(dst, cost), byte(wasmbin.OpCall)), c.refill)
	return c.change(c.reload(dst), cost, byte(wasmbin.OpI64Add))
}

// ask appends: if fuel < cost { more }.
func (c *counter) ask(dst []byte, cost int64) []byte {
	dst = append(c.with(dst, cost, opI64GeS), byte(wasmbin.OpIf), empty, byte(wasmbin.OpElse))
	return append(c.more(dst, cost), byte(wasmbin.OpEnd))
}

// look appends: if fuel < 0 { refill() }.
func (c *counter) look(dst []byte) []byte {
	dst = append(c.with(dst, 0, opI64GeS), byte(wasmbin.OpIf), empty, byte(wasmbin.OpElse))
	return append(c.reload(wasmbin.AppendU32(append(dst, byte(wasmbin.OpCall)), c.refill)), byte(wasmbin.OpEnd))
}

// lookFar appends a call of the function that looks.
func (c *counter) lookFar(dst []byte) []byte {
	return c.reload(wasmbin.AppendU32(append(dst, byte(wasmbin.OpCall)), c.looker))
}

// orBranch appends: if fuel < cost { branch to label }. Nothing may be on the stack of
// the frame, as nothing is at the head of a loop without parameters: wazero's compiler
// makes less of br_if.
func (c *counter) orBranch(dst []byte, cost int64, label byte) []byte {
	dst = append(c.with(dst, cost, opI64GeS), byte(wasmbin.OpIf), empty, byte(wasmbin.OpElse))
	return append(dst, byte(wasmbin.OpBr), label+1, byte(wasmbin.OpEnd))
}

// orBranchWith is orBranch where the label takes what is on the stack.
func (c *counter) orBranchWith(dst []byte, cost int64, label byte) []byte {
	return append(c.with(dst, cost, opI64LtS), byte(wasmbin.OpBrIf), label)
}
