// Package meter adds fuel to WebAssembly modules: it rewrites a module so that it
// counts its own instructions and asks the host when its fuel is spent.
//
// The bytes of a valid module come in; the bytes of a module that does the same go
// out, with one import and one counter more. The counter is a mutable i64 global that
// starts at 0. Each basic block subtracts the number of its instructions; operations
// on whole ranges (memory.fill, table.copy, memory.grow …) subtract their size before
// they begin. At the entry of a function, at the head of a loop and before such an
// operation the counter is compared with what is to be paid, and where it would fall
// below 0 the module calls bulkhead:host/meter.refill first: it gets what the counter
// would be and returns what is to be added, or does not return.
//
// It must not know what fuel is worth, who gives it, or what runs the module. The
// method is that of wasm-metering and of Gas injection in wasm-instrument, with costs
// merged where one block always follows another.
package meter

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// Version is part of the key of whatever is kept about a rewritten module. It changes
// when the same module would be rewritten differently.
const Version = "3"

// The names that the rewritten module uses.
const (
	// Module and Refill name the import, of the type (i64) -> (i64).
	Module = wasmbin.MeterModule
	Refill = "refill"
	// Fuel is the export of the counter.
	Fuel = wasmbin.ReservedPrefix + "fuel"
	// GlobalPrefix and the index of a global is the name under which a mutable global
	// is exported with Options.Globals.
	GlobalPrefix = wasmbin.ReservedPrefix + "g"
)

// Costs of operations on ranges, beside the instruction itself: eight bytes cost what
// one instruction costs, and so does an entry of a table. A new page of memory has to
// be zeroed.
const (
	bytesShift = 3
	pageShift  = 16 - bytesShift
)

// ErrInvalid is returned, wrapped, when the module's summary is not that of its bytes.
var ErrInvalid = errors.New("the module is not the one that was read")

// Options says what Instrument adds beside fuel.
type Options struct {
	// Globals exports each mutable global of the module as bulkhead:g<index>, so that
	// the host can set it back.
	Globals bool
	// every charges each instruction on its own, without merging. It is slow and plain:
	// tests compare with it.
	every bool
	// tail and looks stand for the constants where they are not 0.
	tail, looks int
}

// Instrument returns a copy of a module with fuel. info is the summary that
// wasmbin.Read returned for wasm. The module is validated in full before anything is
// rewritten, since a name or an index of an invalid module could reach what is added
// here; a refusal is a *wasmbin.Error. The same module and options give the same bytes.
// It is safe for concurrent use.
func Instrument(wasm []byte, info *wasmbin.Module, options Options) ([]byte, error) {
	if err := wasmbin.Validate(info); err != nil {
		return nil, err
	}
	r := &rewriter{
		info:    info,
		options: options,
		counter: counter{
			fuel:   uint32(len(info.Globals)),
			refill: uint32(len(info.Imports) + 1 + info.Functions),
			looker: uint32(len(info.Imports) + 2 + info.Functions),
		},
	}
	number := []wasmbin.ValueType{wasmbin.I64}
	edit := &wasmbin.Edit{
		Imports: []wasmbin.NewImport{{Module: Module, Name: Refill,
			Type: wasmbin.FuncType{Params: number, Results: number}}},
		Functions: []wasmbin.NewFunction{{Body: r.refillBody(uint32(len(info.Imports)))}, {Body: r.lookBody()}},
		Globals:   []wasmbin.NewGlobal{{}},
		Exports:   []wasmbin.NewExport{{Name: Fuel, Kind: wasmbin.ExternGlobal, Index: r.counter.fuel}},
		Body:      r.body,
		Strip:     true,
	}
	if options.Globals {
		for i, g := range info.Globals {
			if g.Mutable {
				edit.Exports = append(edit.Exports, wasmbin.NewExport{
					Name: GlobalPrefix + strconv.Itoa(i), Kind: wasmbin.ExternGlobal, Index: uint32(i)})
			}
		}
	}
	r.shift = edit.Shift(info)
	out, err := wasmbin.Rewrite(wasm, info, edit)
	if err != nil {
		return nil, fmt.Errorf("add fuel to a module: %w", err)
	}
	return out, nil
}

// rewriter rewrites the bodies of one module.
type rewriter struct {
	info    *wasmbin.Module
	options Options
	shift   wasmbin.Shift
	decode  wasmbin.Decoder
	plan    planner

	// What follows is that of the body at hand.
	counter counter
	nest    nest
	// points are those that were not passed yet, entry the one of the function's entry
	// if it is checked.
	points []point
	entry  *point
	// scratch is the local that holds the size of a range.
	scratch uint32
	// looks counts the looks behind calls.
	looks int
}

// refillBody is the body of the function that is called when the counter is below 0:
// fuel = fuel + import(fuel).
func (r *rewriter) refillBody(host uint32) []byte {
	b := []byte{0}
	b = r.counter.get(r.counter.get(b))
	b = wasmbin.AppendU32(append(b, byte(wasmbin.OpCall)), host)
	return append(r.counter.set(append(b, byte(wasmbin.OpI64Add))), byte(wasmbin.OpEnd))
}

// lookBody is the body of the function that looks: if fuel < 0 { refill() }.
func (r *rewriter) lookBody() []byte {
	return append(r.counter.look([]byte{0}), byte(wasmbin.OpEnd))
}
