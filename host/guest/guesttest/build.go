// Package guesttest makes the modules that tests of this host's plugins call: built-in ones,
// those below host/guest/testdata, and bad ones.
//
// The folder of a test goes in, module bytes come out. It is code that tests import, and
// must not know what a test does with a module.
package guesttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bulkhead-host/bulkhead/runtime/pack"
)

// Modules are compiled modules.
type Modules struct {
	// CacheDir keeps compiled code of all of them, so that each is compiled once.
	CacheDir string
	// Search is the built-in plugin with its manifest, Portable the same built with the tag
	// portable, Probe the probe without a manifest.
	Search, Portable, Probe []byte
	// Memory, Files and OpenURL are built-in plugins with their manifests.
	Memory, Files, OpenURL []byte
	// Servlet speaks tools.v1, Hyper imports what hyper-mcp's plugins do, and Command is a
	// WASI program.
	Servlet, Hyper, Command []byte
	// Dynamic has the tools that its configuration and its values name.
	Dynamic []byte
}

// Build compiles all modules into dir, which the caller removes. root is the folder of the
// repository, as seen from the test's.
func Build(dir, root string) (m Modules, err error) {
	m.CacheDir = filepath.Join(dir, "cache")
	plugins, testdata := filepath.Join(root, "plugins"), filepath.Join(root, "host/guest/testdata")
	engine := filepath.Join(root, "runtime/engine/testdata")
	for _, b := range []struct {
		to     *[]byte
		name   string
		folder string
		flags  []string
	}{
		{&m.Search, "search", filepath.Join(plugins, "search"), nil},
		{&m.Portable, "portable", filepath.Join(plugins, "search"), []string{"-tags", "portable"}},
		{&m.Memory, "memory", filepath.Join(plugins, "memory"), nil},
		{&m.Files, "files", filepath.Join(plugins, "files"), nil},
		{&m.OpenURL, "open_url", filepath.Join(plugins, "open_url"), nil},
		{&m.Probe, "probe", filepath.Join(testdata, "probe"), nil},
		{&m.Servlet, "servlet", filepath.Join(testdata, "servlet"), nil},
		{&m.Hyper, "hyper", filepath.Join(testdata, "hyper"), nil},
		{&m.Dynamic, "dynamic", filepath.Join(testdata, "dynamic"), nil},
		{&m.Command, "command", filepath.Join(engine, "command"), []string{"-buildmode=exe"}},
	} {
		if *b.to, err = build(filepath.Join(dir, b.name+".wasm"), b.folder, b.flags...); err != nil {
			return m, err
		}
	}
	// The compiler leaves custom sections out, so the code serves with every manifest.
	warm := exec.Command("go", "test", "-count=1", "./"+filepath.Join(engine, "warm"))
	warm.Env = append(os.Environ(), "WARM_CACHE="+m.CacheDir, "WARM_MODULES="+dir)
	if err := run(warm); err != nil {
		return m, err
	}
	for _, p := range []struct {
		wasm   *[]byte
		folder string
	}{{&m.Search, "search"}, {&m.Portable, "search"}, {&m.Memory, "memory"}, {&m.Files, "files"},
		{&m.OpenURL, "open_url"}} {
		manifest, err := os.ReadFile(filepath.Join(plugins, p.folder, "manifest.json"))
		if err != nil {
			return m, err
		}
		if *p.wasm, err = pack.WithSection(*p.wasm, pack.SectionManifest, manifest); err != nil {
			return m, err
		}
	}
	return m, nil
}

// build compiles a plugin as the Taskfile does.
func build(out, folder string, flags ...string) ([]byte, error) {
	args := append([]string{"build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, "./"+folder)...)
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
