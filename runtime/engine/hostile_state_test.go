package engine_test

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// manyFunctions is a module of n functions beside its call.
func manyFunctions(n int) []byte {
	var b w.Module
	for range n {
		b.Func("", number, 0, w.Const32(0))
	}
	b.Func("call", number, 0, w.Const32(0))
	return b.Bytes()
}

// TestGlobalsOfEveryTypeAreSetBackToTheBit has exported globals that begin as the odd ones of
// their type: signalling NaNs, which a number of the host would make quiet, and the least
// integers. Each call wants them so and leaves others.
func TestGlobalsOfEveryTypeAreSetBackToTheBit(t *testing.T) {
	const f32Bits, f64Bits = 0xffa0_0001, 0xfff4_0000_0000_0001
	var b w.Module
	global := func(kind byte, begin ...byte) []byte { return slices.Concat([]byte{kind, 1}, begin, []byte{0x0b}) }
	b.Section(wasmbin.SectionGlobal, slices.Concat([]byte{4},
		global(0x7f, w.Const32(-1<<31)...), global(0x7e, w.Const64(-1<<63)...),
		global(0x7d, binary.LittleEndian.AppendUint32([]byte{0x43}, f32Bits)...),
		global(0x7c, binary.LittleEndian.AppendUint64([]byte{0x44}, f64Bits)...)))
	for i, name := range []string{"a", "b", "c", "d"} {
		b.Export(name, wasmbin.ExternGlobal, uint32(i))
	}
	get, set := func(n byte) []byte { return []byte{0x23, n} }, func(n byte) []byte { return []byte{0x24, n} }
	b.Func("call", number, 0,
		get(0), w.Const32(-1<<31), []byte{0x47}, // i32.ne
		get(1), w.Const64(-1<<63), []byte{0x52}, []byte{0x72}, // i64.ne, i32.or
		get(2), []byte{0xbc}, w.Const32(f32Bits-1<<32), []byte{0x47, 0x72}, // i32.reinterpret_f32
		get(3), []byte{0xbd}, w.Const64(-0xb_ffff_ffff_ffff), []byte{0x52, 0x72}, // i64.reinterpret_f64
		w.Const32(7), set(0), w.Const64(7), set(1),
		[]byte{0x43, 0, 0, 0xa0, 0x7f}, set(2), []byte{0x44, 1, 0, 0, 0, 0, 0, 0xf4, 0x7f}, set(3))
	m := load(t, b.Bytes(), engine.Limits{})
	for n := range 20 {
		if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
}

// TestATrapInsideAnotherCallOfTheModuleStaysThere has a host function call the module again,
// where it traps, exits, runs out of memory or never ends: the outer call goes on in an
// instance of its own, and so do later ones.
func TestATrapInsideAnotherCallOfTheModuleStaysThere(t *testing.T) {
	var b w.Module
	ask := b.Import(user, "ask", one, one)
	exit := b.Import(wasi, "proc_exit", number, nil)
	b.Memory(1)
	b.Func("call", number, 0, w.Const32(64), w.Load32, // 0 but for what another call left
		w.Const32(64), w.Const32(7), w.Store32, w.Const64(0), w.Call(ask), w.Drop,
		w.Const32(64), w.Load32, w.Const32(7), []byte{0x47, 0x72})
	b.Func("trap", number, 0, w.Const32(64), w.Const32(9), w.Store32, w.Unreachable)
	b.Func("exit", number, 0, w.Const32(64), w.Const32(9), w.Store32, w.Const32(3), w.Call(exit), w.Const32(0))
	b.Func("far", number, 0, w.Const32(-8), w.Load32)
	b.Func("loop", number, 0, w.Loop, w.Again, w.End, w.Const32(0))
	m := load(t, b.Bytes(), engine.Limits{Concurrency: 2})
	for export, kind := range map[string]engine.CallKind{"trap": engine.Trap, "exit": engine.Exit, "far": engine.Trap,
		"loop": engine.CPU} {
		for range 5 {
			_, err := m.Call(t.Context(), engine.Call{Export: "call",
				Host: hostOf(func(ctx context.Context, _ []byte) []byte {
					_, err := m.Call(ctx, engine.Call{Export: export, Limits: engine.Limits{Fuel: 3_000_000}})
					want(t, err, kind, "")
					return nil
				})})
			if err != nil {
				t.Errorf("around %s: %v", export, err)
			}
		}
	}
}

// TestAnExitDuringInitialisationEndsTheCallOnly exits in each place that runs before a call.
func TestAnExitDuringInitialisationEndsTheCallOnly(t *testing.T) {
	for _, where := range []string{"start", "_initialize", "__wasm_call_ctors"} {
		for code, kind := range map[int32]engine.CallKind{0: "", 3: engine.Exit} {
			var b w.Module
			exit := b.Import(wasi, "proc_exit", number, nil)
			name := where
			if where == "start" {
				name = ""
			}
			f := b.Func(name, nil, 0, w.Const32(code), w.Call(exit))
			if where == "start" {
				b.Start(f)
			}
			b.Func("call", number, 0, w.Const32(0))
			m := load(t, b.Bytes(), engine.Limits{})
			for range 3 {
				if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); kind != "" {
					want(t, err, kind, "code 3")
				} else if err != nil {
					t.Errorf("%s exits with 0: %v", where, err)
				}
			}
		}
	}
}

// TestSegmentsAtTheEndOfAddressesTrap has data of which the last bytes would stand at address
// 0 again, alone and beside data that stands there.
func TestSegmentsAtTheEndOfAddressesTrap(t *testing.T) {
	for _, first := range []int32{-4, 0} {
		var b w.Module
		b.Memory(1)
		b.Data(first, []byte("first"))
		b.Data(-4, []byte("beyond"))
		b.Func("call", number, 0, w.Const32(0))
		m := load(t, b.Bytes(), engine.Limits{})
		for range 3 {
			_, err := m.Call(t.Context(), engine.Call{Export: "call"})
			want(t, err, engine.Trap, "out of bounds")
		}
	}
}
