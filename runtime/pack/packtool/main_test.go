package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func TestRunPacksManifestInPlace(t *testing.T) {
	dir := t.TempDir()
	module, manifest := filepath.Join(dir, "m.wasm"), filepath.Join(dir, "manifest.json")
	var m wasmtest.Module
	m.Func("call", nil, 0)
	write(t, module, m.Bytes())
	write(t, manifest, []byte(`{"manifest":1}`))
	if err := run([]string{module, manifest, module}); err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	got, found, err := pack.Section(wasm, pack.SectionManifest)
	if err != nil || !found || string(got) != `{"manifest":1}` {
		t.Errorf("section = %q, %v, %v", got, found, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("files left behind: %v", files)
	}
}

func TestRunPacksAssets(t *testing.T) {
	dir := t.TempDir()
	module, manifest, assets := filepath.Join(dir, "m.wasm"), filepath.Join(dir, "manifest.json"),
		filepath.Join(dir, "a.tar")
	var m wasmtest.Module
	m.Func("_start", nil, 0)
	write(t, module, m.Bytes())
	write(t, manifest, []byte(`{"manifest":1}`))
	write(t, assets, []byte("the files"))
	if err := run([]string{module, manifest, module, assets}); err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{pack.SectionManifest: `{"manifest":1}`, pack.SectionAssets: "the files"} {
		if got, _, err := pack.Section(wasm, name); err != nil || string(got) != want {
			t.Errorf("section %s = %q, %v", name, got, err)
		}
	}
}

func TestRunRefusesWhatIsNoManifest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m")
	write(t, path, []byte("not JSON"))
	if err := run([]string{path, path, filepath.Join(dir, "out")}); err == nil {
		t.Error("a manifest that is not JSON was packed")
	}
	if err := run(nil); err == nil {
		t.Error("no arguments were accepted")
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
