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
