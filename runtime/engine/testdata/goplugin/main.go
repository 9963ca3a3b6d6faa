// Command goplugin is the Go plugin that the engine's tests compile and call.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

//go:wasmimport extism:host/env input_offset
func inputOffset() uint64

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoadU8(offset uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env length
func length(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func storeU8(offset uint64, value uint32)

//go:wasmimport extism:host/env output_set
func outputSet(offset, n uint64)

//go:wasmimport extism:host/env error_set
func errorSet(offset uint64)

//go:wasmimport extism:host/env config_get
func configGet(name uint64) uint64

//go:wasmimport extism:host/env log_info
func logInfo(offset uint64)

//go:wasmimport bulkhead:host/mem read
func memRead(offset uint64, ptr unsafe.Pointer, n uint32)

//go:wasmimport bulkhead:host/mem write
func memWrite(offset uint64, ptr unsafe.Pointer, n uint32)

//go:wasmimport extism:host/user greet
func greet(name uint64) uint64

func main() {}

func read(offset, n uint64) []byte {
	data := make([]byte, n)
	if n > 0 {
		memRead(offset, unsafe.Pointer(&data[0]), uint32(n))
	}
	return data
}

func block(data string) uint64 {
	if data == "" {
		return 0
	}
	offset := alloc(uint64(len(data)))
	memWrite(offset, unsafe.Pointer(unsafe.StringData(data)), uint32(len(data)))
	return offset
}

func output(text string) int32 {
	outputSet(block(text), uint64(len(text)))
	return 0
}

func input() string { return string(read(inputOffset(), inputLength())) }

//go:wasmexport echo
func echo() int32 { return output(input()) }

// shout answers through the byte-wise functions of plain Extism.
//
//go:wasmexport shout
func shout() int32 {
	n := inputLength()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(inputLoadU8(uint64(i)))
	}
	upper := strings.ToUpper(string(data))
	offset := alloc(n)
	for i := range upper {
		storeU8(offset+uint64(i), uint32(upper[i]))
	}
	outputSet(offset, n)
	return 0
}

var counter int

// count answers how often this instance was called.
//
//go:wasmexport count
func count() int32 {
	counter++
	return output(strconv.Itoa(counter))
}

//go:wasmexport ask
func ask() int32 {
	offset := greet(block(input()))
	return output(string(read(offset, length(offset))))
}

//go:wasmexport config
func config() int32 {
	offset := configGet(block(input()))
	return output(string(read(offset, length(offset))))
}

//go:wasmexport random
func random() int32 {
	var raw [16]byte
	rand.Read(raw[:])
	return output(hex.EncodeToString(raw[:]))
}

//go:wasmexport say
func say() int32 {
	logInfo(block("to the log"))
	fmt.Println("to stdout")
	fmt.Fprintln(os.Stderr, "to stderr")
	return 0
}

//go:wasmexport fail
func fail() int32 {
	errorSet(block("it went wrong"))
	return 1
}

//go:wasmexport crash
func crash() int32 { panic("the guest's own panic") }

var hoard [][]byte

//go:wasmexport hog
func hog() int32 {
	for {
		hoard = append(hoard, make([]byte, 1<<20))
	}
}

//go:wasmexport files
func files() int32 {
	if _, err := os.ReadFile("/etc/passwd"); err != nil {
		return output("no: " + err.Error())
	}
	return output("yes")
}
