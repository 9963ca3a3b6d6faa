package engine

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// key is the hash of all of a module's original bytes that what is compiled depends on:
// each section but the custom ones, and of those the names of functions. So a manifest or a
// signature that changes makes nothing be compiled again.
type key [sha256.Size]byte

// keyOf returns a module's key. It checks the module's size and how its sections are laid
// out; the error is a *wasmbin.Error.
func keyOf(wasm []byte) (key, error) {
	limits := wasmbin.DefaultLimits()
	if err := wasmbin.CheckSize(wasm, limits); err != nil {
		return key{}, err
	}
	sections, err := wasmbin.Sections(wasm, limits.CustomSections)
	if err != nil {
		return key{}, err
	}
	sum := sha256.New()
	for _, s := range sections {
		if s.ID == wasmbin.SectionCustom && s.Name != "name" {
			continue
		}
		var head [9]byte
		head[0] = byte(s.ID)
		binary.LittleEndian.PutUint64(head[1:], uint64(len(s.Data)))
		sum.Write(head[:])
		sum.Write(s.Data)
	}
	return key(sum.Sum(nil)), nil
}
