package wasmtest

import "github.com/bulkhead-host/bulkhead/runtime/wasmbin"

const opEnd = 0x0b

// Instructions without immediates.
var (
	Unreachable = []byte{0x00}
	End         = []byte{opEnd}
	Drop        = []byte{0x1a}
	Eqz64       = []byte{0x50}
	Add64       = []byte{0x7c}
	// Loop begins a loop without a result; Again jumps to its begin.
	Loop  = []byte{0x03, 0x40}
	Again = []byte{0x0c, 0x00}
	// AgainIf jumps to the begin of the loop if the i32 on the stack is not 0.
	AgainIf = []byte{0x0d, 0x00}
	// Grow grows memory by the i32 on the stack.
	Grow = []byte{0x40, 0x00}
	// Load32 loads an i32 from the address on the stack, Store32 stores one.
	Load32  = []byte{0x28, 0x02, 0x00}
	Store32 = []byte{0x36, 0x02, 0x00}
	// GrowTable grows table 0 by the i32 on the stack, with the reference below.
	GrowTable = []byte{0xfc, 0x0f, 0x00}
	NullFunc  = []byte{0xd0, byte(wasmbin.FuncRef)}
)

// Const32 pushes an i32.
func Const32(n int32) []byte { return appendSigned([]byte{0x41}, int64(n)) }

// Const64 pushes an i64.
func Const64(n int64) []byte { return appendSigned([]byte{0x42}, n) }

// Call calls a function.
func Call(index uint32) []byte { return wasmbin.AppendU32([]byte{0x10}, index) }

// Get pushes a local.
func Get(local uint32) []byte { return wasmbin.AppendU32([]byte{0x20}, local) }

// Set sets a local.
func Set(local uint32) []byte { return wasmbin.AppendU32([]byte{0x21}, local) }

func appendSigned(dst []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}
