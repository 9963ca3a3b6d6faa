package engine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// goPlugin is testdata/goplugin, built once for all tests, and goCache where its
// compiled code is kept.
var (
	goPlugin []byte
	goCache  string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "goplugin")
	if err != nil {
		panic(err)
	}
	goPlugin, err = buildGoPlugin(filepath.Join(dir, "plugin.wasm"))
	if err != nil {
		panic(err)
	}
	goCache = filepath.Join(dir, "cache")
	code := m.Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func buildGoPlugin(out string) ([]byte, error) {
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/goplugin")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Go plugin: %w\n%s", err, text)
	}
	return os.ReadFile(out)
}

// quick is a timeout that a guest which never ends runs into.
const quick = 60 * time.Millisecond

func newEngine(t testing.TB, config engine.Config) *engine.Engine {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	e, err := engine.New(context.Background(), config)
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

func load(t testing.TB, wasm []byte, limits engine.Limits) *engine.Module {
	t.Helper()
	m, err := newEngine(t, engine.Config{}).Load(context.Background(), wasm, limits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// loadGo loads the Go plugin.
func loadGo(t testing.TB, limits engine.Limits) *engine.Module {
	t.Helper()
	m, err := newEngine(t, engine.Config{CacheDir: goCache}).Load(context.Background(), goPlugin, limits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	env  = "extism:host/env"
	user = "extism:host/user"
	wasi = "wasi_snapshot_preview1"
)

var (
	one    = wasmtest.Types{wasmtest.I64}
	two    = wasmtest.Types{wasmtest.I64, wasmtest.I64}
	number = wasmtest.Types{wasmtest.I32}
)
