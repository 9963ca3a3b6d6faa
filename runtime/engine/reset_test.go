package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// traces is a module whose call looks for what an earlier one left (the number that it
// returns says where), then leaves as much as it can: each byte of memory, grown to the
// cap, each global, a variable, closed descriptors, and with tables an entry of a table.
func traces(tables bool) []byte {
	var b w.Module
	four := w.Types{w.I32, w.I32, w.I32, w.I32}
	alloc := b.Import(env, "alloc", one, one)
	length := b.Import(env, "length", one, one)
	store := b.Import(env, "store_u64", two, nil)
	varGet := b.Import(env, "var_get", one, one)
	varSet := b.Import(env, "var_set", two, nil)
	outputSet := b.Import(env, "output_set", two, nil)
	outputLength := b.Import(env, "output_length", nil, one)
	fdWrite := b.Import(wasi, "fd_write", four, number)
	fdClose := b.Import(wasi, "fd_close", number, number)
	fdRenumber := b.Import(wasi, "fd_renumber", w.Types{w.I32, w.I32}, number)
	setFlags := b.Import(wasi, "fd_fdstat_set_flags", w.Types{w.I32, w.I32}, number)
	b.Memory(2)
	b.Data(0, []byte{16, 0, 0, 0, 1, 0, 0, 0}) // one byte at 16, for fd_write
	b.Section(wasmbin.SectionGlobal, []byte{
		4, 0x7f, 1, 0x41, 7, 0x0b, 0x7e, 1, 0x42, 9, 0x0b,
		0x7d, 1, 0x43, 0, 0, 0, 0, 0x0b, 0x7c, 1, 0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b,
	})
	b.Section(wasmbin.SectionTable, []byte{1, byte(wasmbin.FuncRef), 1, 4, 8})
	bytes := []byte{0x3f, 0, 0x41, 0x10, 0x74} // memory.size << 16
	found := func(code int32) []byte {         // if the i32 on the stack is not 0, return code
		return append(append([]byte{0x04, 0x40}, w.Const32(code)...), 0x0f, 0x0b)
	}
	globalGet := func(n byte) []byte { return []byte{0x23, n} }
	globalSet := func(n byte) []byte { return []byte{0x24, n} }
	ne32, ne64 := []byte{0x47}, []byte{0x52}
	// scan ORs all of memory from the address in local 0 on into local 1
	scan := slices.Concat(w.Loop, w.Get(1), w.Get(0), []byte{0xa7, 0x29, 0x03, 0x00, 0x84}, w.Set(1),
		w.Get(0), w.Const64(8), w.Add64, w.Set(0),
		w.Get(0), []byte{0xa7}, bytes, []byte{0x49}, w.AgainIf, w.End,
		w.Get(1), w.Const64(0), ne64)
	body := [][]byte{
		{0x3f, 0}, w.Const32(2), ne32, found(1),
		globalGet(0), w.Const32(7), ne32, found(2),
		globalGet(1), w.Const64(9), ne64, found(3),
		globalGet(2), {0xbc}, w.Const32(0), ne32, found(4),
		globalGet(3), {0xbd}, w.Const64(0), ne64, found(5),
		w.Const64(8), w.Set(0), scan, found(6),
		w.Call(outputLength), w.Const64(0), ne64, found(7),
		w.Const64(8), w.Call(alloc), w.Set(2), w.Get(2), w.Const64(0x6e616d65), w.Call(store),
		w.Get(2), w.Call(varGet), w.Call(length), w.Const64(0), ne64, found(8),
		w.Const32(1), w.Const32(0), w.Const32(1), w.Const32(8), w.Call(fdWrite), found(9),
	}
	if tables {
		body = append(body, w.Const32(2), []byte{0x25, 0, 0xd1, 0x45}, found(10), // table 0 has a function at 2
			w.Const32(2), []byte{0xd2, 11}, []byte{0x26, 0})
		b.Section(wasmbin.SectionElement, []byte{1, 0, 0x41, 0, 0x0b, 1, 11})
	}
	body = append(body,
		w.Loop, w.Const32(1), w.Grow, w.Const32(-1), ne32, w.AgainIf, w.End,
		w.Const64(2<<16), w.Set(0), scan, found(11),
		w.Const32(0), w.Const32(0xaa), bytes, []byte{0xfc, 0x0b, 0},
		w.Const32(-1), globalSet(0), w.Const64(-1), globalSet(1),
		[]byte{0x43, 1, 2, 3, 4}, globalSet(2), []byte{0x44, 1, 2, 3, 4, 5, 6, 7, 8}, globalSet(3),
		// var_get has freed the name: make it again
		w.Const64(8), w.Call(alloc), w.Set(2), w.Get(2), w.Const64(0x6e616d65), w.Call(store),
		w.Get(2), w.Const64(8), w.Call(alloc), w.Call(varSet),
		w.Const64(16), w.Const64(4), w.Call(outputSet),
		w.Const32(1), w.Const32(4), w.Call(setFlags), w.Drop,
		w.Const32(2), w.Const32(1), w.Call(fdRenumber), w.Drop,
		w.Const32(0), w.Call(fdClose), w.Drop, w.Const32(1), w.Call(fdClose), w.Drop, w.Const32(2), w.Call(fdClose),
		w.Drop,
		w.Const32(0))
	b.Func("call", number, 3, body...)
	return b.Bytes()
}

// TestNothingOfACallIsLeftForTheNext runs the worst module that can be reset, and one that
// cannot be, 1,000 times each.
func TestNothingOfACallIsLeftForTheNext(t *testing.T) {
	for name, tables := range map[string]bool{"reset": false, "fresh": true} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			m, err := e.Load(t.Context(), traces(tables), engine.Limits{MemoryMiB: 1})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 1000 {
				out, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("input")})
				if err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
				if out.MemoryBytes < 15<<16 || len(out.Output) != 4 {
					t.Fatalf("call %d did not reach its end: %d bytes, output %q", n, out.MemoryBytes, out.Output)
				}
				if m.Resettable() == tables {
					t.Fatalf("resettable = %v", m.Resettable())
				}
				if live := e.Live(); live > 5 {
					t.Fatalf("%d instances for one call at a time", live)
				}
			}
			if made := m.Made(); tables != (made >= 1000) || !tables && made > 3 {
				t.Errorf("%d instances were made", made)
			}
		})
	}
}

// TestMemoryOfAGoGuestStaysFlat makes many calls that leave much garbage, which no run of
// the guest's collector takes away: a reset does.
func TestMemoryOfAGoGuestStaysFlat(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	input := bytes.Repeat([]byte("garbage "), 20_000)
	var least, most int64
	for n := range 300 {
		out, err := m.Call(t.Context(), engine.Call{Export: "echo", Input: input})
		if err != nil || !bytes.Equal(out.Output, input) {
			t.Fatalf("call %d: %d bytes, %v", n, len(out.Output), err)
		}
		if n == 0 {
			least, most = out.MemoryBytes, out.MemoryBytes
		}
		least, most = min(least, out.MemoryBytes), max(most, out.MemoryBytes)
	}
	if !m.Resettable() || m.Made() > 3 || most > least+1<<20 {
		t.Errorf("resettable %v, %d instances; memory from %d to %d bytes", m.Resettable(), m.Made(), least, most)
	}
}

// TestADeclaredMaximumHolds has a module that says how large its memory may be: the page
// more that a reset needs is never the guest's.
func TestADeclaredMaximumHolds(t *testing.T) {
	for _, most := range []uint32{1, 3, 16, 1 << 16} {
		var b w.Module
		b.Section(wasmbin.SectionMemory, wasmbin.AppendU32(wasmbin.AppendU32([]byte{1, 1}, 1), most))
		// grow by a page until it fails, then answer the size in pages as an error code
		b.Func("call", number, 0, w.Loop, w.Const32(1), w.Grow, w.Const32(1), []byte{0x6a}, w.AgainIf, w.End,
			[]byte{0x3f, 0x00})
		m := load(t, b.Bytes(), engine.Limits{MemoryMiB: 1})
		for range 5 {
			_, err := m.Call(t.Context(), engine.Call{Export: "call"})
			want(t, err, engine.GuestError, fmt.Sprintf("returned %d ", min(most, 16)))
		}
		if !m.Resettable() || m.Made() > 3 {
			t.Errorf("maximum %d: resettable %v, %d instances", most, m.Resettable(), m.Made())
		}
	}
}
