package wasmbin_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// TestJoinedDataWritesTheSameMemory is the law of joining: memory after all
// segments is the same, and there are not more segments than before.
func TestJoinedDataWritesTheSameMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b wasmtest.Module
		b.Memory(1)
		at, n := 0, rapid.IntRange(0, 12).Draw(t, "segments")
		for range n {
			at += rapid.IntRange(-300, 600).Draw(t, "gap")
			at = max(at, 0)
			data := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "data")
			b.Data(int32(at), data)
			at += len(data)
		}
		wasm := b.Bytes()
		m, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		before, segments := memoryAfter(t, wasm)
		after, joined := memoryAfter(t, wasmbin.Harden(wasm, m, wasmbin.DefaultLimits()))
		if !bytes.Equal(before, after) {
			t.Fatal("joining changed what memory holds")
		}
		if joined > segments {
			t.Fatalf("%d segments became %d", segments, joined)
		}
	})
}

func TestCloseSegmentsBecomeOne(t *testing.T) {
	var b wasmtest.Module
	b.Memory(2)
	for i := range 500 {
		b.Data(int32(i*100), []byte("data"))
	}
	wasm := b.Bytes()
	m, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if _, n := memoryAfter(t, wasmbin.Harden(wasm, m, wasmbin.DefaultLimits())); n != 1 {
		t.Errorf("%d segments are left", n)
	}
}

// memoryAfter runs the data section by hand, with a reader of its own: flags,
// i32.const, end, bytes.
func memoryAfter(t interface{ Fatal(...any) }, wasm []byte) (memory []byte, segments int) {
	sections, err := wasmbin.Sections(wasm, 100)
	if err != nil {
		t.Fatal(err)
	}
	memory = make([]byte, 1<<17)
	for _, s := range sections {
		if s.ID != wasmbin.SectionData {
			continue
		}
		r := bytes.NewReader(s.Data)
		segments = int(unsigned(r))
		for range segments {
			r.ReadByte()      // flags
			r.ReadByte()      // i32.const
			at := unsigned(r) // addresses here are below 2^31, and their sign bit is 0
			r.ReadByte()      // end
			size := unsigned(r)
			if _, err := r.Read(memory[at : at+size]); err != nil && size > 0 {
				t.Fatal(err)
			}
		}
	}
	return memory, segments
}

func unsigned(r *bytes.Reader) (n uint32) {
	for shift := 0; ; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return n
		}
		n |= uint32(b&0x7f) << shift
		if b&0x80 == 0 {
			return n
		}
	}
}
