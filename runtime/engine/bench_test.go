package engine_test

import (
	"bytes"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

// BenchmarkCall measures isolated calls: each in an instance of its own, made ahead
// (spare) or within the call (fresh).
func BenchmarkCall(b *testing.B) {
	cases := []struct {
		name   string
		wasm   []byte
		export string
		spares int
		input  []byte
	}{
		{"tiny/spare", asking(), "call", 1, []byte("x")},
		{"tiny/fresh", asking(), "call", -1, []byte("x")},
		{"go/spare", goPlugin, "echo", 1, []byte("x")},
		{"go/fresh", goPlugin, "echo", -1, []byte("x")},
		{"go/fresh/1MB", goPlugin, "echo", -1, bytes.Repeat([]byte("x"), 1<<20)},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			m, err := newEngine(b, engine.Config{Spares: c.spares, CacheDir: goCache}).Load(b.Context(), c.wasm, engine.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Call(b.Context(), engine.Call{Export: c.export, Input: c.input}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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
