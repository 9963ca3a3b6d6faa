//go:build wasip1 && !portable

package pdk

import "unsafe"

//go:wasmimport extism:host/env input_offset
func envInputOffset() uint64

//go:wasmimport bulkhead:host/mem read
func memRead(offset uint64, ptr unsafe.Pointer, length uint32)

//go:wasmimport bulkhead:host/mem write
func memWrite(offset uint64, ptr unsafe.Pointer, length uint32)

// readInput copies the whole input at once.
func readInput(n int) []byte {
	b := make([]byte, n)
	if n > 0 {
		memRead(envInputOffset(), unsafe.Pointer(unsafe.SliceData(b)), uint32(n))
	}
	return b
}

func readKernel(offset uint64, b []byte) {
	memRead(offset, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}

func writeKernel(offset uint64, b []byte) {
	memWrite(offset, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}
