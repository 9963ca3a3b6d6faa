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

// goPlugin is testdata/goplugin and program is testdata/command, built once for all tests,
// and goCache where their compiled code is kept.
var (
	goPlugin, program []byte
	goCache           string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "goplugin")
	if err != nil {
		panic(err)
	}
	goCache = filepath.Join(dir, "cache")
	engine.WarmCache = goCache
	if err := buildAll(dir); err != nil {
		panic(err)
	}
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

// buildAll builds the modules into a folder and compiles them into the cache.
func buildAll(dir string) (err error) {
	if goPlugin, err = build(filepath.Join(dir, "plugin.wasm"), "./testdata/goplugin",
		"-buildmode=c-shared"); err != nil {
		return err
	}
	if program, err = build(filepath.Join(dir, "command.wasm"), "./testdata/command"); err != nil {
		return err
	}
	builtin, err := engine.BuiltinPlugins()
	if err != nil {
		return err
	}
	for _, file := range builtin {
		if file, err = filepath.Abs(file); err == nil {
			err = os.Symlink(file, filepath.Join(dir, "builtin-"+filepath.Base(file)))
		}
		if err != nil {
			return err
		}
	}
	warm := exec.Command("go", "test", "-count=1", "./testdata/warm")
	warm.Env = append(os.Environ(), "WARM_CACHE="+goCache, "WARM_MODULES="+dir)
	return run(warm)
}

func build(out, folder string, flags ...string) ([]byte, error) {
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, folder)...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if err := run(cmd); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func run(cmd *exec.Cmd) error {
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
	}
	return nil
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
