package engine_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

// TestAPipeInTheCacheKeepsNobodyWaiting puts pipes, which nobody writes to, where files were.
func TestAPipeInTheCacheKeepsNobodyWaiting(t *testing.T) {
	wasm, dir := asking(), t.TempDir()
	e := loadIn(t, dir, wasm)
	for _, part := range []string{"sum", "module"} {
		path := filepath.Join(e.Folder(wasm), part)
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		loadIn(t, dir, wasm)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is %v, %v", part, info, err)
		}
	}
}

// TestAFullDiskUnderTheCacheKeepsNoModuleFromRunning has a cache on a disk that takes a tenth
// of a module. Only who may mount one can run it.
func TestAFullDiskUnderTheCacheKeepsNoModuleFromRunning(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); errors.Is(err, fs.ErrPermission) {
		t.Skip("no right to mount a small disk")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	wasm := manyFunctions(3000)
	for range 2 {
		e := newEngine(t, engine.Config{CacheDir: dir})
		m, err := e.Load(t.Context(), wasm, engine.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
			t.Error(err)
		}
		if files := cacheFiles(t, dir); len(files) != 0 {
			t.Errorf("what could not be written whole is left: %v", files)
		}
	}
	loadIn(t, dir, asking())
	if files := cacheFiles(t, dir); len(files) != 3 {
		t.Errorf("a module that fits is not kept: %v", files)
	}
}
