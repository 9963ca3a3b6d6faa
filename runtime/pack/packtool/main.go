// Command packtool puts a manifest into a module, and the plugin's files where there are
// any: packtool MODULE MANIFEST OUT [ASSETS]. The result is a plugin in one file. OUT may
// be MODULE; ASSETS is a tar archive. It checks that the manifest is JSON, not what it
// says.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-host/bulkhead/runtime/pack"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packtool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 && len(args) != 4 {
		return fmt.Errorf("usage: packtool MODULE MANIFEST OUT [ASSETS]")
	}
	wasm, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	if !json.Valid(manifest) {
		return fmt.Errorf("%s is not JSON", args[1])
	}
	out, err := pack.WithSection(wasm, pack.SectionManifest, manifest)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if len(args) == 4 {
		assets, err := os.ReadFile(args[3])
		if err != nil {
			return err
		}
		if out, err = pack.WithSection(out, pack.SectionAssets, assets); err != nil {
			return fmt.Errorf("%s: %w", args[3], err)
		}
	}
	return replace(args[2], out)
}

// replace writes a file at once, so that a build that is stopped leaves no half.
func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".packtool-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it was renamed, as it should
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
