package engine

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
