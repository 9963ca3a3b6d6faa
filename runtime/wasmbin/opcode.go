package wasmbin

import "fmt"

// Op is an instruction's opcode: the byte itself, or the prefix in the high byte and
// the number after it in the low one, as in 0xfc0b for memory.fill.
type Op uint16

// The instructions that code outside of this package needs by name.
const (
	OpUnreachable  Op = 0x00
	OpNop          Op = 0x01
	OpBlock        Op = 0x02
	OpLoop         Op = 0x03
	OpIf           Op = 0x04
	OpElse         Op = 0x05
	OpEnd          Op = 0x0b
	OpBr           Op = 0x0c
	OpBrIf         Op = 0x0d
	OpBrTable      Op = 0x0e
	OpReturn       Op = 0x0f
	OpCall         Op = 0x10
	OpCallIndirect Op = 0x11
	OpSelectTyped  Op = 0x1c
	OpLocalGet     Op = 0x20
	OpLocalSet     Op = 0x21
	OpLocalTee     Op = 0x22
	OpGlobalGet    Op = 0x23
	OpGlobalSet    Op = 0x24
	OpTableGet     Op = 0x25
	OpTableSet     Op = 0x26
	OpMemoryGrow   Op = 0x40
	OpI32Const     Op = 0x41
	OpI64Const     Op = 0x42
	OpF32Const     Op = 0x43
	OpF64Const     Op = 0x44
	OpI64LtS       Op = 0x53
	OpI64Add       Op = 0x7c
	OpI64Sub       Op = 0x7d
	OpI64ShrU      Op = 0x88
	OpI64ExtendU   Op = 0xad
	OpRefNull      Op = 0xd0
	OpRefFunc      Op = 0xd2
	OpMemoryInit   Op = 0xfc08
	OpDataDrop     Op = 0xfc09
	OpMemoryCopy   Op = 0xfc0a
	OpMemoryFill   Op = 0xfc0b
	OpTableInit    Op = 0xfc0c
	OpElemDrop     Op = 0xfc0d
	OpTableCopy    Op = 0xfc0e
	OpTableGrow    Op = 0xfc0f
	OpTableFill    Op = 0xfc11
	opV128Const    Op = 0xfd0c
	opShuffle      Op = 0xfd0d
	opDrop         Op = 0x1a
	opSelect       Op = 0x1b
	opRefIsNull    Op = 0xd1
	opTableSize    Op = 0xfc10
)

// String returns the opcode in hex, as the specification's index of instructions
// lists it.
func (op Op) String() string {
	if op > 0xff {
		return fmt.Sprintf("0x%02x %d", byte(op>>8), byte(op))
	}
	return fmt.Sprintf("0x%02x", byte(op))
}

// shape says which immediates follow an opcode.
type shape byte

const (
	shapeUnknown   shape = iota // no instruction of WebAssembly 2.0
	shapeNone                   // nothing
	shapeBlock                  // a block type
	shapeIndex                  // one index
	shapeTable                  // br_table: labels
	shapeIndirect               // a type and a table
	shapeTwo                    // two indexes
	shapeTypes                  // a vector of value types
	shapeRef                    // a reference type
	shapeMemArg                 // alignment and offset
	shapeMemLane                // alignment, offset and a lane
	shapeZero                   // a byte that is 0: the memory
	shapeZeros                  // two of them
	shapeIndexZero              // an index and the byte 0
	shapeI32                    // a constant
	shapeI64
	shape4 // bytes
	shape8
	shape16
	shapeLane  // one lane
	shapeLanes // 16 lanes of 32
)

// shapes has the immediates of each opcode without a prefix.
var shapes = func() (t [256]shape) {
	fill := func(from, to Op, s shape) {
		for op := from; op <= to; op++ {
			t[op] = s
		}
	}
	fill(0x00, 0x01, shapeNone)
	fill(0x02, 0x04, shapeBlock)
	t[0x05], t[0x0b] = shapeNone, shapeNone
	fill(0x0c, 0x0d, shapeIndex)
	t[0x0e], t[0x0f], t[0x10], t[0x11] = shapeTable, shapeNone, shapeIndex, shapeIndirect
	t[0x1a], t[0x1b], t[0x1c] = shapeNone, shapeNone, shapeTypes
	fill(0x20, 0x26, shapeIndex)
	fill(0x28, 0x3e, shapeMemArg)
	fill(0x3f, 0x40, shapeZero)
	t[0x41], t[0x42], t[0x43], t[0x44] = shapeI32, shapeI64, shape4, shape8
	fill(0x45, 0xc4, shapeNone)
	t[0xd0], t[0xd1], t[0xd2] = shapeRef, shapeNone, shapeIndex
	return t
}()

// shapeOf returns the immediates of an opcode.
func shapeOf(op Op) shape {
	switch op >> 8 {
	case 0:
		return shapes[op]
	case 0xfc:
		return miscShape(op)
	case 0xfd:
		return vectorShape(op)
	}
	return shapeUnknown
}

func miscShape(op Op) shape {
	switch {
	case op < OpMemoryInit:
		return shapeNone
	case op == OpMemoryInit:
		return shapeIndexZero
	case op == OpMemoryCopy:
		return shapeZeros
	case op == OpMemoryFill:
		return shapeZero
	case op == OpTableInit, op == OpTableCopy:
		return shapeTwo
	case op <= OpTableFill:
		return shapeIndex
	}
	return shapeUnknown
}

func vectorShape(op Op) shape {
	switch n := byte(op); {
	case n <= 11, n == 92, n == 93:
		return shapeMemArg
	case n == 12:
		return shape16
	case n == 13:
		return shapeLanes
	case n >= 21 && n <= 34:
		return shapeLane
	case n >= 84 && n <= 91:
		return shapeMemLane
	case vectorSignatures[n].known:
		return shapeNone
	}
	return shapeUnknown
}

// IsRange tells whether an instruction works on a whole range of a memory or a table, whose
// size is its topmost operand.
func (op Op) IsRange() bool {
	switch op {
	case OpMemoryGrow, OpMemoryInit, OpMemoryCopy, OpMemoryFill, OpTableInit, OpTableCopy, OpTableGrow, OpTableFill:
		return true
	}
	return false
}
