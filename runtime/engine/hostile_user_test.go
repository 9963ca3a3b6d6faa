package engine_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// TestAnyOffsetOfAHostFunctionIsSafe calls functions of extism:host/user with offsets that
// no block has: what is within memory is an empty block, what is outside ends the call
// before the host's function is asked.
func TestAnyOffsetOfAHostFunctionIsSafe(t *testing.T) {
	for _, params := range []w.Types{one, two} {
		for _, offset := range []int64{0, 1, 15, 17, 4090, 1 << 20, 1 << 32, math.MaxInt64, -1, -8} {
			var b w.Module
			ask := b.Import(user, "ask", params, one)
			var body [][]byte
			for range params {
				body = append(body, w.Const64(offset))
			}
			b.Func("call", number, 0, append(body, w.Call(ask), w.Drop, w.Const32(0))...)
			m := load(t, b.Bytes(), engine.Limits{MemoryMiB: 1})
			asked := 0
			_, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("in"),
				Host: hostOf(func(_ context.Context, in []byte) []byte {
					asked++
					if text := string(in); text != "" && text != `["",""]` {
						t.Errorf("offset %d gave the bytes %q", offset, in)
					}
					return in
				})})
			if outside := uint64(offset) > 64<<10; outside {
				want(t, err, engine.Trap, "outside of the call's memory")
				if asked != 0 {
					t.Errorf("offset %d: the host was asked", offset)
				}
			} else if err != nil || asked != 1 {
				t.Errorf("offset %d: asked %d times, %v", offset, asked, err)
			}
		}
	}
}

// TestAnAnswerBeyondTheMemoryLimitEndsTheCall gives a guest more than it may hold.
func TestAnAnswerBeyondTheMemoryLimitEndsTheCall(t *testing.T) {
	m := load(t, asking(), engine.Limits{MemoryMiB: 1})
	large := []byte(strings.Repeat("x", 2<<20))
	_, err := m.Call(t.Context(), engine.Call{Export: "call",
		Host: hostOf(func(context.Context, []byte) []byte { return large })})
	want(t, err, engine.Trap, "does not fit")
}
