package reference_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

const env = "extism:host/env"

var (
	one  = w.Types{w.I64}
	two  = w.Types{w.I64, w.I64}
	word = w.Types{w.I32}
)

// kernelTypes are the imports of extism:host/env as go-sdk v1.7.1 has them.
var kernelTypes = []struct {
	name            string
	params, results w.Types
}{
	{"alloc", one, one}, {"free", one, nil}, {"length", one, one}, {"length_unsafe", one, one},
	{"load_u8", one, word}, {"load_u64", one, one}, {"store_u8", w.Types{w.I64, w.I32}, nil}, {"store_u64", two, nil},
	{"input_offset", nil, one}, {"input_length", nil, one}, {"input_load_u8", one, word}, {"input_load_u64", one, one},
	{"input_set", two, nil}, {"output_set", two, nil}, {"output_offset", nil, one}, {"output_length", nil, one},
	{"error_set", one, nil}, {"error_get", nil, one}, {"memory_bytes", nil, one}, {"reset", nil, nil},
	{"config_get", one, one}, {"var_get", one, one}, {"var_set", two, nil},
	{"http_request", two, one}, {"http_status_code", nil, word}, {"http_headers", nil, one},
	{"get_log_level", nil, word},
	{"log_trace", one, nil}, {"log_debug", one, nil}, {"log_info", one, nil}, {"log_warn", one, nil},
	{"log_error", one, nil},
}

// program is a guest under construction that calls the kernel. Its first blocks locals
// hold offsets of blocks; the others what was seen, which it outputs at the end.
type program struct {
	module w.Module
	index  map[string]uint32
	code   [][]byte
	seen   int
	text   string // of the instructions, for a failure
}

// blockLocals is the number of locals for offsets; maxSeen of those for what was seen.
const (
	blockLocals = 4
	maxSeen     = 120
)

func newProgram() *program {
	p := &program{index: map[string]uint32{}}
	for _, f := range kernelTypes {
		p.index[f.name] = p.module.Import(env, f.name, f.params, f.results)
	}
	return p
}

// do appends a call of a function and keeps nothing of it on the stack: into is the
// local for its result, or see.
func (p *program) do(name string, args ...[]byte) {
	p.code = append(p.code, args...)
	p.code = append(p.code, w.Call(p.index[name]))
	p.text += fmt.Sprintf("%s %x\n", name, args)
}

var (
	extend  = []byte{0xad} // i64.extend_i32_u
	equal64 = []byte{0x51}
)

func (p *program) see(conversions ...[]byte) {
	p.code = append(p.code, conversions...)
	p.code = append(p.code, w.Set(uint32(blockLocals+p.seen)))
	p.seen++
}

// bytes returns the module: the code, then what was seen as output.
func (p *program) bytes() []byte {
	body := append([][]byte(nil), p.code...)
	body = append(body, w.Const64(0), w.Call(p.index["error_set"]))
	body = append(body, w.Const64(int64(8*max(p.seen, 1))), w.Call(p.index["alloc"]), w.Set(0))
	for i := range p.seen {
		body = append(body, w.Get(0), w.Const64(int64(8*i)), w.Add64, w.Get(uint32(blockLocals+i)),
			w.Call(p.index["store_u64"]))
	}
	body = append(body, w.Get(0), w.Const64(int64(8*max(p.seen, 1))), w.Call(p.index["output_set"]), w.Const32(0))
	p.module.Func("run", word, blockLocals+maxSeen, body...)
	return p.module.Bytes()
}

// sizes are lengths of blocks, small and at the edges of classes and pages.
var sizes = []int64{0, 1, 7, 8, 9, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4096, 65535, 65536, 70000}

// nowhere are offsets that no block has.
var nowhere = []int64{0, 1, 1 << 30, 1 << 31, -1}

// step appends one random call. size are the lengths of the blocks that the locals hold,
// -1 for none.
func (p *program) step(t *rapid.T, size []int64) {
	i := rapid.IntRange(0, blockLocals-1).Draw(t, "block")
	at := w.Get(uint32(i))
	inside := func(width int64) ([]byte, bool) {
		if size[i] < width {
			return nil, false
		}
		delta := rapid.Int64Range(0, size[i]-width).Draw(t, "delta")
		return append(append(append([]byte(nil), at...), w.Const64(delta)...), w.Add64...), true
	}
	lost := w.Const64(rapid.SampledFrom(nowhere).Draw(t, "nowhere"))
	switch rapid.IntRange(0, 21).Draw(t, "what") {
	case 0, 1, 2, 3:
		n := rapid.SampledFrom(sizes).Draw(t, "n")
		p.do("alloc", w.Const64(n))
		p.code = append(p.code, w.Set(uint32(i)))
		p.code = append(p.code, at)
		p.see(w.Eqz64, extend)
		size[i] = n
		if where, ok := inside(1); ok {
			p.do("load_u8", where)
			p.see(extend)
		}
	case 4:
		p.do("free", at)
		p.do("free", at)
		p.do("length", at)
		p.see()
		p.forget(i, size)
	case 5:
		p.do("free", lost)
	case 6:
		p.do("length", at)
		p.see()
	case 7:
		p.do("length_unsafe", at)
		p.see()
	case 8:
		p.do("length", lost)
		p.see()
	case 9:
		if where, ok := inside(1); ok {
			p.do("store_u8", where, w.Const32(rapid.Int32().Draw(t, "value")))
			p.do("load_u8", where)
			p.see(extend)
		}
	case 10:
		if where, ok := inside(8); ok {
			p.do("store_u64", where, w.Const64(rapid.Int64().Draw(t, "value")))
			p.do("load_u64", where)
			p.see()
		}
	case 11:
		p.do("load_u8", lost)
		p.see(extend)
	case 12:
		p.do("store_u8", lost, w.Const32(7))
	case 13:
		p.do("input_length")
		p.see()
	case 14:
		p.do("input_load_u8", w.Const64(rapid.Int64Range(-1, 40).Draw(t, "offset")))
		p.see(extend)
	case 15:
		if size[i] > 0 {
			p.do("input_set", at, w.Const64(rapid.Int64Range(1, size[i]).Draw(t, "length")))
		}
	case 16:
		if size[i] > 0 {
			p.do("output_set", at, w.Const64(rapid.Int64Range(1, size[i]).Draw(t, "length")))
		}
		p.do("output_length")
		p.see()
		p.do("output_offset", at)
		p.see(equal64, extend)
	case 17:
		p.do("output_set", lost, w.Const64(rapid.SampledFrom([]int64{1, 8, 1 << 30}).Draw(t, "length")))
		p.do("output_length")
		p.see()
	case 18:
		p.do("error_set", at)
		p.do("error_get", at)
		p.see(equal64, extend)
	case 19:
		p.do("error_set", lost)
		p.do("error_get")
		p.see(w.Eqz64, extend)
	case 20:
		p.do("input_set", lost, w.Const64(5))
		p.do("input_length")
		p.see()
	case 21:
		p.do("reset")
		for j := range size {
			p.forget(j, size)
		}
	}
}

// forget clears a local: which block is at an offset after a free is the kernel's own
// business.
func (p *program) forget(i int, size []int64) {
	p.code = append(p.code, w.Const64(0), w.Set(uint32(i)))
	size[i] = -1
}

// TestKernelDoesWhatTheSDKsKernelDoes runs random programs over the kernel's functions
// under both, two calls in one instance, and wants the same seen.
func TestKernelDoesWhatTheSDKsKernelDoes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newProgram()
		size := []int64{-1, -1, -1, -1}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			p.step(r, size)
		}
		input := rapid.SampledFrom([]string{"", "x", "an input of some bytes"}).Draw(r, "input")
		b := start(t, p.bytes(), nil)
		for range 2 {
			theirs, ours := b.call(t, "run", []byte(input))
			if theirs != ours {
				r.Fatalf("SDK  %+v\nours %+v\nseen %v and %v\nprogram:\n%s", theirs, ours, words(theirs.output),
					words(ours.output), p.text)
			}
		}
	})
}

func words(s string) []uint64 {
	var out []uint64
	for ; len(s) >= 8; s = s[8:] {
		out = append(out, binary.LittleEndian.Uint64([]byte(s)))
	}
	return out
}
