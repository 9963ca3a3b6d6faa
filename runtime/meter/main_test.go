package meter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// mixed is testdata/mixed, built once for all tests.
var mixed []byte

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mixed")
	if err != nil {
		panic(err)
	}
	mixed, err = build(filepath.Join(dir, "mixed.wasm"), "./testdata/mixed")
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(out, folder string) ([]byte, error) {
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, folder)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build a Go guest: %w\n%s", err, text)
	}
	return os.ReadFile(out)
}

// instrument validates and rewrites a module.
func instrument(t testing.TB, wasm []byte, options Options) []byte {
	t.Helper()
	info, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, err := Instrument(wasm, info, options)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var errSpent = errors.New("spent")

// guest is an instance with a budget, or without metering.
type guest struct {
	api.Module
	granted, budget int64
	refills         int
}

// slice is what the test's host gives at once.
const slice = 100_000

// run instantiates a module, metered or not.
func run(t testing.TB, wasm []byte, compiled bool, budget int64) *guest {
	t.Helper()
	g, err := start(t, wasm, compiled, budget)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func start(t testing.TB, wasm []byte, compiled bool, budget int64) (*guest, error) {
	t.Helper()
	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter()
	if compiled {
		config = wazero.NewRuntimeConfigCompiler()
	}
	rt := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(1024))
	t.Cleanup(func() { rt.Close(ctx) })
	g := &guest{budget: budget}
	_, err := rt.NewHostModuleBuilder(Module).NewFunctionBuilder().WithFunc(func(cell int64) int64 {
		g.refills++
		if g.granted-cell > g.budget {
			panic(errSpent)
		}
		n := min(slice-cell, g.budget-g.granted)
		g.granted += n
		return n
	}).Export(Refill).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	g.Module, err = rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions().WithName(""))
	if err != nil {
		return g, err
	}
	if f := g.ExportedFunction("_initialize"); f != nil {
		if _, err := f.Call(ctx); err != nil {
			return g, err
		}
	}
	return g, nil
}

// spent is the fuel that the guest used so far.
func (g *guest) spent() int64 {
	fuel := g.ExportedGlobal(Fuel)
	if fuel == nil {
		return 0
	}
	return g.granted - int64(fuel.Get())
}

const plenty = math.MaxInt64 / 2
