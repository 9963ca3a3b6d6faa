// Package bench measures the host on the machine that it runs on: each figure is
// a median of several rounds, beside its reference from the same run where there
// is one. Names of benchmarks come in, results go out.
//
// It measures through the exported API of the rooms, and must not know how they
// work inside.
package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Result is one figure.
type Result struct {
	// Name is the benchmark, such as "parse/prose".
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Unit is what Value and ReferenceValue count, such as "MB/s" (10⁶ bytes).
	Unit string `json:"unit"`
	// Reference names what Value is compared with; nil where there is nothing.
	Reference      *string  `json:"reference"`
	ReferenceValue *float64 `json:"reference_value"`
	// Ratio is greater than 1 where we are better than the reference.
	Ratio *float64 `json:"ratio"`
}

// against sets the reference of a figure of which more is better.
func (r Result) against(name string, value float64) Result {
	ratio := r.Value / value
	r.Reference, r.ReferenceValue, r.Ratio = &name, &value, &ratio
	return r
}

// benchmark measures one or more figures.
type benchmark struct {
	name string
	run  func(ctx context.Context) ([]Result, error)
}

// all returns the benchmarks, in the order in which they run.
func all(e effort) []benchmark {
	return append(runtimeBenchmarks(e), hostBenchmarks...)
}

// hostBenchmarks are those of the host.
var hostBenchmarks = []benchmark{
	{"parse/prose", parseProse},
	{"parse/code", parseCode},
	{"parse/one-call", parseOneCall},
	{"parse/growth", parseGrowth},
	{"loop/token-latency", loopTokenLatency},
	{"loop/token-allocations", loopTokenAllocs},
}

// runtimeBenchmarks are those of the runtime against the reference. Most give a figure for
// each of three languages, with the language at the end of the name.
func runtimeBenchmarks(e effort) []benchmark {
	return []benchmark{
		{"runtime/warm-call", e.warmCall},
		{"runtime/isolated-call", e.isolatedCall},
		{"runtime/calls-per-second", e.throughput},
		{"runtime/bulk-1mb", e.bulk},
		{"runtime/transfer", e.transfer},
		{"runtime/fuel-tight", e.fuelTight},
		{"runtime/fuel-mixed", e.fuelMixed},
		{"runtime/cold-start", e.coldStart},
		{"runtime/idle-instance", e.idle},
	}
}

// Names returns the names of all benchmarks.
func Names() []string {
	var names []string
	for _, b := range all(effort{}) {
		names = append(names, b.name)
	}
	return names
}

// Run runs the benchmarks that names ask for, each a name or a group such as
// "parse", all without names, and hands each figure to report as it comes. It
// returns an error for a name that nothing has, before anything runs, and
// ctx.Err() between two benchmarks.
func Run(ctx context.Context, names []string, report func(Result)) error {
	dir, err := os.MkdirTemp("", "bulkhead-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	benchmarks := all(effort{rounds: fullRounds, round: fullRound, cacheDir: dir})
	for _, name := range names {
		if !slices.ContainsFunc(benchmarks, func(b benchmark) bool { return b.is(name) }) {
			return fmt.Errorf("there is no benchmark %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, b := range benchmarks {
		if len(names) > 0 && !slices.ContainsFunc(names, b.is) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		results, err := b.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		for _, r := range results {
			report(r)
		}
	}
	return nil
}

func (b benchmark) is(name string) bool {
	return name == b.name || strings.HasPrefix(b.name, strings.TrimSuffix(name, "/")+"/")
}

const (
	// rounds is how many times each work is timed; the median counts.
	rounds = 5
	// roundTime is how long a round takes at least.
	roundTime = 200 * time.Millisecond
)

// timed returns the median time that work takes, and how often it allocates.
func timed(work func()) (perRun time.Duration, allocs float64) {
	work() // the first run warms caches and lazily built tables
	times := make([]time.Duration, rounds)
	var runs, allocated uint64
	for i := range times {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin, n := time.Now(), 0
		for n == 0 || time.Since(begin) < roundTime {
			work()
			n++
		}
		times[i] = time.Since(begin) / time.Duration(n)
		runtime.ReadMemStats(&after)
		runs += uint64(n)
		allocated += after.Mallocs - before.Mallocs
	}
	slices.Sort(times)
	return times[rounds/2], float64(allocated) / float64(runs)
}

// speed is size bytes in the time d, in MB/s.
func speed(size int, d time.Duration) float64 { return float64(size) / 1e6 / d.Seconds() }
