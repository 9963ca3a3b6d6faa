//go:build !race

// Under the race detector the compiler of Wasm takes minutes; nothing is compared here
// that it could find.

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRuntimeBenchmarksMeasureBothSides runs each with the least effort. The figures mean
// nothing, but each is there with its reference, and both sides gave the same output.
func TestRuntimeBenchmarksMeasureBothSides(t *testing.T) {
	var names []string
	for _, b := range runtimeBenchmarks(effort{rounds: 1, round: time.Microsecond, cacheDir: t.TempDir()}) {
		results, err := b.run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		if _, ok := resident(); len(results) == 0 && (ok || b.name != "runtime/idle-instance") {
			t.Errorf("%s has no figure", b.name)
		}
		for _, r := range results {
			names = append(names, r.Name)
			if !strings.HasPrefix(r.Name, b.name) || r.Value <= 0 || r.Unit == "" || r.Reference == nil ||
				*r.ReferenceValue <= 0 || *r.Ratio <= 0 {
				t.Errorf("%s: %+v", b.name, r)
			}
		}
	}
	for _, want := range []string{"runtime/warm-call", "runtime/isolated-call-rust", "runtime/bulk-1mb",
		"runtime/transfer-100kb",
		"runtime/fuel-tight", "runtime/fuel-mixed-c", "runtime/cold-start-cached", "runtime/calls-per-second"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %v", want, names)
		}
	}
}
