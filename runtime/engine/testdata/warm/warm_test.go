// Package warm compiles modules into a cache. The tests of runtime/engine and of
// host/plugin run it as a test of its own, because the compiler is many times slower
// in a binary that was built with the race detector, slower than a load waits on a
// slow machine, and because the cache tells test binaries from others by the version
// of wazero that they name.
package warm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

// TestWarm compiles every module of the folder WARM_MODULES into WARM_CACHE.
func TestWarm(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{CacheDir: os.Getenv("WARM_CACHE"), Spares: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	files, err := filepath.Glob(filepath.Join(os.Getenv("WARM_MODULES"), "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatal("no modules", err)
	}
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Load(t.Context(), wasm, engine.Limits{}); err != nil {
			t.Fatal(file, err)
		}
	}
}
