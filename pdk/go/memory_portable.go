//go:build wasip1 && portable

package pdk

import "encoding/binary"

//go:wasmimport extism:host/env input_load_u8
func envInputLoad8(offset uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func envInputLoad64(offset uint64) uint64

//go:wasmimport extism:host/env load_u8
func envLoad8(offset uint64) uint32

//go:wasmimport extism:host/env load_u64
func envLoad64(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func envStore8(offset uint64, value uint32)

//go:wasmimport extism:host/env store_u64
func envStore64(offset uint64, value uint64)

// readInput copies the input, eight bytes at a time.
func readInput(n int) []byte {
	b := make([]byte, n)
	load(b, 0, envInputLoad64, envInputLoad8)
	return b
}

func readKernel(offset uint64, b []byte) { load(b, offset, envLoad64, envLoad8) }

func load(b []byte, offset uint64, by8 func(uint64) uint64, by1 func(uint64) uint32) {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], by8(offset+uint64(i)))
	}
	for ; i < len(b); i++ {
		b[i] = byte(by1(offset + uint64(i)))
	}
}

func writeKernel(offset uint64, b []byte) {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		envStore64(offset+uint64(i), binary.LittleEndian.Uint64(b[i:]))
	}
	for ; i < len(b); i++ {
		envStore8(offset+uint64(i), uint32(b[i]))
	}
}
