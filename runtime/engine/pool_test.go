package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// together makes n calls that are all inside of the host at the same moment.
func together(t *testing.T, m *engine.Module, n int) {
	t.Helper()
	var inside, done sync.WaitGroup
	inside.Add(n)
	for range n {
		done.Go(func() {
			_, err := m.Call(context.Background(),
				engine.Call{Export: "call", Host: hostOf(func(_ context.Context, in []byte) []byte {
					inside.Done()
					inside.Wait()
					return in
				})})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// TestIdleInstancesAreClosed has five instances after four calls at once, and only the
// spare after they were idle for a while. Time is the test's own.
func TestIdleInstancesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.Config{IdleAfter: time.Minute})
		m, err := e.Load(t.Context(), asking(), engine.Limits{Concurrency: 4})
		if err != nil {
			t.Fatal(err)
		}
		if e.Live() != 0 {
			t.Errorf("%d instances before any call", e.Live())
		}
		together(t, m, 4)
		synctest.Wait()
		after := e.Live() // the fifth is a spare, if there was time to make one
		if after != 4 && after != 5 {
			t.Errorf("%d instances after four calls at once", after)
		}
		time.Sleep(50 * time.Second)
		if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if live := e.Live(); live != after {
			t.Errorf("%d instances before any was idle for a minute", live)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if live := e.Live(); live != 1 {
			t.Errorf("%d instances after all but one were idle for a minute", live)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if live := e.Live(); live != 1 {
			t.Errorf("%d instances after an hour; a spare stays", live)
		}
	})
}

// TestInstancesAreBounded calls far more often at once than the module may run: there are
// never more instances than places and a spare.
func TestInstancesAreBounded(t *testing.T) {
	e := newEngine(t, engine.Config{})
	m, err := e.Load(t.Context(), asking(), engine.Limits{Concurrency: 3})
	if err != nil {
		t.Fatal(err)
	}
	var most atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			_, err := m.Call(t.Context(), engine.Call{Export: "call",
				Host: hostOf(func(_ context.Context, in []byte) []byte {
					live := e.Live()
					for old := most.Load(); live > old && !most.CompareAndSwap(old, live); old = most.Load() {
					}
					return in
				})})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() > 4 {
		t.Errorf("%d instances; there are three places and a spare", most.Load())
	}
}

// TestABrokenInstanceIsThrownAway ends calls in each way that leaves an instance in the
// middle of something; the next call gets another one.
func TestABrokenInstanceIsThrownAway(t *testing.T) {
	ending := func(body ...[]byte) []byte {
		var b w.Module
		ask := b.Import(user, "ask", one, one)
		exit := b.Import(wasi, "proc_exit", number, nil)
		if ask != 0 || exit != 1 {
			t.Fatal("the imports have other numbers")
		}
		b.Memory(1)
		b.Func("good", number, 0, w.Const32(0))
		b.Func("call", number, 0, append(body, w.Const32(0))...)
		return b.Bytes()
	}
	askHost := [][]byte{w.Const64(0), w.Call(0), w.Drop}
	forever := [][]byte{w.Loop, w.Again, w.End}
	cases := map[string]struct {
		wasm  []byte
		limit engine.Limits
		host  func(cancel func()) engine.HostFunc
		kind  engine.CallKind // "" for none
	}{
		"trap":   {ending(w.Unreachable), engine.Limits{}, nil, engine.Trap},
		"exit":   {ending(w.Const32(3), w.Call(1)), engine.Limits{}, nil, engine.Exit},
		"exit 0": {ending(w.Const32(0), w.Call(1)), engine.Limits{}, nil, ""},
		"fuel":   {ending(forever...), engine.Limits{Fuel: 1000}, nil, engine.CPU},
		"timeout": {ending(askHost...), engine.Limits{Timeout: quick}, func(func()) engine.HostFunc {
			return func(ctx context.Context, _ []byte) []byte { <-ctx.Done(); return nil }
		}, engine.Timeout},
		"cancel": {ending(append(askHost, forever...)...), engine.Limits{}, func(cancel func()) engine.HostFunc {
			return func(context.Context, []byte) []byte { cancel(); return nil }
		}, engine.Cancelled},
		"panic": {ending(askHost...), engine.Limits{}, func(func()) engine.HostFunc {
			return func(context.Context, []byte) []byte { panic("host") }
		}, engine.HostFault},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, engine.Config{})
				m, err := e.Load(t.Context(), c.wasm, engine.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range 3 {
					if _, err := m.Call(t.Context(), engine.Call{Export: "good"}); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if m.Made() != e.Live() {
					t.Fatal("an instance was closed after calls that went well")
				}
				call := engine.Call{Export: "call", Limits: c.limit}
				if c.host != nil {
					call.Host = hostOf(c.host(cancel))
				}
				_, err = m.Call(ctx, call)
				synctest.Wait()
				var failed *engine.CallError
				if c.kind == "" && err != nil || c.kind != "" && (!errors.As(err, &failed) || failed.Kind != c.kind) {
					t.Fatalf("err = %v; want %q", err, c.kind)
				}
				for range 3 {
					if _, err := m.Call(t.Context(), engine.Call{Export: "good"}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if gone := m.Made() - e.Live(); gone != 1 {
					t.Errorf("%d instances were closed after one call broke its own", gone)
				}
			})
		})
	}
}

// TestCallsAndSwapsLeaveMemoryFlat makes 10,000 calls while the module is replaced 100
// times and some calls are stopped. No call fails but those, and afterwards there is
// nothing more than before.
func TestCallsAndSwapsLeaveMemoryFlat(t *testing.T) {
	const calls, swaps, workers = 10_000, 100, 4
	e := newEngine(t, engine.Config{})
	version := func(n int) *engine.Module {
		var b w.Module
		b.Custom("version", []byte(fmt.Sprint(n)))
		ask := b.Import(user, "ask", one, one)
		in := b.Import(env, "input_offset", nil, one)
		set := b.Import(env, "output_set", two, nil)
		b.Memory(2)
		b.Func("call", number, 1, w.Const32(1), w.Grow, w.Drop, w.Call(in), w.Call(ask), w.Set(0), w.Get(0),
			w.Const64(5), w.Call(set), w.Const32(0))
		m, err := e.Load(context.Background(), b.Bytes(), engine.Limits{Concurrency: 3})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var current atomic.Pointer[engine.Module]
	current.Store(version(0))
	var done atomic.Int64
	var swapped atomic.Bool
	work := func(worker int) {
		for n := 0; done.Add(1) <= calls || !swapped.Load(); n++ {
			var lease *engine.Lease
			for lease == nil {
				lease, _ = current.Load().Lease()
			}
			ctx, cancel := context.WithCancel(context.Background())
			stops := (n+worker)%50 == 0
			out, err := lease.Call(ctx, engine.Call{Export: "call", Input: []byte("input"),
				Host: hostOf(func(_ context.Context, in []byte) []byte {
					if stops {
						cancel()
					}
					return in
				})})
			lease.Release()
			cancel()
			var failed *engine.CallError
			switch {
			case stops && (!errors.As(err, &failed) || failed.Kind != engine.Cancelled):
				t.Errorf("a stopped call: %v", err)
			case !stops && (err != nil || string(out.Output) != "input"):
				t.Errorf("%q, %v", out.Output, err)
			}
		}
	}
	var running sync.WaitGroup
	round := func(swaps int) {
		for worker := range workers {
			running.Go(func() { work(worker) })
		}
		for n := range swaps {
			old := current.Swap(version(n + 1))
			if err := old.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
		swapped.Store(true)
		running.Wait()
		swapped.Store(false)
	}
	done.Store(calls * 9 / 10) // the first thousand show what is normal
	round(3)
	heap, goroutines := settled(), runtime.NumGoroutine()
	memories, bytes := e.Mapped()
	done.Store(0)
	round(swaps)
	var got string
	flat := func() bool { // what ends on its own needs a moment on a busy machine
		used, running := settled(), runtime.NumGoroutine()
		n, b := e.Mapped()
		got = fmt.Sprintf("%d bytes of heap, before %d; %d goroutines, before %d; %d memories of %d bytes, before %d "+
			"of %d; %d instances",
			used, heap, running, goroutines, n, b, memories, bytes, e.Live())
		return used <= heap+8<<20 && running <= goroutines+2 && n <= memories+3 && b <= bytes+4*(64<<20) &&
			e.Live() <= 4
	}
	for begin := time.Now(); !flat(); {
		if time.Since(begin) > time.Minute {
			t.Fatalf("something stays: %s", got)
		}
	}
	if err := current.Load().Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n, b := e.Mapped(); n != 0 || b != 0 || e.Live() != 0 {
		t.Errorf("after the last was closed: %d memories of %d bytes, %d instances", n, b, e.Live())
	}
}

// settled returns the bytes of the heap that are in use.
func settled() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// TestLeaseHoldsCloseOff has a lease that was given before Close and calls after it began.
func TestLeaseHoldsCloseOff(t *testing.T) {
	m := load(t, asking(), engine.Limits{})
	lease, err := m.Lease()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- m.Close(context.Background()) }()
	for { // until Close began
		second, err := m.Lease()
		if errors.Is(err, engine.ErrClosed) {
			break
		}
		second.Release()
	}
	for range 3 {
		if _, err := lease.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
			t.Errorf("a call with a lease: %v", err)
		}
	}
	select {
	case <-closed:
		t.Error("Close returned before the lease was released")
	default:
	}
	lease.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
