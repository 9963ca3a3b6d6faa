package plugin_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/runtime/pack"
)

// What TestMain built, for all tests of the package.
var (
	// cacheDir keeps compiled code, so that each module is compiled once.
	cacheDir string
	// searchWASM is the built-in plugin with its manifest, searchPortable the same
	// built with the tag portable, probeWASM the probe without a manifest.
	searchWASM, searchPortable, probeWASM []byte
	// memoryWASM and filesWASM are built-in plugins with their manifests.
	memoryWASM, filesWASM, openURLWASM []byte
	// servletWASM speaks tools.v1, hyperWASM imports what hyper-mcp's plugins do, and
	// commandWASM is a WASI program.
	servletWASM, hyperWASM, commandWASM []byte
	// dynamicWASM has the tools that its configuration and its values name.
	dynamicWASM []byte
)

func TestMain(m *testing.M) {
	flag.Parse()
	if fuzz := flag.Lookup("test.fuzz"); fuzz != nil && fuzz.Value.String() != "" {
		os.Exit(m.Run()) // no fuzz target runs a module, and each worker would build them all
	}
	dir, err := os.MkdirTemp("", "plugin-test-*")
	if err == nil {
		cacheDir = filepath.Join(dir, "cache")
		err = buildAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the plugins:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

func buildAll(dir string) (err error) {
	search, portable, probe := filepath.Join(dir, "search.wasm"), filepath.Join(dir, "portable.wasm"), filepath.Join(dir, "probe.wasm")
	if searchWASM, err = build(search, "../../plugins/search"); err != nil {
		return err
	}
	if searchPortable, err = build(portable, "../../plugins/search", "-tags", "portable"); err != nil {
		return err
	}
	if probeWASM, err = build(probe, "./testdata/probe"); err != nil {
		return err
	}
	for name, wasm := range map[string]*[]byte{"servlet": &servletWASM, "hyper": &hyperWASM, "dynamic": &dynamicWASM} {
		if *wasm, err = build(filepath.Join(dir, name+".wasm"), "./testdata/"+name); err != nil {
			return err
		}
	}
	if commandWASM, err = build(filepath.Join(dir, "command.wasm"), "../../runtime/engine/testdata/command", "-buildmode=exe"); err != nil {
		return err
	}
	for name, wasm := range map[string]*[]byte{"memory": &memoryWASM, "files": &filesWASM, "open_url": &openURLWASM} {
		if *wasm, err = build(filepath.Join(dir, name+".wasm"), "../../plugins/"+name); err != nil {
			return err
		}
		manifest, err := os.ReadFile("../../plugins/" + name + "/manifest.json")
		if err != nil {
			return err
		}
		if *wasm, err = pack.WithSection(*wasm, pack.SectionManifest, manifest); err != nil {
			return err
		}
	}
	// The compiler leaves custom sections out, so the code serves with every manifest.
	warm := exec.Command("go", "test", "-count=1", "../../runtime/engine/testdata/warm")
	warm.Env = append(os.Environ(), "WARM_CACHE="+cacheDir, "WARM_MODULES="+dir)
	if err := run(warm); err != nil {
		return err
	}
	manifest, err := os.ReadFile("../../plugins/search/manifest.json")
	if err != nil {
		return err
	}
	if searchWASM, err = pack.WithSection(searchWASM, pack.SectionManifest, manifest); err != nil {
		return err
	}
	searchPortable, err = pack.WithSection(searchPortable, pack.SectionManifest, manifest)
	return err
}

// build compiles a plugin as the Taskfile does.
func build(out, folder string, flags ...string) ([]byte, error) {
	args := append([]string{"build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out}, flags...)
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
