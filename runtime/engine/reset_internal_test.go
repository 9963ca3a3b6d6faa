package engine

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// same is random bytes that are the same each time.
type same struct{}

func (same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i*7 + 3)
	}
	return len(p), nil
}

// stillEngine is an engine in which nothing differs from one instance to the next: time
// stands still, and random bytes are the same. cache is its folder of compiled code, "" for
// none.
func stillEngine(t testing.TB, cache string) *Engine {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	e, err := New(context.Background(), Config{
		Spares: -1, Now: func() time.Time { return now }, Random: same{}, Logger: slog.New(slog.DiscardHandler),
		CacheDir: cache,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n, b := e.Mapped(); n != 0 || b != 0 || e.Live() != 0 {
			t.Errorf("%d memories of %d bytes and %d instances are left", n, b, e.Live())
		}
	})
	return e
}

// newest returns an instance that is initialised, by itself and not by a snapshot.
func newest(t testing.TB, m *Module) *instance {
	t.Helper()
	state := abi.NewState(t.Context(), m.limits.memoryBytes(), m.limits.Fuel)
	i, err := m.instantiate(t.Context(), state, m.limits.memoryBytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return i
}

// equal compares all of two instances that a guest could find a difference in.
func equal(t testing.TB, what string, got, want *instance) {
	t.Helper()
	if g, w := memoryOf(got), memoryOf(want); !bytes.Equal(g, w) {
		t.Fatalf("%s: memory has %d bytes and differs from that of a new instance, which has %d, at %d", what, len(g),
			len(w), difference(g, w))
	}
	for n := range want.globals {
		if g, w := got.globals[n].Get(), want.globals[n].Get(); g != w {
			t.Fatalf("%s: the mutable global %d is %x, in a new instance %x", what, n, g, w)
		}
	}
	if _, untouched := got.state.Mark(); !untouched {
		t.Fatalf("%s: kernel memory or a call is left", what)
	}
}

func memoryOf(i *instance) []byte {
	if i.state.Linear() == nil {
		return nil
	}
	data, _ := i.guest.Memory().Read(0, i.guest.Memory().Size())
	return data
}

func difference(a, b []byte) int {
	for n := range min(len(a), len(b)) {
		if a[n] != b[n] {
			return n
		}
	}
	return min(len(a), len(b))
}

// checkReset runs use in an instance and resets it, several times, and compares it with a
// new one each time; and so a second instance that was made from the snapshot.
func checkReset(t testing.TB, m *Module, use func(i *instance, round int)) {
	t.Helper()
	ctx := t.Context()
	reference := newest(t, m)
	defer m.discard(reference)
	if err := reference.findGlobals(); err != nil {
		t.Fatal(err)
	}
	first := newest(t, m)
	defer m.discard(first)
	s, err := first.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.release(); err != nil {
			t.Error(err)
		}
	}()
	equal(t, "before any call", first, reference)
	state := abi.NewState(ctx, m.limits.memoryBytes(), m.limits.Fuel)
	second, err := m.instantiate(ctx, state, m.limits.memoryBytes())
	if err != nil {
		t.Fatal(err)
	}
	defer m.discard(second)
	if err := second.findGlobals(); err != nil {
		t.Fatal(err)
	}
	if err := second.reset(s); err != nil {
		t.Fatal(err)
	}
	equal(t, "made from the snapshot", second, reference)
	for round := range 4 {
		for _, i := range []*instance{first, second} {
			use(i, round)
			if err := i.reset(s); err != nil {
				t.Fatal(err)
			}
			equal(t, "after a reset", i, reference)
		}
	}
}

// callWith calls an export of an instance as Module.Call would, whatever comes of it.
func callWith(t testing.TB, i *instance, export string, input []byte, params ...uint64) {
	t.Helper()
	if err := i.state.Begin(&abi.Call{Input: input, MemoryBytes: i.module.limits.memoryBytes()}); err != nil {
		t.Fatal(err)
	}
	i.state.OpenAccount(5_000_000_000)
	_, _ = i.call(t.Context(), export, params...) // a guest may fail; it is the traces that count
}

// TestBuiltinPluginsAreAsNewAfterAReset compares byte by byte, for each built-in plugin,
// after calls that work, that fail, and that leave a lot.
func TestBuiltinPluginsAreAsNewAfterAReset(t *testing.T) {
	files, err := BuiltinPlugins()
	if err != nil || len(files) == 0 {
		t.Fatal("there are no built-in plugins; build them with: task plugins")
	}
	long := bytes.Repeat([]byte(`"some text",`), 20_000)
	inputs := [][]byte{
		[]byte(`{"context":{"id":"1"}}`),
		[]byte(`{"request":{"name":"nothing","arguments":{"a":1}},"context":{"id":"1"}}`),
		[]byte(`not JSON`),
		append(append([]byte(`{"request":{"name":"x","arguments":{"list":[`), long...),
			[]byte(`"end"]}},"context":{"id":"1"}}`)...),
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := stillEngine(t, WarmCache).Load(t.Context(), wasm, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !m.resettable.Load() {
				t.Fatal("it cannot be reset")
			}
			checkReset(t, m, func(i *instance, round int) {
				export := "call_tool"
				if round == 0 {
					export = "list_tools"
				}
				callWith(t, i, export, inputs[round])
			})
		})
	}
}

// TestGeneratedModulesAreAsNewAfterAReset does so for generated modules, whose calls write
// to memory, grow it and set globals. Those that trapped are reset too: the engine never
// does that, and it holds all the same.
func TestGeneratedModulesAreAsNewAfterAReset(t *testing.T) {
	modules := 300
	if underRace {
		modules = 40
	}
	for name, tracked := range map[string]bool{"with the table of pages": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			e := stillEngine(t, "")
			if !tracked {
				if err := e.space.Close(); err != nil {
					t.Fatal(err)
				}
			}
			reset := 0
			for seed := range uint64(modules) {
				r := rand.New(rand.NewPCG(seed, 2))
				key := make([]byte, 32)
				for n := range key {
					key[n] = byte(r.Uint32())
				}
				if generatedIsAsNew(t, e, key) {
					reset++
				}
			}
			if reset < modules/10 || reset == modules {
				t.Errorf("%d of %d generated modules can be reset; the generator should make both kinds", reset,
					modules)
			}
		})
	}
}

// generatedIsAsNew checks one generated module. It returns false for one that cannot be reset.
func generatedIsAsNew(t testing.TB, e *Engine, key []byte) bool {
	t.Helper()
	m, err := e.Load(t.Context(), wasmtest.Generate(key), Limits{MemoryMiB: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if !m.resettable.Load() {
		return false
	}
	checkReset(t, m, func(i *instance, _ int) {
		for _, export := range m.info.Exports {
			if export.Kind != wasmbin.ExternFunc || len(export.Type.Params) > 2 || len(export.Type.Results) > 2 {
				continue
			}
			callWith(t, i, export.Name, nil, make([]uint64, len(export.Type.Params))...)
			i.state.Reset(abi.Initial{})
		}
	})
	return true
}

// FuzzReset asserts for generated modules that an instance is as new after a reset.
func FuzzReset(f *testing.F) {
	for seed := range byte(20) {
		f.Add([]byte{seed, 1, 2, 3, 4, 5, 6, 7})
	}
	e := stillEngine(f, "")
	f.Fuzz(func(t *testing.T, key []byte) { generatedIsAsNew(t, e, key) })
}

// TestWhatCannotBeResetIsNot names the reasons for which a module gets fresh instances.
func TestWhatCannotBeResetIsNot(t *testing.T) {
	tableBody := func(body ...[]byte) []byte {
		var b wasmtest.Module
		b.Memory(1)
		b.Section(wasmbin.SectionTable, []byte{1, byte(wasmbin.FuncRef), 0, 4})
		b.Section(wasmbin.SectionElement, []byte{1, 1, 0, 1, 0})
		b.Section(wasmbin.SectionDataCount, []byte{1})
		b.Func("call", nil, 0, body...)
		b.Section(wasmbin.SectionData, []byte{1, 1, 1, 0})
		return b.Bytes()
	}
	global := func(entry ...byte) []byte {
		var b wasmtest.Module
		b.Section(wasmbin.SectionGlobal, append([]byte{1}, entry...))
		b.Func("call", nil, 0)
		return b.Bytes()
	}
	zero, null := wasmtest.Const32(0), wasmtest.NullFunc
	cases := map[string]struct {
		wasm []byte
		want bool
	}{
		"nothing":          {tableBody(), true},
		"table.get":        {tableBody(zero, []byte{0x25, 0, 0x1a}), true},
		"memory.init":      {tableBody(zero, zero, zero, []byte{0xfc, 8, 0, 0}), true},
		"table.set":        {tableBody(zero, null, []byte{0x26, 0}), false},
		"table.init":       {tableBody(zero, zero, zero, []byte{0xfc, 12, 0, 0}), false},
		"elem.drop":        {tableBody([]byte{0xfc, 13, 0}), false},
		"table.copy":       {tableBody(zero, zero, zero, []byte{0xfc, 14, 0, 0}), false},
		"table.grow":       {tableBody(null, zero, []byte{0xfc, 15, 0, 0x1a}), false},
		"table.fill":       {tableBody(zero, null, zero, []byte{0xfc, 17, 0}), false},
		"data.drop":        {tableBody([]byte{0xfc, 9, 0}), false},
		"unreachable code": {tableBody([]byte{0x00}, zero, null, []byte{0x26, 0}), false},
		"i64 global":       {global(0x7e, 1, 0x42, 0, 0x0b), true},
		"constant vector":  {global(append([]byte{0x7b, 0, 0xfd, 12}, append(make([]byte, 16), 0x0b)...)...), true},
		"vector global":    {global(append([]byte{0x7b, 1, 0xfd, 12}, append(make([]byte, 16), 0x0b)...)...), false},
		"reference global": {global(0x70, 1, 0xd0, 0x70, 0x0b), false},
	}
	e := stillEngine(t, "")
	for name, c := range cases {
		m, err := e.Load(t.Context(), c.wasm, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.resettable.Load() != c.want {
			t.Errorf("%s: resettable = %v", name, !c.want)
		}
	}
	m, err := e.Load(t.Context(), tableBody(), Limits{Fresh: true})
	if err != nil || m.resettable.Load() {
		t.Errorf("a module that asks for fresh instances is reset: %v", err)
	}
}
