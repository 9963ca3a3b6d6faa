package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// endlessInitialize is a module whose _initialize never ends.
func endlessInitialize() []byte {
	var b w.Module
	b.Func("_initialize", nil, 0, w.Loop, w.Again, w.End)
	b.Func("call", number, 0, w.Const32(0))
	return b.Bytes()
}

func TestSpentFuelEndsTheCall(t *testing.T) {
	for name, wasm := range map[string][]byte{"call": spin(false), "start": spin(true),
		"_initialize": endlessInitialize()} {
		m := load(t, wasm, engine.Limits{Fuel: 3_000_000})
		for range 3 {
			out, err := m.Call(t.Context(), engine.Call{Export: "call"})
			want(t, err, engine.CPU, "cpu budget spent")
			if out.Fuel < 2_500_000 || out.Fuel > 3_000_100 {
				t.Errorf("%s: fuel = %d", name, out.Fuel)
			}
		}
	}
}

func TestCallMayNarrowFuel(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{Export: "echo", Input: []byte("x"), Limits: engine.Limits{Fuel: 100}})
	want(t, err, engine.CPU, "100 instructions")
	if _, err := m.Call(t.Context(), engine.Call{Export: "echo", Input: []byte("x")}); err != nil {
		t.Error(err)
	}
}

// TestSameCallSameFuel has instances that were made ahead of the call and within it.
func TestSameCallSameFuel(t *testing.T) {
	var b w.Module
	b.Memory(1)
	b.Start(b.Func("", nil, 0, w.Const32(0), w.Const32(7), w.Const32(1000), []byte{0xfc, 0x0b, 0}))
	b.Func("call", number, 0, w.Const32(0), w.Const32(9), w.Const32(8000), []byte{0xfc, 0x0b, 0}, w.Const32(0))
	for _, spares := range []int{1, -1} {
		m, err := newEngine(t, engine.Config{Spares: spares}).Load(t.Context(), b.Bytes(), engine.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			out, err := m.Call(t.Context(), engine.Call{Export: "call"})
			if err != nil || out.Fuel != 5+1000 {
				t.Errorf("spares %d: fuel = %d, %v", spares, out.Fuel, err)
			}
		}
	}
}

func TestFuelIsReportedWhateverTheEnd(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	for _, export := range []string{"echo", "fail", "crash"} {
		out, err := m.Call(t.Context(), engine.Call{Export: export})
		if out.Fuel <= 0 {
			t.Errorf("%s: fuel = %d, %v", export, out.Fuel, err)
		}
	}
}

// TestHostFunctionsEndAStoppedCall has guests whose time goes by in host functions, a few
// instructions each.
func TestHostFunctionsEndAStoppedCall(t *testing.T) {
	again := func(b *w.Module, parts ...[]byte) []byte {
		b.Memory(600)
		body := append([][]byte{w.Loop}, parts...)
		b.Func("call", number, 0, append(body, w.Again, w.End, w.Const32(0))...)
		return b.Bytes()
	}
	const size = 30 << 20
	var kernel, random, write, bulk w.Module
	alloc := kernel.Import(env, "alloc", one, one)
	free := kernel.Import(env, "free", one, nil)
	get := random.Import(wasi, "random_get", w.Types{w.I32, w.I32}, number)
	fdWrite := write.Import(wasi, "fd_write", w.Types{w.I32, w.I32, w.I32, w.I32}, number)
	write.Data(0, []byte{16, 0, 0, 0, 0, 0, 0xe0, 1}) // 30 MiB at 16
	bulkAlloc := bulk.Import(env, "alloc", one, one)
	read := bulk.Import("bulkhead:host/mem", "read", w.Types{w.I64, w.I32, w.I32}, nil)
	cases := map[string][]byte{
		"alloc":  again(&kernel, w.Const64(size), w.Call(alloc), w.Call(free)),
		"random": again(&random, w.Const32(0), w.Const32(size), w.Call(get), w.Drop),
		"write":  again(&write, w.Const32(1), w.Const32(0), w.Const32(1), w.Const32(8), w.Call(fdWrite), w.Drop),
		"bulk": again(&bulk, w.Const64(16), w.Const32(0), w.Const32(1), w.Call(read), w.Const64(1), w.Call(bulkAlloc),
			w.Const32(0), w.Const32(1), w.Call(read)),
	}
	for name, wasm := range cases {
		t.Run(name, func(t *testing.T) {
			m := load(t, wasm, engine.Limits{Timeout: quick, MemoryMiB: 128})
			_, err := m.Call(t.Context(), engine.Call{Export: "call", Input: []byte("input")})
			want(t, err, engine.Timeout, "in time")
		})
	}
}

// TestLargeRangesEndAStoppedCall fills memory again and again: few instructions, much
// time.
func TestLargeRangesEndAStoppedCall(t *testing.T) {
	var b w.Module
	b.Memory(512)
	b.Func("call", number, 0, w.Loop, w.Const32(0), w.Const32(1), w.Const32(32<<20), []byte{0xfc, 0x0b, 0}, w.Again,
		w.End, w.Const32(0))
	m := load(t, b.Bytes(), engine.Limits{Fuel: 100_000_000})
	_, err := m.Call(t.Context(), engine.Call{Export: "call"})
	want(t, err, engine.CPU, "cpu budget spent")

	m = load(t, b.Bytes(), engine.Limits{Timeout: quick})
	_, err = m.Call(t.Context(), engine.Call{Export: "call"})
	want(t, err, engine.Timeout, "in time")
}

// TestSuspendedTimeDoesNotCount waits an hour for an approval in a call that may take a
// minute; time is the test's own.
func TestSuspendedTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.Config{Spares: -1})
		m, err := e.Load(t.Context(), asking(), engine.Limits{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		wait := func(suspended time.Duration, counted ...time.Duration) error {
			_, err := m.Call(t.Context(), engine.Call{Export: "call",
				Host: hostOf(func(ctx context.Context, in []byte) []byte {
					for _, d := range counted {
						time.Sleep(d)
						resume := engine.Suspend(ctx)
						inner := engine.Suspend(ctx)
						time.Sleep(suspended)
						inner()
						resume()
						resume()
					}
					return in
				})})
			return err
		}
		if err := wait(time.Hour, 20*time.Second, 20*time.Second); err != nil {
			t.Errorf("the time of an approval counted: %v", err)
		}
		want(t, wait(time.Hour, 40*time.Second, 40*time.Second), engine.Timeout, "1m0s")

		// The same in a call that was made by the host function of another.
		_, err = m.Call(t.Context(), engine.Call{Export: "call",
			Host: hostOf(func(ctx context.Context, in []byte) []byte {
				_, err := m.Call(ctx, engine.Call{Export: "call",
					Host: hostOf(func(ctx context.Context, in []byte) []byte {
						defer engine.Suspend(ctx)()
						time.Sleep(time.Hour)
						return in
					})})
				if err != nil {
					t.Errorf("the inner call: %v", err)
				}
				return in
			})})
		if err != nil {
			t.Errorf("the outer call: %v", err)
		}
	})
}

func TestCancelEndsASuspendedCall(t *testing.T) {
	m := load(t, asking(), engine.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Call(ctx, engine.Call{Export: "call", Host: hostOf(func(ctx context.Context, _ []byte) []byte {
		defer engine.Suspend(ctx)()
		cancel()
		<-ctx.Done()
		return nil
	})})
	want(t, err, engine.Cancelled, "stopped")
}

func TestSuspendOutsideOfACallDoesNothing(t *testing.T) {
	engine.Suspend(t.Context())()
}
