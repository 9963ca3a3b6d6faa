package meter

import "github.com/bulkhead-host/bulkhead/runtime/wasmbin"

// deadCode follows which code is never reached: what follows an unconditional branch
// up to the end of its frame. Nothing is added there; it has no operands of a known
// type.
type deadCode struct {
	is bool
	// depth is the number of frames that began in dead code.
	depth int
}

// step goes past one instruction.
func (d *deadCode) step(op wasmbin.Op) {
	switch op {
	case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
		if d.is {
			d.depth++
		}
	case wasmbin.OpElse:
		if d.depth == 0 {
			d.is = false
		}
	case wasmbin.OpEnd:
		if d.depth > 0 {
			d.depth--
		} else {
			d.is = false
		}
	case wasmbin.OpBr, wasmbin.OpBrTable, wasmbin.OpReturn, wasmbin.OpUnreachable:
		d.is = true
	}
}
