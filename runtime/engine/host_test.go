package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// asking is a module whose call calls the host function ask with its input and
// outputs the answer.
func asking() []byte {
	var b w.Module
	ask := b.Import(user, "ask", one, one)
	in := b.Import(env, "input_offset", nil, one)
	length := b.Import(env, "length", one, one)
	set := b.Import(env, "output_set", two, nil)
	b.Func("call", number, 1,
		w.Call(in), w.Call(ask), w.Set(0),
		w.Get(0), w.Get(0), w.Call(length), w.Call(set), w.Const32(0))
	return b.Bytes()
}

func hostOf(f engine.HostFunc) func(string) engine.HostFunc {
	return func(string) engine.HostFunc { return f }
}

func TestPanicInHostFunctionFailsThatCallOnly(t *testing.T) {
	var log bytes.Buffer
	e := newEngine(t, engine.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m, err := e.Load(t.Context(), asking(), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{"secret detail", errors.New("secret detail")} {
		_, err = m.Call(t.Context(), engine.Call{Export: "call",
			Host: hostOf(func(context.Context, []byte) []byte { panic(value) })})
		want(t, err, engine.HostFault, "ask")
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the panic's text came out: %v", err)
		}
	}
	if !strings.Contains(log.String(), "secret detail") {
		t.Error("the operator's log does not have the reason")
	}
	out, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("x"),
		Host: hostOf(func(_ context.Context, in []byte) []byte { return in })})
	if err != nil || string(out.Output) != "x" {
		t.Errorf("the next call: %q, %v", out.Output, err)
	}
}

func TestPanicInLogHookLosesALineOnly(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	for range 2 {
		if _, err := m.Call(t.Context(), engine.Call{Export: "say",
			Log: func(string, string) { panic("log") }}); err != nil {
			t.Error(err)
		}
	}
}

func TestCancelReachesBlockedHostFunction(t *testing.T) {
	m := load(t, asking(), engine.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Call(ctx, engine.Call{Export: "call", Host: hostOf(func(ctx context.Context, _ []byte) []byte {
		cancel()
		<-ctx.Done()
		return []byte("too late")
	})})
	want(t, err, engine.Cancelled, "stopped")
}

func TestDeadlineReachesBlockedHostFunction(t *testing.T) {
	m := load(t, asking(), engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{Export: "call", Limits: engine.Limits{Timeout: quick},
		Host: hostOf(func(ctx context.Context, _ []byte) []byte { <-ctx.Done(); return nil })})
	want(t, err, engine.Timeout, "")
}

func TestHostFunctionMayCallTheModuleAgain(t *testing.T) {
	m := load(t, asking(), engine.Limits{Concurrency: 4})
	var depth int
	var again engine.HostFunc
	again = func(ctx context.Context, in []byte) []byte {
		if depth++; depth == 4 {
			return append(in, '!')
		}
		out, err := m.Call(ctx, engine.Call{Export: "call", Input: append(in, '.'), Host: hostOf(again)})
		if err != nil {
			t.Error(err)
		}
		return out.Output
	}
	out, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("x"), Host: hostOf(again)})
	if err != nil || string(out.Output) != "x...!" {
		t.Errorf("%q, %v", out.Output, err)
	}
}

func TestReentryBeyondConcurrencyTimesOut(t *testing.T) {
	m := load(t, asking(), engine.Limits{Concurrency: 1})
	var inner error
	_, err := m.Call(t.Context(), engine.Call{Export: "call", Host: hostOf(func(ctx context.Context, _ []byte) []byte {
		_, inner = m.Call(ctx, engine.Call{Export: "call", Limits: engine.Limits{Timeout: quick}})
		return nil
	})})
	if err != nil {
		t.Errorf("outer: %v", err)
	}
	want(t, inner, engine.Timeout, "waited for a free place")
}

func TestConcurrencyIsNeverExceededAndNobodyIsDropped(t *testing.T) {
	const limit, calls = 3, 30
	m := load(t, asking(), engine.Limits{Concurrency: limit})
	var running, most atomic.Int32
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			_, err := m.Call(t.Context(), engine.Call{Export: "call",
				Host: hostOf(func(_ context.Context, in []byte) []byte {
					n := running.Add(1)
					defer running.Add(-1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					return in
				})})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := most.Load(); got > limit {
		t.Errorf("%d calls at once; the limit is %d", got, limit)
	}
}

func TestHostFunctionsOfOtherShapes(t *testing.T) {
	var b w.Module
	nullary := b.Import(user, "now", nil, one)
	pair := b.Import(user, "put", two, nil)
	in := b.Import(env, "input_offset", nil, one)
	b.Func("call", number, 0, w.Call(nullary), w.Call(in), w.Call(pair), w.Const32(0))
	m := load(t, b.Bytes(), engine.Limits{})
	got := map[string]string{}
	_, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("in"),
		Host: func(name string) engine.HostFunc {
			return func(_ context.Context, in []byte) []byte { got[name] = string(in); return []byte("time") }
		}})
	if err != nil || got["now"] != "" || got["put"] != `["time","in"]` {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnswerBeyondMemoryTraps(t *testing.T) {
	m := load(t, asking(), engine.Limits{MemoryMiB: 1})
	_, err := m.Call(t.Context(), engine.Call{Export: "call",
		Host: hostOf(func(context.Context, []byte) []byte { return make([]byte, 2<<20) })})
	want(t, err, engine.Trap, "does not fit")
	_, err = m.Call(t.Context(), engine.Call{Export: "call", Input: make([]byte, 2<<20)})
	want(t, err, engine.Trap, "does not fit")
}

// TestInitialisationThatNeedsTheCallIsDoneWithinIt has a start function that reads
// the configuration: no spare can be made of such a module.
func TestInitialisationThatNeedsTheCallIsDoneWithinIt(t *testing.T) {
	var b w.Module
	ask := b.Import(user, "ask", one, one)
	start := b.Func("", nil, 0, w.Const64(0), w.Call(ask), w.Drop)
	b.Start(start)
	b.Func("call", number, 0, w.Const32(0))
	m := load(t, b.Bytes(), engine.Limits{})
	var asked int
	for range 10 {
		_, err := m.Call(t.Context(), engine.Call{Export: "call",
			Host: hostOf(func(context.Context, []byte) []byte { asked++; return nil })})
		if err != nil {
			t.Fatal(err)
		}
	}
	if asked != 10 {
		t.Errorf("the start function asked %d times in 10 calls", asked)
	}
}
