package engine_test

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

// BenchmarkCall measures calls: in instances that are reset after each (pooled), made for
// each (fresh), or kept with all that calls leave behind (kept).
func BenchmarkCall(b *testing.B) {
	megabyte := bytes.Repeat([]byte("x"), 1<<20)
	cases := []struct {
		name   string
		wasm   []byte
		export string
		spares int
		kept   bool
		input  []byte
	}{
		{"tiny/pooled", asking(), "call", 1, false, []byte("x")},
		{"tiny/fresh", asking(), "call", -1, false, []byte("x")},
		{"go/pooled", goPlugin, "echo", 1, false, []byte("x")},
		{"go/pooled/1MB", goPlugin, "echo", 1, false, megabyte},
		{"go/fresh", goPlugin, "echo", -1, false, []byte("x")},
		{"go/fresh/1MB", goPlugin, "echo", -1, false, megabyte},
		{"go/kept", goPlugin, "echo", 1, true, []byte("x")},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			m, err := newEngine(b, engine.Config{Spares: c.spares, CacheDir: goCache}).Load(b.Context(), c.wasm,
				engine.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			call := m.Call
			if c.kept {
				kept := m.Keep()
				defer kept.Close(context.Background())
				call = kept.Call
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := call(b.Context(), engine.Call{Export: c.export, Input: c.input}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParallel measures isolated calls of the Go plugin on all processors.
func BenchmarkParallel(b *testing.B) {
	m, err := newEngine(b, engine.Config{CacheDir: goCache}).Load(b.Context(), goPlugin,
		engine.Limits{Concurrency: 2 * runtime.GOMAXPROCS(0)})
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := m.Call(b.Context(), engine.Call{Export: "echo", Input: []byte("x")}); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkLoad measures loading the Go plugin from the cache on disk.
func BenchmarkLoad(b *testing.B) {
	e := newEngine(b, engine.Config{CacheDir: goCache})
	for b.Loop() {
		m, err := e.Load(b.Context(), goPlugin, engine.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStop measures how long a pure loop goes on after it was stopped, while three
// others run on each processor. The median and the worst are reported.
func BenchmarkStop(b *testing.B) {
	m, err := newEngine(b, engine.Config{}).Load(b.Context(), spin(false),
		engine.Limits{Concurrency: 64, Timeout: time.Hour, Fuel: 1 << 60})
	if err != nil {
		b.Fatal(err)
	}
	background, end := context.WithCancel(b.Context())
	var others sync.WaitGroup
	for range 3 * runtime.GOMAXPROCS(0) {
		others.Go(func() { _, _ = m.Call(background, engine.Call{Export: "call"}) }) // it ends when it is stopped
	}
	var took []time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan time.Time)
		go func() {
			_, _ = m.Call(ctx, engine.Call{Export: "call"}) // as above
			ended <- time.Now()
		}()
		time.Sleep(time.Millisecond)
		begin := time.Now()
		cancel()
		took = append(took, (<-ended).Sub(begin))
	}
	end()
	others.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs-worst")
}

// BenchmarkSpin measures a hundred million instructions of a loop, with all that it costs
// to ask for their fuel.
func BenchmarkSpin(b *testing.B) {
	m, err := newEngine(b, engine.Config{}).Load(b.Context(), spin(false), engine.Limits{Fuel: 100_000_000})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.Call(b.Context(), engine.Call{Export: "call"}); err == nil {
			b.Fatal("the loop ended by itself")
		}
	}
}
