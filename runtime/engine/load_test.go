package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
		"meter":              {importing("bulkhead:host/meter", "refill", nil, nil), engine.Unsupported, "does not exist"},
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
	if _, err := newEngine(t, engine.Config{}).Load(ctx, goPlugin, engine.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestSHA256IsOfTheOriginalBytes(t *testing.T) {
	sum := sha256.Sum256(goPlugin)
	if got := loadGo(t, engine.Limits{}).SHA256(); got != hex.EncodeToString(sum[:]) {
		t.Errorf("SHA256 = %s", got)
	}
}

func TestCacheIsPrivateAndUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := asking()
	loadIn(t, dir, wasm)
	before := cacheFiles(t, dir)
	if len(before) != 2 { // the code and its checksum
		t.Fatalf("cache = %v", before)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	loadIn(t, dir, wasm)
	for path, info := range cacheFiles(t, dir) {
		if old, ok := before[path]; !ok || !os.SameFile(old, info) {
			t.Errorf("%s was written again", path)
		}
	}
}

func TestDamagedCacheIsCompiledAgain(t *testing.T) {
	wasm := asking()
	damages := map[string]func(path string, data []byte) error{
		"flipped": func(path string, data []byte) error {
			data[len(data)/2] ^= 0xff
			return os.WriteFile(path, data, 0o600)
		},
		// The compiler would allocate for 2³²−1 functions.
		"lying count": func(path string, data []byte) error {
			at := 7 + int(data[6])
			copy(data[at:], []byte{0xff, 0xff, 0xff, 0xff})
			return os.WriteFile(path, data, 0o600)
		},
		"cut":     func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/3], 0o600) },
		"empty":   func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"removed": func(path string, _ []byte) error { return os.Remove(path) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			loadIn(t, dir, wasm)
			for path := range cacheFiles(t, dir) {
				if filepath.Base(path) == "sum" {
					continue
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage(path, data); err != nil {
					t.Fatal(err)
				}
			}
			loadIn(t, dir, wasm)
			if got := cacheFiles(t, dir); len(got) != 2 {
				t.Errorf("cache = %v", got)
			}
		})
	}
}

// TestSealedDamageIsCompiledAgain damages code and its checksum together: the
// compiler's own error is the last guard.
func TestSealedDamageIsCompiledAgain(t *testing.T) {
	dir := t.TempDir()
	wasm := asking()
	e := loadIn(t, dir, wasm)
	for path := range cacheFiles(t, dir) {
		if filepath.Base(path) != "sum" {
			if err := os.WriteFile(path, []byte("WAZEVO"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Reseal(wasm); err != nil {
		t.Fatal(err)
	}
	loadIn(t, dir, wasm)
}

func TestRefusedModuleLeavesNothingInCache(t *testing.T) {
	dir := t.TempDir()
	var b w.Module
	b.Func("call", number, 0)
	e := newEngine(t, engine.Config{CacheDir: dir})
	if _, err := e.Load(t.Context(), b.Bytes(), engine.Limits{}); err == nil {
		t.Fatal("an invalid module was loaded")
	}
	if got := cacheFiles(t, dir); len(got) != 0 {
		t.Errorf("cache = %v", got)
	}
}

// TestCacheKeepsWhatWasUsedLast has room for three modules' code of four.
func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	dir := t.TempDir()
	version := func(n byte) []byte {
		var b w.Module
		b.Func("call", number, 0, w.Const32(0))
		b.Func("version", number, 0, w.Const32(int32(n)))
		return b.Bytes()
	}
	if err := os.Mkdir(filepath.Join(dir, "not-ours"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "not-ours", "file")
	if err := os.WriteFile(foreign, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	loadAll := func(max int64, versions ...byte) {
		e := newEngine(t, engine.Config{CacheDir: dir, CacheBytes: max, Now: func() time.Time { return now }})
		for _, n := range versions {
			now = now.Add(time.Minute)
			m, err := e.Load(t.Context(), version(n), engine.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	folders := func() map[string]int64 {
		sizes := map[string]int64{}
		for path, info := range cacheFiles(t, dir) {
			name, _, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
			if name != "not-ours" {
				sizes[name] += info.Size()
			}
		}
		return sizes
	}
	loadAll(-1, 1)
	first := folders()
	var each int64
	var oldest string
	for oldest, each = range first {
	}
	room := 3*each + each/2
	loadAll(room, 2, 3, 1, 4) // 2 was used least recently
	after := folders()
	if len(after) != 3 || after[oldest] == 0 {
		t.Fatalf("the cache has %d modules; the one that was used again is there: %v", len(after), after[oldest] > 0)
	}
	loadAll(room, 2) // compiled again; 3 goes
	loadAll(room, 1, 4)
	if again := folders(); len(again) != 3 || again[oldest] == 0 {
		t.Errorf("cache = %v", again)
	}
	loadAll(1, 5) // nothing fits; the last one stays
	if last := folders(); len(last) != 1 || last[oldest] != 0 {
		t.Errorf("cache = %v", last)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("what is not the cache's was deleted: %v", err)
	}
}

// TestUnusableCacheKeepsNoModuleFromRunning puts a file where the cache's folder was.
func TestUnusableCacheKeepsNoModuleFromRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	e := newEngine(t, engine.Config{CacheDir: dir})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), asking(), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
		t.Error(err)
	}
}

// loadIn loads and calls wasm in a new engine with that cache.
func loadIn(t *testing.T, dir string, wasm []byte) *engine.Engine {
	t.Helper()
	e := newEngine(t, engine.Config{CacheDir: dir})
	m, err := e.Load(t.Context(), wasm, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
		t.Fatal(err)
	}
	return e
}

func cacheFiles(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	files := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = d.Info()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
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
		if failed.Kind != how || out.Fuel != first.Fuel || out.MemoryBytes != first.MemoryBytes || string(out.Output) != string(first.Output) {
			t.Fatalf("%s: call %d ended with %q, %d fuel, %d bytes, output %q; the first with %q, %d, %d, %q", export, n,
				failed.Kind, out.Fuel, out.MemoryBytes, out.Output, how, first.Fuel, first.MemoryBytes, first.Output)
		}
	}
}
