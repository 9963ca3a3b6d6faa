package engine

import "github.com/bulkhead-host/bulkhead/runtime/wasmbin"

// Reseal writes the checksum over what is in the cache for a module now.
func (e *Engine) Reseal(wasm []byte) error {
	limits := wasmbin.DefaultLimits()
	info, err := wasmbin.Read(wasm, limits)
	if err != nil {
		return err
	}
	rewritten, err := rewrite(wasm, info, limits)
	if err != nil {
		return err
	}
	return e.cache.seal(e.cache.folder(rewritten))
}

// Live returns the number of instances that there are.
func (e *Engine) Live() int64 { return e.live.Load() }

// Mapped returns the number of memories and images that there are, and their bytes.
func (e *Engine) Mapped() (memories, bytes int64) { return e.space.Memories(), e.space.Bytes() }

// Made returns the number of instances of the module that were ever made.
func (m *Module) Made() int64 { return m.made.Load() }
