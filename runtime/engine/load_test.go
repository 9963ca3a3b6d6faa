package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func TestLoadRefusesWithASentence(t *testing.T) {
	importing := func(module, name string, params, results w.Types) []byte {
		var b w.Module
		b.Import(module, name, params, results)
		b.Func("call", nil, 0)
		return b.Bytes()
	}
	var large, invalid, tail, reserved, reaching w.Module
	reserved.Func("bulkhead:fuel", nil, 0)
	reaching.Func("call", nil, 0, w.Const64(1<<40), []byte{0x24, 0x00})
	large.Memory(2000)
	invalid.Func("call", number, 0)
	tail.Func("call", nil, 0, []byte{0x12, 0x00})
	cases := map[string]struct {
		wasm []byte
		kind engine.LoadKind
		says string
	}{
		"not a module":       {[]byte("MZ"), engine.Malformed, "not a WebAssembly module"},
		"component":          {[]byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}, engine.Unsupported, "wasm32-wasip1"},
		"unknown module":     {importing("env", "abort", nil, nil), engine.Unsupported, `"env"."abort"`},
		"unknown function":   {importing(env, "teleport", nil, nil), engine.Unsupported, `"teleport"`},
		"wrong type":         {importing(env, "alloc", number, number), engine.Unsupported, "(i64) -> (i64)"},
		"preview 0":          {importing("wasi_unstable", "fd_write", nil, nil), engine.Unsupported, "preview 0"},
		"preview 2":          {importing("wasi:cli/run@0.2.0", "run", nil, nil), engine.Unsupported, "preview 2"},
		"unknown WASI":       {importing(wasi, "fd_teleport", nil, nil), engine.Unsupported, "fd_teleport"},
		"wrong WASI":         {importing(wasi, "proc_exit", nil, nil), engine.Unsupported, "(i32)"},
		"user with i32":      {importing(user, "f", number, nil), engine.Unsupported, "(i64) -> (i64)"},
		"memory beyond":      {large.Bytes(), engine.TooLarge, "64 MiB"},
		"invalid body":       {invalid.Bytes(), engine.Invalid, "not valid"},
		"tail call":          {tail.Bytes(), engine.Unsupported, "tail calls"},
		"unknown bulk entry": {importing("bulkhead:host/mem", "move", nil, nil), engine.Unsupported, `"move"`},
		"reserved export":    {reserved.Bytes(), engine.Unsupported, "belong to the host"},
		"reach the meter":    {reaching.Bytes(), engine.Invalid, "global 0"},
		"meter": {importing("bulkhead:host/meter", "refill", nil, nil), engine.Unsupported,
			"does not exist"},
	}
	e := newEngine(t, engine.Config{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := e.Load(t.Context(), c.wasm, engine.Limits{})
			var refused *engine.LoadError
			if !errors.As(err, &refused) || refused.Kind != c.kind || !strings.Contains(refused.Message, c.says) {
				t.Errorf("err = %v; want %s with %q", err, c.kind, c.says)
			}
		})
	}
}

func TestLoadHonoursContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newEngine(t, engine.Config{}).Load(ctx, goPlugin, engine.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// TestLoadReturnsWhileTheCompilerRuns leaves the compiler alone in the middle of a
// large module; closing the engine waits for it (TestMain finds what is left over).
func TestLoadReturnsWhileTheCompilerRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), quick)
	defer cancel()
	if _, err := newEngine(t, engine.Config{}).Load(ctx, goPlugin, engine.Limits{}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestSHA256IsOfTheOriginalBytes(t *testing.T) {
	sum := sha256.Sum256(goPlugin)
	if got := loadGo(t, engine.Limits{}).SHA256(); got != hex.EncodeToString(sum[:]) {
		t.Errorf("SHA256 = %s", got)
	}
}

// stuck is random bytes that are the same each time.
type stuck struct{}

func (stuck) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i*7 + 3)
	}
	return len(p), nil
}

// FuzzLoad asserts that any bytes are either refused with a type or loaded and callable,
// within the limits; and that a call that is made again, in an instance that was reset or
// in a new one, ends in the same way with the same fuel. Time stands still for the guest.
func FuzzLoad(f *testing.F) {
	f.Add(asking())
	f.Add(spin(true))
	f.Add(traces(false))
	f.Add(traces(true))
	f.Add([]byte{0, 'a', 's', 'm', 1, 0, 0, 0})
	f.Add(wasmbin.AppendSection([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, wasmbin.SectionMemory, []byte{1, 0, 1}))
	for seed := range byte(20) {
		f.Add(w.Generate([]byte{seed}))
	}
	now := time.Unix(1_700_000_000, 0)
	e := newEngine(f, engine.Config{Now: func() time.Time { return now }, Random: stuck{}})
	limits := engine.Limits{MemoryMiB: 2, Timeout: 10 * quick, Fuel: 2_000_000}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := e.Load(t.Context(), wasm, limits)
		if err != nil {
			var refused *engine.LoadError
			if !errors.As(err, &refused) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		for _, export := range m.Exports() {
			if export != "_start" && export != "_initialize" {
				callAgain(t, m, export)
			}
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if memories, bytes := e.Mapped(); memories != 0 || bytes != 0 {
			t.Fatalf("%d memories of %d bytes are left", memories, bytes)
		}
	})
}

// callAgain makes a call three times and compares how it ended.
func callAgain(t *testing.T, m *engine.Module, export string) {
	t.Helper()
	var first engine.Outcome
	var how engine.CallKind
	for n := range 3 {
		out, err := m.Call(t.Context(), engine.Call{Export: export})
		failed := &engine.CallError{}
		if err != nil && !errors.As(err, &failed) {
			t.Fatalf("untyped error: %v", err)
		}
		if failed.Kind == engine.Timeout {
			return // of the machine's time, not the guest's
		}
		if n == 0 {
			first, how = out, failed.Kind
		}
		if failed.Kind != how || out.Fuel != first.Fuel || out.MemoryBytes != first.MemoryBytes ||
			string(out.Output) != string(first.Output) {
			t.Fatalf("%s: call %d ended with %q, %d fuel, %d bytes, output %q; the first with %q, %d, %d, %q", export,
				n,
				failed.Kind, out.Fuel, out.MemoryBytes, out.Output, how, first.Fuel, first.MemoryBytes, first.Output)
		}
	}
}
