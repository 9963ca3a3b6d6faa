package engine_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func TestTrapIsTyped(t *testing.T) {
	var b w.Module
	b.Func("call", number, 0, w.Unreachable)
	m := load(t, b.Bytes(), engine.Limits{})
	for range 3 {
		_, err := m.Call(t.Context(), engine.Call{Export: "call"})
		want(t, err, engine.Trap, "unreachable")
	}
}

// spin is a module whose call never ends, and whose start function does not either
// if inStart.
func spin(inStart bool) []byte {
	var b w.Module
	f := b.Func("call", number, 0, w.Loop, w.Again, w.End, w.Const32(0))
	if inStart {
		start := b.Func("", nil, 0, w.Call(f), w.Drop)
		b.Start(start)
	}
	return b.Bytes()
}

func TestEndlessLoopTimesOut(t *testing.T) {
	for _, inStart := range []bool{false, true} {
		m := load(t, spin(inStart), engine.Limits{Timeout: quick})
		_, err := m.Call(t.Context(), engine.Call{Export: "call"})
		want(t, err, engine.Timeout, quick.String())
	}
}

func TestCancelEndsEndlessLoop(t *testing.T) {
	m := load(t, spin(false), engine.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := m.Call(ctx, engine.Call{Export: "call"})
		ended <- err
	}()
	cancel()
	want(t, <-ended, engine.Cancelled, "stopped")
}

func TestCallersDeadlineIsATimeout(t *testing.T) {
	m := load(t, spin(false), engine.Limits{})
	ctx, cancel := context.WithTimeout(t.Context(), quick)
	defer cancel()
	_, err := m.Call(ctx, engine.Call{Export: "call"})
	want(t, err, engine.Timeout, "in time")
}

func TestMemoryBombStaysWithinLimit(t *testing.T) {
	var b w.Module
	b.Memory(1)
	// grow by a page until it fails, then answer the size in pages as an error code
	b.Func("call", number, 0,
		w.Loop, w.Const32(1), w.Grow, w.Const32(1), []byte{0x6a}, w.AgainIf, w.End,
		[]byte{0x3f, 0x00})
	m := load(t, b.Bytes(), engine.Limits{MemoryMiB: 4})
	out, err := m.Call(t.Context(), engine.Call{Export: "call"})
	want(t, err, engine.GuestError, "returned 64")
	if out.MemoryBytes != 4<<20 {
		t.Errorf("memory = %d", out.MemoryBytes)
	}
}

func TestTableBombIsRefused(t *testing.T) {
	var b w.Module
	b.Table(1)
	b.Func("call", number, 0, w.NullFunc, w.Const32(1<<28), w.GrowTable)
	m := load(t, b.Bytes(), engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{Export: "call"})
	want(t, err, engine.GuestError, "returned -1")
}

func TestKernelMemoryBombStaysWithinLimit(t *testing.T) {
	for _, size := range []int64{1, 1 << 16, math.MaxInt64, -1} {
		var b w.Module
		alloc := b.Import(env, "alloc", one, one)
		b.Func("call", number, 0,
			w.Loop, w.Const64(size), w.Call(alloc), w.Eqz64, []byte{0x45}, w.AgainIf, w.End, w.Const32(0))
		m := load(t, b.Bytes(), engine.Limits{MemoryMiB: 2})
		out, err := m.Call(t.Context(), engine.Call{Export: "call"})
		if err != nil || out.MemoryBytes > 2<<20 {
			t.Errorf("size %d: %d bytes, %v", size, out.MemoryBytes, err)
		}
	}
}

func TestDeepRecursionTraps(t *testing.T) {
	var b w.Module
	b.Func("call", number, 4, w.Call(0), w.Call(0), []byte{0x6a})
	m := load(t, b.Bytes(), engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{Export: "call"})
	want(t, err, engine.Trap, "stack overflow")
}

func TestOutputOutsideOfMemoryIsIgnoredAndLogged(t *testing.T) {
	for _, at := range [][2]int64{{1 << 40, 5}, {16, 1 << 40}, {-1, 2}, {0, 1}} {
		var b w.Module
		set := b.Import(env, "output_set", two, nil)
		b.Func("call", number, 0, w.Const64(at[0]), w.Const64(at[1]), w.Call(set), w.Const32(0))
		m := load(t, b.Bytes(), engine.Limits{})
		var logged string
		out, err := m.Call(t.Context(), engine.Call{Export: "call", Log: func(_, message string) { logged = message }})
		if err != nil || len(out.Output) != 0 || !strings.Contains(logged, "output_set") {
			t.Errorf("%v: %q, %v, logged %q", at, out.Output, err, logged)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, code := range []int32{0, 3, -1, -268435457} { // the last two are wazero's own
		var b w.Module
		exit := b.Import(wasi, "proc_exit", number, nil)
		b.Func("call", number, 0, w.Const32(code), w.Call(exit), w.Const32(9))
		m := load(t, b.Bytes(), engine.Limits{})
		_, err := m.Call(t.Context(), engine.Call{Export: "call"})
		if code == 0 {
			if err != nil {
				t.Errorf("exit 0: %v", err)
			}
			continue
		}
		want(t, err, engine.Exit, fmt.Sprint(code))
	}
}

// TestAnyOffsetIsSafe gives every kernel function offsets that are none.
func TestAnyOffsetIsSafe(t *testing.T) {
	functions := map[string]struct{ params, results w.Types }{
		"alloc": {one, one}, "free": {one, nil}, "length": {one, one}, "length_unsafe": {one, one},
		"load_u8": {one, number}, "load_u64": {one, one}, "store_u64": {two, nil},
		"store_u8":      {w.Types{w.I64, w.I32}, nil},
		"input_load_u8": {one, number}, "input_load_u64": {one, one}, "input_set": {two, nil},
		"output_set": {two, nil}, "error_set": {one, nil}, "config_get": {one, one},
		"var_get": {one, one}, "var_set": {two, nil}, "http_request": {two, one},
		"log_trace": {one, nil}, "log_debug": {one, nil}, "log_info": {one, nil}, "log_warn": {one, nil},
		"log_error": {one, nil},
		"error_get": {nil, one}, "input_offset": {nil, one}, "output_offset": {nil, one}, "output_length": {nil, one},
		"memory_bytes": {nil, one}, "reset": {nil, nil}, "http_status_code": {nil, number}, "http_headers": {nil, one},
		"get_log_level": {nil, number},
	}
	for name, f := range functions {
		for _, offset := range []int64{0, 1, 16, 20, 4090, 1 << 32, math.MaxInt64, -1, -8} {
			var b w.Module
			fn := b.Import(env, name, f.params, f.results)
			var body [][]byte
			for _, p := range f.params {
				if p == w.I32 {
					body = append(body, w.Const32(7))
				} else {
					body = append(body, w.Const64(offset))
				}
			}
			body = append(body, w.Call(fn))
			if len(f.results) > 0 {
				body = append(body, w.Drop)
			}
			b.Func("call", number, 0, append(body, w.Const32(0))...)
			m := load(t, b.Bytes(), engine.Limits{MemoryMiB: 1})
			_, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("in")})
			if err == nil {
				continue
			}
			if name == "error_set" {
				want(t, err, engine.GuestError, "in")
				continue
			}
			want(t, err, engine.Trap, "")
			if strings.Contains(err.Error(), "system call") {
				t.Errorf("%s(%d): a panic of the host was taken for a trap: %v", name, offset, err)
			}
		}
	}
}

func TestBulkCopyOutsideOfMemoryTraps(t *testing.T) {
	for _, c := range []struct {
		offset, pointer, n int64
		says               string
	}{
		{16, 0, 1 << 20, "the call's memory"},
		{-1, 0, 8, "the call's memory"},
		{16, 65530, 100, "outside of its memory"},
		{16, -1, 2, "outside of its memory"},
	} {
		for _, name := range []string{"read", "write"} {
			var b w.Module
			fn := b.Import("bulkhead:host/mem", name, w.Types{w.I64, w.I32, w.I32}, nil)
			b.Memory(1)
			b.Func("call", number, 0, w.Const64(c.offset), w.Const32(int32(c.pointer)), w.Const32(int32(c.n)),
				w.Call(fn), w.Const32(0))
			m := load(t, b.Bytes(), engine.Limits{})
			_, err := m.Call(t.Context(), engine.Call{Export: "call", Input: make([]byte, 200)})
			want(t, err, engine.Trap, c.says)
		}
	}
}

func TestSleepEndsWithTheCall(t *testing.T) {
	var b w.Module
	poll := b.Import(wasi, "poll_oneoff", w.Types{w.I32, w.I32, w.I32, w.I32}, number)
	b.Memory(1)
	subscription := make([]byte, 48) // a relative clock
	for i := 24; i < 31; i++ {
		subscription[i] = 0xff // some 2 million years
	}
	b.Data(0, subscription)
	b.Func("call", number, 0, w.Const32(0), w.Const32(1024), w.Const32(1), w.Const32(2048), w.Call(poll))
	m := load(t, b.Bytes(), engine.Limits{Timeout: quick})
	_, err := m.Call(t.Context(), engine.Call{Export: "call"})
	want(t, err, engine.Timeout, "")
}

func TestWASIWithWildArgumentsTrapsWithoutGoStack(t *testing.T) {
	var b w.Module
	poll := b.Import(wasi, "poll_oneoff", w.Types{w.I32, w.I32, w.I32, w.I32}, number)
	b.Memory(1)
	// 48 times this count overflows 32 bits
	b.Func("call", number, 0, w.Const32(0), w.Const32(0), w.Const32(1<<28), w.Const32(2048), w.Call(poll))
	m := load(t, b.Bytes(), engine.Limits{Timeout: time.Minute})
	_, err := m.Call(t.Context(), engine.Call{Export: "call"})
	if err == nil {
		t.Skip("wazero checks this now")
	}
	want(t, err, engine.Trap, "system call")
}

func TestHTTPWithoutHookIsStatusZero(t *testing.T) {
	var b w.Module
	alloc := b.Import(env, "alloc", one, one)
	store := b.Import(env, "store_u64", two, nil)
	request := b.Import(env, "http_request", two, one)
	status := b.Import(env, "http_status_code", nil, number)
	// a block of 8 bytes: {"a":1} and a space
	b.Func("call", number, 1,
		w.Const64(8), w.Call(alloc), w.Set(0),
		w.Get(0), w.Const64(0x207d313a2261227b), w.Call(store),
		w.Get(0), w.Const64(0), w.Call(request), w.Eqz64, []byte{0x45}, // 1 unless the null block
		w.Call(status), []byte{0x6a})
	m := load(t, b.Bytes(), engine.Limits{})
	if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
		t.Errorf("a denied request is an error: %v", err)
	}
	_, err := m.Call(t.Context(), engine.Call{Export: "call",
		HTTP: func(_ context.Context, req engine.HTTPRequest) engine.HTTPResponse {
			if req.Method != "GET" {
				t.Errorf("method = %q", req.Method)
			}
			return engine.HTTPResponse{Status: 204}
		}})
	want(t, err, engine.GuestError, "returned 204")
}
