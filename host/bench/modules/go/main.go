//go:build wasip1

// Command go is the benchmarks' guest in Go, over Extism's plain ABI.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoadU8(at uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func inputLoadU64(at uint64) uint64

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env store_u8
func storeU8(at uint64, b uint32)

//go:wasmimport extism:host/env store_u64
func storeU64(at, word uint64)

//go:wasmimport extism:host/env output_set
func outputSet(at, n uint64)

func main() {}

func input() []byte {
	n := inputLength()
	data := make([]byte, 0, n)
	i := uint64(0)
	for ; i+8 <= n; i += 8 {
		data = binary.LittleEndian.AppendUint64(data, inputLoadU64(i))
	}
	for ; i < n; i++ {
		data = append(data, byte(inputLoadU8(i)))
	}
	return data
}

func give(data []byte) {
	at := alloc(uint64(len(data)))
	i := 0
	for ; i+8 <= len(data); i += 8 {
		storeU64(at+uint64(i), binary.LittleEndian.Uint64(data[i:]))
	}
	for ; i < len(data); i++ {
		storeU8(at+uint64(i), uint32(data[i]))
	}
	outputSet(at, uint64(len(data)))
}

//go:wasmexport take
func take() int32 {
	input()
	runtime.Gosched()
	return 0
}

//go:wasmexport echo
func echo() int32 {
	give(input())
	runtime.Gosched()
	return 0
}

// count writes {"count":N} for the vowels of its input.
//
//go:wasmexport count
func count() int32 {
	// A guest that serves many calls in one instance gives its collector a chance.
	defer runtime.Gosched()
	found := 0
	for _, c := range strings.ToLower(string(input())) {
		if strings.ContainsRune("aeiou", c) {
			found++
		}
	}
	give(fmt.Appendf(nil, `{"count":%d}`, found))
	return 0
}

// decode reads {"text":…} and writes {"count":N}, its vowels, by encoding/json.
//
//go:wasmexport decode
func decode() int32 {
	defer runtime.Gosched()
	var in struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(input(), &in); err != nil {
		return 1
	}
	found := 0
	for _, c := range strings.ToLower(in.Text) {
		if strings.ContainsRune("aeiou", c) {
			found++
		}
	}
	out, err := json.Marshal(map[string]int{"count": found})
	if err != nil {
		return 1
	}
	give(out)
	return 0
}

var word = regexp.MustCompile(`[a-z]+\d+`)

// mixed does what plugins do: JSON, maps, sorting, regular expressions, a hash.
//
//go:wasmexport mixed
func mixed() int32 {
	defer runtime.Gosched()
	x := uint32(1)
	words := map[string]int{}
	for range 20_000 {
		x = x*1664525 + 1013904223
		words[fmt.Sprintf("word%d", x%997)]++
	}
	names := make([]string, 0, len(words))
	for name := range words {
		names = append(names, name)
	}
	slices.Sort(names)
	data, err := json.Marshal(words)
	if err != nil {
		return 1
	}
	var back map[string]int
	if err := json.Unmarshal(data, &back); err != nil || len(back) != len(names) {
		return 1
	}
	if len(word.FindAll(data, -1)) != len(names) {
		return 1
	}
	if sum := sha256.Sum256(bytes.Repeat(data, 4)); sum[0] == 0 && sum[1] == 0 && sum[2] == 0 {
		return 1
	}
	return 0
}
