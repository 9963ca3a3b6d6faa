package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// The compiler validates a module at each load, also where its code is in the cache, and
// that is most of what such a load takes. So the cache keeps the module without its code,
// hollow, and the compiled code under the name by which the compiler looks for that of the
// hollow module. The name is not computed here: the hollow module is compiled once, and the
// full module's code takes the place of what came of it. Whether the compiler has taken
// that file, and not compiled the hollow module anew, is looked at after each load.

// hollowFolder is where the hollow module is compiled.
const hollowFolder = "hollow"

// errNoCode is returned when the compiler left no file, or several.
var errNoCode = errors.New("the compiler keeps its code in another way")

// hollow makes a folder with a module's compiled code one with the hollow module's, and
// returns the entry to keep. After an error the folder is as it was.
func (e *Engine) hollow(ctx context.Context, folder string, full *entry) (*entry, error) {
	wasm, err := wasmbin.Hollow(full.hardened)
	if err != nil {
		return nil, err
	}
	code, err := codeFile(folder)
	if err != nil {
		return nil, err
	}
	inner := filepath.Join(folder, hollowFolder)
	defer os.RemoveAll(inner) // what is left of it would count in the checksum, and harms nobody
	if err := e.compileAlone(ctx, wasm, inner); err != nil {
		return nil, err
	}
	name, err := codeFile(inner)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
		return nil, err
	}
	if err := os.Rename(filepath.Join(folder, code), filepath.Join(folder, name)); err != nil {
		return nil, err
	}
	s := *full.summary
	s.Code = name
	return &entry{&s, wasm}, nil
}

// compileAlone compiles a module that is not going to run.
func (e *Engine) compileAlone(ctx context.Context, wasm []byte, folder string) (err error) {
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	_, err = e.compileGuarded(ctx, rt, wasm)
	return errors.Join(err, rt.Close(ctx), cache.Close(ctx))
}

// codeFile returns the one file of compiled code below a folder, by its path from there.
func codeFile(folder string) (name string, err error) {
	found := 0
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if rel != sumName && rel != entryName {
			name = rel
			found++
		}
		return err
	})
	if err == nil && found != 1 {
		err = errNoCode
	}
	return name, err
}

// watched is the file of compiled code that the compiler is to take.
type watched struct {
	folder, name string
	info         fs.FileInfo
}

// watch looks at the file before the compiler does.
func watch(folder, name string) (watched, error) {
	if !filepath.IsLocal(name) {
		return watched{}, fmt.Errorf("%w: its code is at %q", errEntry, name)
	}
	info, err := os.Lstat(filepath.Join(folder, name))
	return watched{folder, name, info}, err
}

// taken returns an error unless the file is still there as it was, and the only one: a
// compiler that did not find it has written another.
func (w watched) taken() error {
	name, err := codeFile(w.folder)
	if err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(w.folder, w.name))
	if err != nil {
		return err
	}
	if name != w.name || !os.SameFile(info, w.info) || info.Size() != w.info.Size() ||
		!info.ModTime().Equal(w.info.ModTime()) {
		return errNoCode
	}
	return nil
}
