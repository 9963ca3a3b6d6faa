//go:build wasip1

// Package guest is Extism's kernel for the test plugins that are not written with this
// project's PDK.
package guest

import "encoding/json"

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputByte(at uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env length
func length(off uint64) uint64

//go:wasmimport extism:host/env load_u8
func load(off uint64) uint32

//go:wasmimport extism:host/env store_u8
func store(off uint64, b uint32)

//go:wasmimport extism:host/env output_set
func outputSet(off, n uint64)

//go:wasmimport extism:host/env error_set
func errorSet(off uint64)

// Input returns the call's input.
func Input() []byte {
	in := make([]byte, inputLength())
	for i := range in {
		in[i] = byte(inputByte(uint64(i)))
	}
	return in
}

// Put returns the offset of a new block.
func Put(data []byte) uint64 {
	off := alloc(uint64(len(data)))
	for i, b := range data {
		store(off+uint64(i), uint32(b))
	}
	return off
}

// Get returns a block.
func Get(off uint64) []byte {
	data := make([]byte, length(off))
	for i := range data {
		data[i] = byte(load(off + uint64(i)))
	}
	return data
}

// Output ends a call with a value.
func Output(v any) int32 {
	data, err := json.Marshal(v)
	if err != nil {
		return Fail(err.Error())
	}
	outputSet(Put(data), uint64(len(data)))
	return 0
}

// Fail ends a call with an error text, as Extism's Rust PDK does.
func Fail(text string) int32 {
	errorSet(Put([]byte(text)))
	return -1
}

// Text is MCP's result of one text.
func Text(text string) any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
}
