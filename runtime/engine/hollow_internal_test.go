package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func engineIn(t *testing.T, dir string) *Engine {
	t.Helper()
	e, err := New(t.Context(), Config{CacheDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// answering is a module whose call gives the code n.
func answering(n int32) []byte {
	var b w.Module
	b.Func("call", w.Types{wasmbin.I32}, 0, w.Const32(n))
	return b.Bytes()
}

// answer loads and calls a module that answering made.
func answer(t *testing.T, e *Engine, wasm []byte) int32 {
	t.Helper()
	m, err := e.Load(t.Context(), wasm, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Call(t.Context(), Call{Export: "call"})
	var failed *CallError
	if !errors.As(err, &failed) || failed.Kind != GuestError {
		t.Fatalf("the call ended with %v", err)
	}
	return failed.Code
}

// TestAHollowModuleNeverRuns makes the compiler miss the code that the cache has, in each way
// that it can: the hollow module that it compiles instead must not serve a call.
func TestAHollowModuleNeverRuns(t *testing.T) {
	wasm := answering(7)
	k, err := keyOf(wasm)
	if err != nil {
		t.Fatal(err)
	}
	// change rewrites the folder as it is after a load, with another entry, and seals it.
	cases := map[string]func(folder string, kept *entry) error{
		// As on another processor, or by another version of the compiler.
		"code by another name": func(folder string, kept *entry) error {
			other := filepath.Join(filepath.Dir(kept.summary.Code), "0123")
			defer func() { kept.summary.Code = other }()
			return os.Rename(filepath.Join(folder, kept.summary.Code), filepath.Join(folder, other))
		},
		"code by a name that is not there": func(_ string, kept *entry) error { kept.summary.Code += "x"; return nil },
		"code outside": func(_ string,
			kept *entry) error {
			kept.summary.Code = "../" + kept.summary.Code
			return nil
		},
		"no code": func(folder string, kept *entry) error {
			return os.Remove(filepath.Join(folder, kept.summary.Code))
		},
		"two files of code": func(folder string, kept *entry) error {
			return os.WriteFile(filepath.Join(folder, "another"), []byte("x"), 0o600)
		},
		"the entry as it is": func(string, *entry) error { return nil },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := engineIn(t, dir)
			if got := answer(t, e, wasm); got != 7 {
				t.Fatalf("%d", got)
			}
			folder, kept, ok := e.cache.find(k)
			if !ok || kept.summary.Code == "" {
				t.Fatalf("the cache has no hollow module: %v", ok)
			}
			if err := change(folder, kept); err != nil {
				t.Fatal(err)
			}
			data, err := kept.encode()
			if err == nil {
				err = writeFile(filepath.Join(folder, entryName), data)
			}
			if err = errors.Join(err, e.cache.seal(folder)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := answer(t, engineIn(t, dir), wasm); got != 7 {
					t.Errorf("%d", got)
				}
			}
			if _, kept, ok := e.cache.find(k); !ok || kept.summary.Code == "" {
				t.Error("what could not be used was not made again")
			}
		})
	}
}

// TestKeptCodeDoesTheSame compares each call of a module that was compiled just now with the
// same of one whose code came from the cache: how it ended, and its fuel.
func TestKeptCodeDoesTheSame(t *testing.T) {
	for seed := range byte(30) {
		wasm := w.Generate([]byte{seed})
		dir := t.TempDir()
		var told [2]string
		for n := range told {
			e := engineIn(t, dir)
			m, err := e.Load(t.Context(), wasm, Limits{MemoryMiB: 4, Fuel: 5_000_000})
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				if k, _ := keyOf(wasm); func() bool {
					_, kept, ok := e.cache.find(k)
					return !ok ||
						kept.summary.Code == ""
				}() {
					t.Fatal("the code did not come from the cache")
				}
			}
			for _, export := range m.Exports() {
				out, err := m.Call(t.Context(), Call{Export: export})
				told[n] += fmt.Sprintln(export, out.Fuel, out.MemoryBytes, err)
			}
		}
		if told[0] != told[1] {
			t.Errorf("seed %d:\n%sfrom the cache:\n%s", seed, told[0], told[1])
		}
	}
}

// TestWhatCannotBeMadeHollowIsKeptWhole has a compiler that left no code, as one without a
// native compiler leaves none.
func TestWhatCannotBeMadeHollowIsKeptWhole(t *testing.T) {
	e := engineIn(t, t.TempDir())
	full, err := makeEntry(answering(7))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := e.cache.begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.hollow(t.Context(), folder, full); !errors.Is(err, errNoCode) {
		t.Errorf("err = %v", err)
	}
	k, err := keyOf(answering(7))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cache.finish(folder, k, full); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, engineIn(t, e.cache.dir), answering(7)); got != 7 {
		t.Errorf("%d", got)
	}
}
