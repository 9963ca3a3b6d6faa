package engine

import "path/filepath"

// CacheVersion is part of the names in the cache.
const CacheVersion = cacheVersion

// Reseal writes the checksum over what is in the cache for a module now.
func (e *Engine) Reseal(wasm []byte) error { return e.cache.seal(e.Folder(wasm)) }

// Folder returns the module's folder in the cache.
func (e *Engine) Folder(wasm []byte) string {
	k, err := keyOf(wasm)
	if err != nil {
		panic(err)
	}
	return e.cache.folder(k)
}

// Hardened returns the bytes that the compiler gets for a module.
func Hardened(wasm []byte) ([]byte, error) {
	made, err := makeEntry(wasm)
	if err != nil {
		return nil, err
	}
	return made.hardened, nil
}

// Live returns the number of instances that there are.
func (e *Engine) Live() int64 { return e.live.Load() }

// Mapped returns the number of memories and images that there are, and their bytes.
func (e *Engine) Mapped() (memories, bytes int64) { return e.space.Memories(), e.space.Bytes() }

// Made returns the number of instances of the module that were ever made.
func (m *Module) Made() int64 { return m.made.Load() }

// WarmCache is where the compiled code of the modules is kept that are large; TestMain
// fills it.
var WarmCache string

// BuiltinPlugins returns the files of the built-in plugins that are tested, the first of
// them under the race detector.
func BuiltinPlugins() ([]string, error) {
	files, err := filepath.Glob("../../plugins/dist/*.wasm")
	if underRace && len(files) > 1 {
		files = files[:1]
	}
	return files, err
}

// UnderRace says that the race detector is on, with which compiling takes 20 times as long.
const UnderRace = underRace
