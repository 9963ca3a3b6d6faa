package bench

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// The guests of the runtime's benchmarks do the same in three languages, over Extism's
// plain ABI, so that the same bytes run here and under the reference. Those in C and Rust
// are small and lie beside their sources; that in Go is built with the plugins.
//
//go:embed modules/c/c.wasm modules/c/c-bulk.wasm modules/rust/rust.wasm
var small embed.FS

//go:embed all:modules/dist
var built embed.FS

// guest is a module that benchmarks run.
type guest struct {
	language string
	wasm     []byte
	// input is what its export count takes.
	input []byte
}

// named is the name of a figure that each guest has: that of Go, for which the bars are,
// is the benchmark's own.
func (g guest) named(benchmark string) string {
	if g.language == "go" {
		return benchmark
	}
	return benchmark + "-" + g.language
}

const goGuest = "modules/dist/go.wasm"

// guests returns the module of each language.
func guests(ctx context.Context) ([]guest, error) {
	goWASM, err := goModule(ctx)
	if err != nil {
		return nil, err
	}
	rust, err := small.ReadFile("modules/rust/rust.wasm")
	if err != nil {
		return nil, err
	}
	c, err := small.ReadFile("modules/c/c.wasm")
	if err != nil {
		return nil, err
	}
	text := []byte(`{"text":"hello"}`)
	return []guest{{"go", goWASM, text}, {"rust", rust, text}, {"c", c, text}}, nil
}

// bulkGuest returns the module in C that copies whole blocks, and the one that does the
// same by 8-byte loads.
func bulkGuest() (bulk, loads []byte, err error) {
	if bulk, err = small.ReadFile("modules/c/c-bulk.wasm"); err != nil {
		return nil, nil, err
	}
	loads, err = small.ReadFile("modules/c/c.wasm")
	return bulk, loads, err
}

// goModule returns the guest in Go. A binary that was built without it builds it, where
// the toolchain and the source are there.
func goModule(ctx context.Context) ([]byte, error) {
	wasm, err := built.ReadFile(goGuest)
	if !errors.Is(err, fs.ErrNotExist) {
		return wasm, err
	}
	dir, err := os.MkdirTemp("", "bulkhead-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "go.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out,
		"github.com/bulkhead-host/bulkhead/host/bench/modules/go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("this binary has no guest in Go and cannot build one; build it with task build, or "+
			"run it in the source tree: %w\n%s", err, text)
	}
	return os.ReadFile(out)
}
