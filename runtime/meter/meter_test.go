package meter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// TestFuelIsTheNumberOfInstructions compares the fuel of generated modules with that of
// the same modules with each instruction charged on its own.
func TestFuelIsTheNumberOfInstructions(t *testing.T) {
	for seed := range uint64(400) {
		sameFuel(t, w.Generate(binary.LittleEndian.AppendUint64(nil, seed*0x9e3779b97f4a7c15)))
	}
}

// sameFuel runs every function of a module in four forms and compares results, traps
// and fuel.
func sameFuel(t *testing.T, wasm []byte) {
	t.Helper()
	plain, errPlain := start(t, wasm, false, plenty)
	merged, errMerged := start(t, instrument(t, wasm, Options{Globals: true}), false, plenty)
	looking, errLooking := start(t, instrument(t, wasm, Options{tail: 1, looks: 2}), false, plenty)
	every, errEvery := start(t, instrument(t, wasm, Options{every: true}), false, plenty)
	if (errPlain == nil) != (errLooking == nil) {
		t.Fatalf("start: %v, with looks %v", errPlain, errLooking)
	}
	if (errPlain == nil) != (errMerged == nil) || (errPlain == nil) != (errEvery == nil) {
		t.Fatalf("start: %v, with fuel %v, %v", errPlain, errMerged, errEvery)
	}
	if errPlain != nil {
		return
	}
	trapped := false
	for i := range 4 {
		name := fmt.Sprintf("f%d", i)
		f := plain.ExportedFunction(name)
		if f == nil {
			break
		}
		args := make([]uint64, len(f.Definition().ParamTypes()))
		for j := range args {
			args[j] = uint64(3*j + i)
		}
		want, errWant := f.Call(context.Background(), args...)
		got, errGot := merged.ExportedFunction(name).Call(context.Background(), args...)
		looked, errLooked := looking.ExportedFunction(name).Call(context.Background(), args...)
		if fmt.Sprint(want, reason(errWant)) != fmt.Sprint(looked, reason(errLooked)) {
			t.Fatalf("%s: %v %v; with looks %v %v\n%x", name, want, errWant, looked, errLooked, wasm)
		}
		_, errEvery := every.ExportedFunction(name).Call(context.Background(), args...)
		if fmt.Sprint(want, reason(errWant)) != fmt.Sprint(got, reason(errGot)) || reason(errWant) != reason(errEvery) {
			t.Fatalf("%s: %v %v; with fuel %v %v, %v\n%x", name, want, errWant, got, errGot, errEvery, wasm)
		}
		trapped = trapped || errWant != nil
		if a, b := merged.spent(), every.spent(); !trapped && a != b || a < b {
			t.Fatalf("%s: %d fuel; it has run %d instructions\n%x", name, a, b, wasm)
		}
		if a, b := looking.spent(), every.spent(); !trapped && a != b || a < b {
			t.Fatalf("%s: %d fuel with looks; it has run %d instructions\n%x", name, a, b, wasm)
		}
	}
	if memory := plain.Memory(); memory != nil {
		a, _ := memory.Read(0, memory.Size())
		b, _ := merged.Memory().Read(0, merged.Memory().Size())
		if !bytes.Equal(a, b) {
			t.Fatal("memory is not the same")
		}
	}
}

// reason is the first line of a trap.
func reason(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func TestGoGuestComputesTheSame(t *testing.T) {
	plain, metered := run(t, mixed, false, plenty), run(t, instrument(t, mixed, Options{}), true, plenty)
	every := run(t, instrument(t, mixed, Options{every: true}), false, plenty)
	for _, export := range []string{"hash", "documents"} {
		var got [3]uint64
		for i, g := range []*guest{plain, metered, every} {
			out, err := g.ExportedFunction(export).Call(t.Context(), 5)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = out[0]
		}
		if got[0] != got[1] || got[0] != got[2] {
			t.Errorf("%s = %v", export, got)
		}
	}
	if metered.spent() == 0 || metered.spent() != every.spent() {
		t.Errorf("%d fuel for %d instructions", metered.spent(), every.spent())
	}
}

func TestSameInputSameFuel(t *testing.T) {
	wasm := instrument(t, loops(), Options{})
	var first int64
	for i := range 3 {
		g := run(t, wasm, i != 1, plenty)
		if _, err := g.ExportedFunction("branch").Call(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = g.spent()
		}
		if g.spent() != first || first == 0 {
			t.Errorf("%d fuel, then %d", first, g.spent())
		}
	}
}

func TestSameModuleSameBytes(t *testing.T) {
	if !bytes.Equal(instrument(t, mixed, Options{Globals: true}), instrument(t, mixed, Options{Globals: true})) {
		t.Error("the same module gave other bytes")
	}
}

// TestLoopCostsItsInstructions has numbers that were counted by hand.
func TestLoopCostsItsInstructions(t *testing.T) {
	g := run(t, instrument(t, loops(), Options{}), true, plenty)
	for name, perRound := range map[string]int64{"empty": 5, "sum": 11, "call": 5 + 4 + 5} {
		before := g.spent()
		if _, err := g.ExportedFunction(name).Call(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
		if got := g.spent() - before; got != 1000*perRound+1 { // and the result
			t.Errorf("%s: %d for 1000 rounds of %d", name, got, perRound)
		}
	}
}

func TestBudgetEndsAnything(t *testing.T) {
	var endless, start, recursive w.Module
	endless.Func("call", nil, 0, w.Loop, w.Again, w.End)
	start.Start(start.Func("", nil, 0, w.Loop, w.Again, w.End))
	// exponential: f calls f twice, until the depth in memory
	recursive.Memory(1)
	recursive.Func("call", nil, 0, w.Const32(0), w.Load32, w.Const32(24), []byte{0x4a, 0x04, 0x40, 0x0f, 0x0b},
		w.Const32(0), w.Const32(0), w.Load32, w.Const32(1), []byte{0x6a}, w.Store32, w.Call(0), w.Call(0),
		w.Const32(0), w.Const32(0), w.Load32, w.Const32(1), []byte{0x6b}, w.Store32)
	for name, wasm := range map[string][]byte{"endless": endless.Bytes(), "start": start.Bytes(),
		"recursive": recursive.Bytes()} {
		g, err := start2(t, wasm, 1_000_000)
		if err == nil {
			_, err = g.ExportedFunction("call").Call(t.Context())
		}
		if !errors.Is(err, errSpent) {
			t.Errorf("%s: %v", name, err)
		}
		if spent := g.granted; spent > 1_000_000 {
			t.Errorf("%s was granted %d", name, spent)
		}
	}
}

// TestAStackOfCallsThatReturnsIsLookedAt has calls inside one another, with much to do behind
// each, and a budget for half of that: it ends when half of them have returned, and not
// before the first has.
func TestAStackOfCallsThatReturnsIsLookedAt(t *testing.T) {
	const depth, much = 2000, 500
	work := bytes.Repeat(slices.Concat(w.Get(1), w.Get(1), w.Add64, w.Set(1)), much)
	parts := bytes.Repeat(slices.Concat(w.Get(0), []byte{0x04, 0x40}, work[:7*20], w.End), much/20)
	self := slices.Concat(w.Get(0), w.Const32(-1), []byte{0x6a}, w.Call(0))
	block, when := []byte{0x02, 0x40}, slices.Concat(w.Get(0), []byte{0x04, 0x40})
	for name, body := range map[string][]byte{
		"straight":               slices.Concat(self, work),
		"behind a block":         slices.Concat(block, self, w.End, work),
		"behind an if":           slices.Concat(when, self, w.End, work),
		"behind an if with else": slices.Concat(when, self, []byte{0x05}, w.End, work),
		"behind a loop":          slices.Concat(w.Loop, self, w.End, work),
		"behind a branch":        slices.Concat(block, when, self, []byte{0x0c, 1}, w.End, w.End, work),
		"in parts":               slices.Concat(self, parts),
		"in parts of a block":    slices.Concat(block, self, parts, w.End),
	} {
		t.Run(name, func(t *testing.T) {
			var m w.Module
			m.Memory(1)
			one := slices.Concat(w.Const32(0), w.Const32(0), w.Load32, w.Const32(1), []byte{0x6a},
				w.Store32) // one more has returned
			m.Function(w.Types{w.I32}, nil, slices.Concat([]byte{1, 1, byte(w.I64)}, w.Get(0),
				[]byte{0x45, 0x04, 0x40, 0x0f, 0x0b}, body, one, w.End))
			m.Func("call", nil, 0, w.Const32(depth), w.Call(0))
			wasm := instrument(t, m.Bytes(), Options{})
			whole := run(t, wasm, true, plenty)
			if _, err := whole.ExportedFunction("call").Call(t.Context()); err != nil {
				t.Fatal(err)
			}
			g := run(t, wasm, true, whole.spent()/2)
			_, err := g.ExportedFunction("call").Call(t.Context())
			if !errors.Is(err, errSpent) {
				t.Fatalf("err = %v", err)
			}
			if returned, _ := g.Memory().ReadUint32Le(0); returned < depth/4 || returned > 3*depth/4 {
				t.Errorf("%d of %d calls have returned when the budget is spent", returned, depth)
			}
		})
	}
}

func start2(t *testing.T, wasm []byte, budget int64) (*guest, error) {
	return start(t, instrument(t, wasm, Options{}), true, budget)
}

// TestRangesCostTheirSize has the dynamic costs.
func TestRangesCostTheirSize(t *testing.T) {
	body := func(memory bool, ops ...[]byte) []byte {
		var m w.Module
		m.Memory(20)
		m.Section(wasmbin.SectionTable, []byte{1, byte(wasmbin.FuncRef), 1, 20, 0xff, 0x7f})
		m.Func("call", nil, 0, ops...)
		return m.Bytes()
	}
	cases := map[string]struct {
		wasm []byte
		cost int64
	}{
		"fill":        {body(true, w.Const32(0), w.Const32(1), w.Const32(1<<20), []byte{0xfc, 0x0b, 0}), 4 + 1<<17},
		"copy":        {body(true, w.Const32(0), w.Const32(8), w.Const32(800), []byte{0xfc, 0x0a, 0, 0}), 4 + 100},
		"grow":        {body(true, w.Const32(2), w.Grow, w.Drop), 3 + 2<<13},
		"grow beyond": {body(true, w.Const32(-1), w.Grow, w.Drop), 3},
		"table grow":  {body(false, w.NullFunc, w.Const32(100), w.GrowTable, w.Drop), 4 + 100},
		"table fill":  {body(false, w.Const32(0), w.NullFunc, w.Const32(15), []byte{0xfc, 0x11, 0}), 4 + 15},
		"dead":        {body(true, w.Unreachable, []byte{0xfc, 0x0b, 0}), 1},
	}
	for name, c := range cases {
		g := run(t, instrument(t, c.wasm, Options{}), true, plenty)
		_, err := g.ExportedFunction("call").Call(t.Context())
		if (err != nil) != (name == "dead") || g.spent() != c.cost {
			t.Errorf("%s: %d fuel, %v; want %d", name, g.spent(), err, c.cost)
		}
	}
}

// TestRangeIsPaidBeforeItBegins fills a gigabyte with a budget of a thousand.
func TestRangeIsPaidBeforeItBegins(t *testing.T) {
	var m w.Module
	m.Memory(16)
	m.Func("call", nil, 0, w.Const32(0), w.Const32(7), w.Const32(1<<20), []byte{0xfc, 0x0b, 0})
	g := run(t, instrument(t, m.Bytes(), Options{}), true, 1000)
	if _, err := g.ExportedFunction("call").Call(t.Context()); !errors.Is(err, errSpent) {
		t.Errorf("err = %v", err)
	}
	if b, _ := g.Memory().ReadByte(0); b != 0 {
		t.Error("memory was filled")
	}
}

func TestGlobalsAreExportedUnderReservedNames(t *testing.T) {
	wasm := w.Generate(make([]byte, 8))
	g := run(t, instrument(t, wasm, Options{Globals: true}), true, plenty)
	for i, want := range []uint64{5, 6, 7, 8} {
		global := g.ExportedGlobal(fmt.Sprintf("bulkhead:g%d", i))
		if global == nil || global.Get() != want {
			t.Errorf("global %d = %v", i, global)
		}
	}
	g = run(t, instrument(t, wasm, Options{}), true, plenty)
	if g.ExportedGlobal("bulkhead:g0") != nil {
		t.Error("a global is exported without the option")
	}
}

// TestInvalidIsRefusedBeforeRewriting has the code that would reach what is added: the
// counter's own index, which the original does not have.
func TestInvalidIsRefusedBeforeRewriting(t *testing.T) {
	var m w.Module
	m.Func("call", nil, 0, w.Const64(1<<40), []byte{0x24, 0x00})
	info, err := wasmbin.Read(m.Bytes(), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var refused *wasmbin.Error
	if _, err := Instrument(m.Bytes(), info, Options{}); !errors.As(err, &refused) || refused.Kind != wasmbin.Invalid {
		t.Errorf("err = %v", err)
	}
}

// FuzzInstrument asserts that a generated module gives the same results with fuel, and
// spends what it runs.
func FuzzInstrument(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(binary.LittleEndian.AppendUint64(nil, seed))
	}
	f.Fuzz(func(t *testing.T, seed []byte) { sameFuel(t, w.Generate(seed)) })
}

// FuzzInvalid asserts that what Validate refuses is not rewritten, and that what it
// accepts gives a valid module.
func FuzzInvalid(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(w.Generate(binary.LittleEndian.AppendUint64(nil, seed)))
	}
	var m w.Module
	m.Func("call", nil, 0, w.Const64(1<<40), []byte{0x24, 0x00})
	f.Add(m.Bytes())
	limits := wasmbin.DefaultLimits()
	f.Fuzz(func(t *testing.T, wasm []byte) {
		info, err := wasmbin.Read(wasm, limits)
		if err != nil {
			return
		}
		out, err := Instrument(wasm, info, Options{Globals: true})
		if original := wasmbin.Validate(info); original != nil {
			if err == nil {
				t.Fatalf("an invalid module was rewritten: %v", original)
			}
			return
		}
		if err != nil {
			t.Fatalf("a valid module was not rewritten: %v", err)
		}
		after, err := wasmbin.Read(out, limits.Rewritten())
		if err != nil {
			t.Fatalf("the result is refused: %v\n%x", err, out)
		}
		if err := wasmbin.ValidateCode(after); err != nil {
			t.Fatalf("the result is not valid: %v\n%x", err, out)
		}
	})
}
