// Command mixed is the Go guest of the meter's tests and benchmarks: work as plugins do
// it, with hashing, JSON, sorting and text.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"runtime"
	"sort"
	"strings"
)

func main() {}

// hash hashes n blocks of 1 KiB.
//
//go:wasmexport hash
func hash(n int32) int64 {
	block := bytes.Repeat([]byte("0123456789abcdef"), 64)
	var sum [32]byte
	for range n {
		copy(block, sum[:])
		sum = sha256.Sum256(block)
	}
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

type document struct {
	ID    int               `json:"id"`
	Title string            `json:"title"`
	Tags  []string          `json:"tags"`
	Meta  map[string]string `json:"meta"`
	Score float64           `json:"score"`
}

// documents encodes and decodes n documents.
//
//go:wasmexport documents
func documents(n int32) int64 {
	var total int64
	for i := range n {
		in := document{ID: int(i), Title: strings.Repeat("title ", 5), Tags: []string{"a", "b", "c"},
			Meta: map[string]string{"k": "v"}, Score: float64(i) / 3}
		data, err := json.Marshal(in)
		if err != nil {
			panic(err)
		}
		var out document
		if err := json.Unmarshal(data, &out); err != nil {
			panic(err)
		}
		total += int64(len(data)) + int64(out.ID)
	}
	runtime.Gosched()
	return total
}

var word = regexp.MustCompile(`[a-z]+`)

// words counts and sorts the words of a text n times.
//
//go:wasmexport words
func words(n int32) int64 {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog ", 20)
	var total int64
	for range n {
		counts := map[string]int{}
		for _, w := range word.FindAllString(text, -1) {
			counts[w]++
		}
		keys := make([]string, 0, len(counts))
		for k := range counts {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		total += int64(len(keys)) + int64(counts[keys[0]])
	}
	runtime.Gosched()
	return total
}
