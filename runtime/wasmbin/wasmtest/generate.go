package wasmtest

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// Generate makes a valid module from a seed of at least 8 bytes: several functions of
// random types and bodies with loops, branches, calls, memory, tables and globals, all
// of which end. It exports memory, its functions as f0, f1 … and takes nothing but
// i32 parameters where a function is called from outside. The same seed gives the
// same module.
func Generate(seed []byte) []byte {
	var key [32]byte
	copy(key[:], seed)
	g := &generator{r: rand.New(rand.NewChaCha8(key))}
	return g.module()
}

// generator makes code by keeping the operand stack empty between statements and by
// building each expression for the type that is wanted.
type generator struct {
	r     *rand.Rand
	m     Module
	types []FuncSig
	// self is the function that is being made; it calls only those after it, so that
	// nothing recurs.
	self   int
	locals Types
	body   []byte
	// labels counts the frames around; free are those that a branch may name: not
	// loops, which only their own counter repeats.
	labels []bool
	depth  int
	fuel   int
}

// FuncSig is the type of a generated function.
type FuncSig struct{ Params, Results Types }

const (
	genFunctions = 4
	genGlobals   = 4
)

var scalars = Types{wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64}

func (g *generator) pick(types Types) wasmbin.ValueType { return types[g.r.IntN(len(types))] }

func (g *generator) module() []byte {
	n := 1 + g.r.IntN(genFunctions)
	for range n {
		var s FuncSig
		for range g.r.IntN(3) {
			s.Params = append(s.Params, g.pick(scalars))
		}
		for range g.r.IntN(3) {
			s.Results = append(s.Results, g.pick(scalars))
		}
		g.types = append(g.types, s)
	}
	g.m.Memory(1)
	g.m.Data(int32(g.r.IntN(1000)), []byte("generated data"))
	g.m.Section(wasmbin.SectionTable, []byte{1, byte(wasmbin.FuncRef), 1, 4, 8})
	// two mutable globals of each integer type
	g.m.Section(wasmbin.SectionGlobal, []byte{genGlobals, 0x7f, 1, 0x41, 5, 0x0b, 0x7f, 1, 0x41, 6, 0x0b, 0x7e, 1, 0x42,
		7, 0x0b, 0x7e, 1, 0x42, 8, 0x0b})
	element := []byte{1, 0, 0x41, 0, 0x0b, 1, byte(n - 1)}
	g.m.Section(wasmbin.SectionElement, element)
	for i := range n {
		g.function(i)
	}
	return g.m.Bytes()
}

func (g *generator) function(i int) {
	sig := g.types[i]
	g.self, g.fuel, g.depth = i, 60, 0
	g.body, g.labels = nil, []bool{true}
	extra := g.r.IntN(4)
	g.locals = append(Types(nil), sig.Params...)
	head := wasmbin.AppendU32(nil, uint32(extra+1))
	for range extra {
		t := g.pick(scalars)
		g.locals = append(g.locals, t)
		head = append(head, 1, byte(t))
	}
	// one counter for each depth of loops
	head = append(head, 8, byte(wasmbin.I32))
	g.statements(1 + g.r.IntN(6))
	for _, t := range sig.Results {
		g.value(t)
	}
	g.emit(opEnd)
	index := g.m.Function(sig.Params, sig.Results, append(head, g.body...))
	g.m.Export("f"+string(rune('0'+i)), wasmbin.ExternFunc, index)
}

func (g *generator) emit(b ...byte) { g.body = append(g.body, b...) }

func (g *generator) emitU32(op byte, n int) {
	g.body = wasmbin.AppendU32(append(g.body, op), uint32(n))
}

func (g *generator) statements(n int) {
	for range n {
		if g.fuel--; g.fuel < 0 {
			return
		}
		g.statement()
	}
}

func (g *generator) statement() {
	switch g.r.IntN(12) {
	case 0:
		if len(g.locals) > 0 {
			i := g.r.IntN(len(g.locals))
			g.value(g.locals[i])
			g.emitU32(0x21, i)
		}
	case 1:
		i := g.r.IntN(genGlobals)
		g.value(globalType(i))
		g.emitU32(0x24, i)
	case 2:
		g.address()
		g.value(wasmbin.I64)
		g.emit(0x37, byte(g.r.IntN(4)), byte(g.r.IntN(100)))
	case 3:
		g.nest(0x02, func() { g.statements(1 + g.r.IntN(3)) })
	case 4:
		g.loop()
	case 5:
		g.value(wasmbin.I32)
		g.nest(0x04, func() {
			g.statements(1 + g.r.IntN(3))
			if g.r.IntN(2) == 0 {
				g.emit(0x05)
				g.statements(1 + g.r.IntN(3))
			}
		})
	case 6:
		g.branch()
	case 7:
		g.call()
	case 8:
		g.bulk()
	case 9:
		g.value(g.pick(scalars))
		g.emit(0x1a)
	case 10:
		g.vector()
	default:
		g.returnEarly()
	}
}

func globalType(i int) wasmbin.ValueType {
	if i < 2 {
		return wasmbin.I32
	}
	return wasmbin.I64
}

// address pushes an address inside of memory, with room for what follows it.
func (g *generator) address() {
	g.value(wasmbin.I32)
	g.body = append(g.body, Const32(0x7fff)...)
	g.emit(0x71) // and
}

func (g *generator) nest(op byte, inside func()) {
	if g.depth >= 6 {
		if op == 0x04 {
			g.emit(0x1a)
		}
		return
	}
	g.depth++
	g.labels = append(g.labels, op != 0x03)
	g.emit(op, 0x40)
	inside()
	g.emit(opEnd)
	g.labels = g.labels[:len(g.labels)-1]
	g.depth--
}

// loop repeats statements up to five times.
func (g *generator) loop() {
	counter := len(g.locals) + g.depth
	times := int32(1 + g.r.IntN(5))
	if g.depth >= 6 {
		return
	}
	g.body = append(g.body, Const32(times)...)
	g.emitU32(0x21, counter)
	// local.tee counter = counter - 1
	count := func() {
		g.emitU32(0x20, counter)
		g.body = append(g.body, Const32(1)...)
		g.emit(0x6b)
		g.emitU32(0x22, counter)
	}
	g.nest(0x03, func() {
		switch g.r.IntN(3) {
		case 0: // as C compilers repeat
			g.statements(1 + g.r.IntN(3))
			count()
			g.emit(0x0d, 0)
		case 1: // as Go's compiler does
			g.statements(g.r.IntN(2))
			count()
			g.nest(0x04, func() {
				g.statements(g.r.IntN(3))
				g.emit(0x0c, 1)
			})
			g.statements(g.r.IntN(2))
		default: // with the way out at the begin
			g.nest(0x02, func() {
				count()
				g.emit(0x45, 0x0d, 0)
				g.statements(1 + g.r.IntN(3))
				g.emit(0x0c, 1)
			})
		}
	})
}

// forward returns a label that leads forward and takes nothing, false if there is
// none.
func (g *generator) forward() (int, bool) {
	label := g.r.IntN(len(g.labels))
	frame := len(g.labels) - 1 - label
	return label, frame > 0 && g.labels[frame]
}

func (g *generator) branch() {
	label, ok := g.forward()
	if !ok {
		return
	}
	switch g.r.IntN(3) {
	case 0:
		g.value(wasmbin.I32)
		g.emitU32(0x0d, label)
	case 1:
		// what follows is never reached, and polymorphic
		g.emitU32(0x0c, label)
		if g.r.IntN(2) == 0 {
			g.emit(0x6a, 0x1a)
		}
	default:
		other, ok := g.forward()
		if !ok {
			other = label
		}
		g.value(wasmbin.I32)
		g.emit(0x0e, 2)
		g.body = wasmbin.AppendU32(g.body, uint32(label))
		g.body = wasmbin.AppendU32(g.body, uint32(other))
		g.body = wasmbin.AppendU32(g.body, uint32(label))
	}
}

func (g *generator) returnEarly() {
	if g.r.IntN(4) > 0 {
		return
	}
	g.value(wasmbin.I32)
	g.nest(0x04, func() {
		for _, t := range g.types[g.self].Results {
			g.value(t)
		}
		g.emit(0x0f)
	})
}

func (g *generator) call() {
	if g.self+1 >= len(g.types) {
		return
	}
	callee := g.self + 1 + g.r.IntN(len(g.types)-g.self-1)
	for _, t := range g.types[callee].Params {
		g.value(t)
	}
	if callee == len(g.types)-1 && g.r.IntN(2) == 0 {
		g.body = append(g.body, Const32(0)...)
		g.emitU32(0x11, callee) // each function's type has the function's own number
		g.emit(0)
	} else {
		g.emitU32(0x10, callee)
	}
	for range g.types[callee].Results {
		g.emit(0x1a)
	}
}

func (g *generator) bulk() {
	switch g.r.IntN(5) {
	case 0:
		g.address()
		g.value(wasmbin.I32)
		g.body = append(g.body, Const32(int32(g.r.IntN(2000)))...)
		g.emit(0xfc, 0x0b, 0)
	case 1:
		g.address()
		g.address()
		g.body = append(g.body, Const32(int32(g.r.IntN(2000)))...)
		g.emit(0xfc, 0x0a, 0, 0)
	case 2:
		g.body = append(g.body, Const32(int32(g.r.IntN(3)))...)
		g.emit(0x40, 0, 0x1a)
	case 3:
		g.emit(0xd0, 0x70)
		g.body = append(g.body, Const32(int32(g.r.IntN(3)))...)
		g.emit(0xfc, 0x0f, 0, 0x1a)
	default:
		g.body = append(g.body, Const32(1)...)
		g.emit(0xd2)
		g.body = wasmbin.AppendU32(g.body, uint32(len(g.types)-1))
		g.body = append(g.body, Const32(2)...)
		g.emit(0xfc, 0x11, 0)
	}
}

// vector computes with a few of the vector instructions and keeps one lane.
func (g *generator) vector() {
	var lanes [16]byte
	binary.LittleEndian.PutUint64(lanes[:], g.r.Uint64())
	g.emit(0xfd, 0x0c)
	g.emit(lanes[:]...)
	g.value(wasmbin.I32)
	g.emit(0xfd, 0x11) // splat
	ops := []byte{0x6e, 0x23, 0x50, 0x2d}
	g.emit(0xfd)
	g.body = wasmbin.AppendU32(g.body, uint32(ops[g.r.IntN(len(ops))]))
	g.emit(0xfd, 0x1b, byte(g.r.IntN(4)))
	g.emitU32(0x24, 0)
}

// value pushes one value.
func (g *generator) value(t wasmbin.ValueType) {
	if g.fuel--; g.fuel < 0 || g.r.IntN(3) == 0 {
		g.leaf(t)
		return
	}
	switch t {
	case wasmbin.I32:
		g.integer()
	case wasmbin.I64:
		switch g.r.IntN(3) {
		case 0:
			g.value(wasmbin.I32)
			g.emit(0xac + byte(g.r.IntN(2)))
		case 1:
			g.address()
			g.emit(0x29, 0, byte(g.r.IntN(100)))
		default:
			g.value(t)
			g.value(t)
			g.emit([]byte{0x7c, 0x7d, 0x7e, 0x83, 0x84, 0x85, 0x86, 0x88}[g.r.IntN(8)])
		}
	case wasmbin.F32:
		g.value(wasmbin.I32)
		g.emit(0xb2)
	default:
		g.value(wasmbin.I64)
		g.emit(0xb9)
	}
}

func (g *generator) integer() {
	switch g.r.IntN(5) {
	case 0:
		g.value(wasmbin.I64)
		g.emit([]byte{0x50, 0xa7}[g.r.IntN(2)])
	case 1:
		g.address()
		g.emit(0x28, 0, byte(g.r.IntN(100)))
	case 2:
		g.value(wasmbin.F64)
		g.emit(0xfc, 2+byte(g.r.IntN(2)))
	case 3:
		g.value(wasmbin.I32)
		g.emit(0x04, 0x7f)
		g.labels = append(g.labels, false)
		g.value(wasmbin.I32)
		g.emit(0x05)
		g.value(wasmbin.I32)
		g.emit(opEnd)
		g.labels = g.labels[:len(g.labels)-1]
	default:
		g.value(wasmbin.I32)
		g.value(wasmbin.I32)
		g.emit([]byte{0x6a, 0x6b, 0x6c, 0x71, 0x72, 0x73, 0x48, 0x4d, 0x46}[g.r.IntN(9)])
	}
}

func (g *generator) leaf(t wasmbin.ValueType) {
	for i, l := range g.locals {
		if l == t && g.r.IntN(2) == 0 {
			g.emitU32(0x20, i)
			return
		}
	}
	switch t {
	case wasmbin.I32:
		if g.r.IntN(3) == 0 {
			g.emitU32(0x23, g.r.IntN(2))
			return
		}
		g.body = append(g.body, Const32(int32(g.r.Uint32()>>g.r.IntN(32)))...)
	case wasmbin.I64:
		g.body = append(g.body, Const64(int64(g.r.Uint64()>>g.r.IntN(64)))...)
	case wasmbin.F32:
		g.emit(0x43, 0, 0, 0x80, 0x3f)
	default:
		g.emit(0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
	}
}
