package meter

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// loops is a module with loops of different bodies, each exported as a function that
// takes the number of rounds.
func loops() []byte {
	var m w.Module
	m.Memory(1)
	round := func(name string, parts ...[]byte) {
		body := []byte{1, 1, byte(wasmbin.I32)}
		body = append(body, w.Loop...)
		for _, p := range parts {
			body = append(body, p...)
		}
		body = append(body, w.Get(0)...)
		body = append(body, w.Const32(1)...)
		body = append(body, 0x6b) // sub
		body = append(body, 0x22, 0)
		body = append(body, w.AgainIf...)
		body = append(body, w.End...)
		body = append(body, w.Get(1)...)
		body = append(body, 0x0b)
		m.Export(name, wasmbin.ExternFunc, m.Function(w.Types{w.I32}, w.Types{w.I32}, body))
	}
	// nothing but the counter
	round("empty")
	// sum = sum*31 + n
	round("sum", w.Get(1), w.Const32(31), []byte{0x6c}, w.Get(0), []byte{0x6a}, w.Set(1))
	// memory[n&0xfff] += n
	round("bytes", w.Get(0), w.Const32(0xfff), []byte{0x71}, w.Get(0), w.Const32(0xfff), []byte{0x71}, w.Load32,
		w.Get(0), []byte{0x6a}, w.Store32)
	// two paths
	round("branch", w.Get(0), w.Const32(1), []byte{0x71}, []byte{0x04, 0x40}, w.Get(1), w.Get(0), []byte{0x6a},
		w.Set(1),
		[]byte{0x05}, w.Get(1), w.Const32(3), []byte{0x6c}, w.Set(1), w.End)
	leaf := m.Function(w.Types{w.I32, w.I32}, w.Types{w.I32}, []byte{0, 0x20, 0, 0x41, 31, 0x6c, 0x20, 1, 0x6a, 0x0b})
	round("call", w.Get(1), w.Get(0), w.Call(leaf), w.Set(1))
	return m.Bytes()
}

// BenchmarkFuel runs the same functions without and with fuel in turn. The ratio of the
// best times is what metering costs.
func BenchmarkFuel(b *testing.B) {
	hand := loops()
	cases := []struct {
		name   string
		wasm   []byte
		export string
		rounds uint64
	}{
		{"empty", hand, "empty", 1_000_000},
		{"sum", hand, "sum", 1_000_000},
		{"bytes", hand, "bytes", 1_000_000},
		{"branch", hand, "branch", 1_000_000},
		{"call", hand, "call", 1_000_000},
		{"hash", mixed, "hash", 50},
		{"documents", mixed, "documents", 20},
		{"words", mixed, "words", 5},
	}
	guests := map[*byte][2]*guest{}
	for _, wasm := range [][]byte{hand, mixed} {
		guests[&wasm[0]] = [2]*guest{run(b, wasm, true, plenty), run(b, instrument(b, wasm, Options{}), true, plenty)}
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			var best [2]time.Duration
			for b.Loop() {
				for i, g := range guests[&c.wasm[0]] {
					begin := time.Now()
					if _, err := g.ExportedFunction(c.export).Call(context.Background(), c.rounds); err != nil {
						b.Fatal(err)
					}
					if took := time.Since(begin); best[i] == 0 || took < best[i] {
						best[i] = took
					}
				}
			}
			b.ReportMetric(float64(best[1])/float64(best[0]), "ratio")
			b.ReportMetric(float64(best[0])/1e6, "plain-ms")
			b.ReportMetric(float64(best[1])/1e6, "fuel-ms")
		})
	}
}

// BenchmarkInstrument measures validation and rewriting of a Go module.
func BenchmarkInstrument(b *testing.B) {
	limits := wasmbin.DefaultLimits()
	b.SetBytes(int64(len(mixed)))
	for b.Loop() {
		info, err := wasmbin.Read(mixed, limits)
		if err == nil {
			_, err = Instrument(mixed, info, Options{})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile measures what fuel adds to the compiler's work, and to the size of the
// module.
func BenchmarkCompile(b *testing.B) {
	rewritten := instrument(b, mixed, Options{})
	var best [2]time.Duration
	for b.Loop() {
		for i, wasm := range [][]byte{mixed, rewritten} {
			rt := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfigCompiler())
			begin := time.Now()
			if _, err := rt.CompileModule(b.Context(), wasm); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(begin); best[i] == 0 || took < best[i] {
				best[i] = took
			}
			if err := rt.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(best[1])/float64(best[0]), "ratio")
	b.ReportMetric(float64(best[0])/1e6, "plain-ms")
	b.ReportMetric(float64(len(rewritten))/float64(len(mixed)), "size-ratio")
}
