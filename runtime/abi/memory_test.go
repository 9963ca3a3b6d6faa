package abi

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestMemoryKeepsBlocksApart is the law of the kernel memory: whatever is allocated,
// written and freed, each live block has its own bytes and its own length, within
// the limit.
func TestMemoryKeepsBlocksApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 1 << 20
		m := newMemory(func() uint64 { return limit })
		live := map[uint64][]byte{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				for off := range live {
					m.release(off)
					m.release(off) // a second free is nothing
					delete(live, off)
					break
				}
				continue
			}
			n := rapid.Uint64Range(1, 40_000).Draw(t, "n")
			off := m.alloc(n)
			if off == 0 {
				continue
			}
			view, ok := m.view(off, n)
			if !ok || !bytes.Equal(view, make([]byte, n)) {
				t.Fatal("a new block is not zero")
			}
			fill := byte(len(live) + 1)
			live[off] = bytes.Repeat([]byte{fill}, int(n))
			copy(view, live[off])
		}
		for off, want := range live {
			if m.length(off) != uint64(len(want)) || !bytes.Equal(m.block(off), want) {
				t.Fatalf("the block at %d changed", off)
			}
		}
		if m.size() > limit {
			t.Fatalf("size = %d", m.size())
		}
	})
}

func TestMemoryOfNoBlock(t *testing.T) {
	m := newMemory(func() uint64 { return 1 << 20 })
	if m.alloc(0) != 0 || m.length(0) != 0 || m.length(12345) != 0 || m.block(99) != nil {
		t.Error("the null block is not null")
	}
	off := m.alloc(100)
	if m.length(off+1) != 0 {
		t.Error("an offset inside of a block has a length")
	}
	m.release(off)
	if m.length(off) != 0 {
		t.Error("a freed block has a length")
	}
	if again := m.alloc(97); again != off {
		t.Errorf("a freed block was not used again: %d, %d", off, again)
	}
}

func TestClassLosesLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 1<<40).Draw(t, "n")
		c := class(n)
		if c < n || c > n+n/7+16 || c%8 != 0 || class(c) != c {
			t.Fatalf("class(%d) = %d", n, c)
		}
	})
}

func TestLineWriterMakesLines(t *testing.T) {
	var got []string
	sink := &logSink{}
	sink.attach(func(_, message string) { got = append(got, message) })
	w := lineWriter{sink: sink, level: "info"}
	for _, part := range []string{"a", "b\nc\n", "\n", string(make([]byte, maxLineBytes+5)), "end\xff"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	if len(got) != 4 || got[0] != "ab" || got[1] != "c" || len(got[2]) != maxLineBytes ||
		got[3] != string(make([]byte, 5))+"end\uFFFD" {
		t.Errorf("%d lines: %.40q", len(got), got)
	}
}

func TestLogEndsAtItsLimit(t *testing.T) {
	var lines int
	var last string
	sink := &logSink{}
	sink.attach(func(_, message string) { lines++; last = message })
	for range 3 * maxLogBytes / 1000 {
		sink.write("info", make([]byte, 1000))
	}
	if lines > maxLogBytes/1000 || last != "The plugin logged more than 1 MiB; the rest is dropped." {
		t.Errorf("%d lines, last %q", lines, last)
	}
}
