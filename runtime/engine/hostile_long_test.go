package engine_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// Single calls of the host that have much to do: each looks on its way whether it was stopped.

// TestAStopEndsAWriteOfAllMemory writes 32 MiB to stdout at once, and is stopped at the first
// line that comes out.
func TestAStopEndsAWriteOfAllMemory(t *testing.T) {
	var b w.Module
	write := b.Import(wasi, "fd_write", w.Types{w.I32, w.I32, w.I32, w.I32}, number)
	b.Memory(512)
	b.Data(0, []byte{16, 0, 0, 0, 0, 0, 0xff, 1}) // from 16 on, all but a page
	b.Data(16, bytes.Repeat([]byte{'x'}, 1<<20))
	b.Func("call", number, 0, w.Const32(1), w.Const32(0), w.Const32(1), w.Const32(8), w.Call(write))
	m := load(t, b.Bytes(), engine.Limits{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	size := 0
	_, err := m.Call(ctx, engine.Call{Export: "call", Log: func(_, line string) {
		stop()
		size += len(line)
	}})
	want(t, err, engine.Cancelled, "stopped")
	if size == 0 || size > 128<<10 {
		t.Errorf("%d bytes came out, most of them after the stop", size)
	}
}

// counting gives bytes and counts them; it calls first before the first.
type counting struct {
	first func()
	n     *int
}

func (c counting) Read(p []byte) (int, error) {
	if *c.n == 0 {
		c.first()
	}
	*c.n += len(p)
	return len(p), nil
}

// TestAStopEndsRandomBytesForAllMemory asks for 32 MiB of random bytes.
func TestAStopEndsRandomBytesForAllMemory(t *testing.T) {
	var b w.Module
	random := b.Import(wasi, "random_get", w.Types{w.I32, w.I32}, number)
	b.Memory(512)
	b.Func("call", number, 0, w.Const32(0), w.Const32(512<<16), w.Call(random))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n := 0
	m, err := newEngine(t, engine.Config{Random: counting{stop, &n}}).Load(t.Context(), b.Bytes(), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Call(ctx, engine.Call{Export: "call"})
	want(t, err, engine.Cancelled, "stopped")
	if n == 0 || n > 128<<10 {
		t.Errorf("%d bytes were given", n)
	}
}

// TestOneLargeBlockInEachPlaceIsRefused gives a function of sixteen blocks the same one of
// 1 MiB each time, which would be 96 MiB of JSON.
func TestOneLargeBlockInEachPlaceIsRefused(t *testing.T) {
	var sixteen w.Types
	for range 16 {
		sixteen = append(sixteen, w.I64)
	}
	for name, c := range map[string]struct {
		size    int64
		refused bool
	}{"small": {1 << 10, false}, "large": {1 << 20, true}} {
		t.Run(name, func(t *testing.T) {
			var b w.Module
			alloc := b.Import(env, "alloc", one, one)
			many := b.Import(user, "many", sixteen, nil)
			b.Func("call", number, 1, w.Const64(c.size), w.Call(alloc), w.Set(0),
				bytes.Repeat(w.Get(0), 16), w.Call(many), w.Const32(0))
			m := load(t, b.Bytes(), engine.Limits{})
			called := 0
			_, err := m.Call(t.Context(), engine.Call{Export: "call",
				Host: hostOf(func(_ context.Context, in []byte) []byte {
					called += len(in)
					return nil
				})})
			if c.refused {
				want(t, err, engine.Trap, "16777216 bytes")
			} else if err != nil {
				t.Error(err)
			}
			if (called == 0) != c.refused {
				t.Errorf("the host got %d bytes", called)
			}
		})
	}
}

// TestALongLineIsCutBeforeItIsCopied logs a block of half of the memory, which a log line is
// not.
func TestALongLineIsCutBeforeItIsCopied(t *testing.T) {
	var b w.Module
	alloc := b.Import(env, "alloc", one, one)
	info := b.Import(env, "log_info", one, nil)
	b.Func("call", number, 1, w.Const64(16<<20), w.Call(alloc), w.Call(info), w.Const32(0))
	m := load(t, b.Bytes(), engine.Limits{})
	var lines []string
	if _, err := m.Call(t.Context(), engine.Call{Export: "call",
		Log: func(_, line string) { lines = append(lines, line) }}); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || lines[0] != strings.Repeat("\x00", 16<<10) {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(strings.Join(lines, "")))
	}
}
