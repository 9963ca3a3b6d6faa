package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/reference"
)

// eachGuest measures one thing for the guest of each language. Output is looked at
// before anything is timed: both sides must do the work.
func (e effort) eachGuest(
	ctx context.Context, measure func(g guest, s *side) ([]Result, error),
) (all []Result, err error) {
	list, err := guests(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range list {
		s, err := e.sides(ctx, g.wasm, g.wasm, 0, engine.Limits{MemoryMiB: 256})
		if err != nil {
			return nil, fmt.Errorf("the guest in %s: %w", g.language, err)
		}
		err = s.same(ctx, "count", g.input)
		var results []Result
		if err == nil {
			results, err = measure(g, s)
		}
		if err = errors.Join(err, s.close(ctx)); err != nil {
			return nil, fmt.Errorf("the guest in %s: %w", g.language, err)
		}
		all = append(all, results...)
	}
	return all, nil
}

// warmCall is a small call in an instance that served calls before: small JSON in, whose
// text the guest reads, and small JSON out. With -bare the guest hands back what it got,
// which leaves the loader's own part, and with -decoding one in Go decodes and encodes by
// encoding/json, which leaves little but the guest's.
func (e effort) warmCall(ctx context.Context) ([]Result, error) {
	return e.eachGuest(ctx, func(g guest, s *side) (all []Result, err error) {
		for _, call := range []struct{ suffix, export string }{{"", "count"}, {"-bare", "echo"},
			{"-decoding", "decode"}} {
			if call.export == "decode" && g.language != "go" {
				continue
			}
			our, their, err := e.versus(ctx,
				func() error { return s.keptCall(ctx, call.export, g.input) },
				func() error { return s.warmCall(ctx, call.export, g.input) })
			if err != nil {
				return nil, err
			}
			all = append(all, micros(g.named("runtime/warm-call")+call.suffix, our, their))
		}
		return all, nil
	})
}

// isolatedCall is a small call that sees nothing of the one before: as tool calls are
// served, against a new instance of the reference.
func (e effort) isolatedCall(ctx context.Context) ([]Result, error) {
	return e.eachGuest(ctx, func(g guest, s *side) ([]Result, error) {
		our, their, err := e.versus(ctx,
			func() error { return s.isolatedCall(ctx, "count", g.input) },
			func() error { return s.freshCall(ctx, "count", g.input) })
		return []Result{micros(g.named("runtime/isolated-call"), our, their)}, err
	})
}

// bulk is 1 MB into the guest's memory, by whole blocks against 8-byte loads.
func (e effort) bulk(ctx context.Context) ([]Result, error) {
	blocks, loads, err := bulkGuest()
	if err != nil {
		return nil, err
	}
	s, err := e.sides(ctx, blocks, loads, 0, engine.Limits{})
	if err != nil {
		return nil, err
	}
	input := bytes.Repeat([]byte("12345678"), 1<<17)
	our, their, err := e.versus(ctx,
		func() error { return s.keptCall(ctx, "take", input) },
		func() error { return s.warmCall(ctx, "take", input) })
	if err = errors.Join(err, s.close(ctx)); err != nil {
		return nil, err
	}
	return []Result{micros("runtime/bulk-1mb", our, their)}, nil
}

// transfer is a block in and the same block out, by whole blocks and, with -loads, by the
// same 8-byte loads as under the reference.
func (e effort) transfer(ctx context.Context) (all []Result, err error) {
	blocks, loads, err := bulkGuest()
	if err != nil {
		return nil, err
	}
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1kb", 1 << 10}, {"100kb", 100 << 10}, {"1mb", 1 << 20}} {
		input := bytes.Repeat([]byte("12345678"), size.bytes/8)
		for _, way := range []struct {
			suffix string
			wasm   []byte
		}{{"", blocks}, {"-loads", loads}} {
			s, err := e.sides(ctx, way.wasm, loads, 0, engine.Limits{OutputBytes: 2 << 20})
			if err != nil {
				return nil, err
			}
			var our, their time.Duration
			if err = s.same(ctx, "echo", input); err == nil {
				our, their, err = e.versus(ctx,
					func() error { return s.keptCall(ctx, "echo", input) },
					func() error { return s.warmCall(ctx, "echo", input) })
			}
			if err = errors.Join(err, s.close(ctx)); err != nil {
				return nil, err
			}
			all = append(all, micros("runtime/transfer-"+size.name+way.suffix, our, their))
		}
	}
	return all, nil
}

// millis is a time in milliseconds beside that of another way to run the same.
func millis(name string, our time.Duration, reference string, their time.Duration) Result {
	return Result{Name: name, Value: our.Seconds() * 1e3, Unit: "ms"}.below(reference, their.Seconds()*1e3)
}

// What work with fuel is compared with: the same module without any way to stop it, and
// with the SDK's way, which is that of wazero.
const (
	unmetered = sdk + " without a timeout"
	checked   = sdk + " with a timeout"
)

// fuelTight is a loop with nothing but its counter.
func (e effort) fuelTight(ctx context.Context) ([]Result, error) {
	_, c, err := bulkGuest()
	if err != nil {
		return nil, err
	}
	return e.fuel(ctx, "runtime/fuel-tight", c, "tight")
}

// fuelMixed is work as plugins do it, in each language.
func (e effort) fuelMixed(ctx context.Context) (all []Result, err error) {
	list, err := guests(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range list {
		results, err := e.fuel(ctx, g.named("runtime/fuel-mixed"), g.wasm, "mixed")
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// fuel compares an export with fuel to the same without, and to the same with wazero's
// checks. A ratio of 0.8 means that fuel makes it 1.25 times as long.
func (e effort) fuel(ctx context.Context, name string, wasm []byte, export string) (all []Result, err error) {
	for _, other := range []struct {
		suffix, reference string
		timeout           time.Duration
	}{{"", unmetered, 0}, {"-stoppable", checked, 10 * time.Minute}} {
		s, err := e.sides(ctx, wasm, wasm, other.timeout,
			engine.Limits{MemoryMiB: 256, Fuel: 1 << 50, Timeout: time.Hour})
		if err != nil {
			return nil, err
		}
		our, their, err := e.versus(ctx,
			func() error { return s.keptCall(ctx, export, nil) },
			func() error { return s.warmCall(ctx, export, nil) })
		if err = errors.Join(err, s.close(ctx)); err != nil {
			return nil, err
		}
		all = append(all, millis(name+other.suffix, our, other.reference, their))
	}
	return all, nil
}

// coldStart is a module from its bytes to the first answer, with nothing compiled before
// and with compiled code in a cache on disk.
func (e effort) coldStart(ctx context.Context) (all []Result, err error) {
	e.rounds, e.round = (e.rounds+1)/2, 0
	list, err := guests(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bulkhead-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, g := range list {
		for _, suffix := range []string{"", "-cached"} {
			var ours, theirs string // no cache
			if suffix != "" {
				ours, theirs = filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
			}
			our, their, err := e.versus(ctx,
				func() error { return startOurs(ctx, g, ours) },
				func() error { return startTheirs(ctx, g, theirs) })
			if err != nil {
				return nil, err
			}
			all = append(all, millis(g.named("runtime/cold-start")+suffix, our, sdk, their))
		}
	}
	return all, nil
}

func startOurs(ctx context.Context, g guest, cache string) error {
	e, err := newEngine(ctx, engine.Config{CacheDir: cache})
	if err != nil {
		return err
	}
	m, err := e.Load(ctx, g.wasm, engine.Limits{})
	if err == nil {
		_, err = m.Call(ctx, engine.Call{Export: "count", Input: g.input})
	}
	return errors.Join(err, e.Close(ctx))
}

func startTheirs(ctx context.Context, g guest, cache string) error {
	m, err := reference.Load(ctx, reference.Config{WASM: g.wasm, CacheDir: cache})
	if err != nil {
		return err
	}
	i, err := m.Instance(ctx)
	if err == nil {
		err = i.Call(ctx, "count", g.input).Err
	}
	return errors.Join(err, m.Close(ctx))
}

// throughput is isolated calls on all cores at once.
func (e effort) throughput(ctx context.Context) ([]Result, error) {
	return e.eachGuest(ctx, func(g guest, s *side) ([]Result, error) {
		var rates [2][]time.Duration
		for range e.rounds {
			for i, call := range []func() error{
				func() error { return s.isolatedCall(ctx, "count", g.input) },
				func() error { return s.freshCall(ctx, "count", g.input) },
			} {
				perCall, err := onAllCores(e.round, call)
				if err != nil {
					return nil, err
				}
				rates[i] = append(rates[i], perCall)
			}
		}
		r := Result{Name: g.named("runtime/calls-per-second"), Value: 1 / median(rates[0]).Seconds(), Unit: "calls/s"}
		return []Result{r.against(sdk, 1/median(rates[1]).Seconds())}, nil
	})
}

// onAllCores calls on as many goroutines as there are cores for at least d, and returns
// the time that passes for each call.
func onAllCores(d time.Duration, call func() error) (time.Duration, error) {
	var (
		wg     sync.WaitGroup
		calls  atomic.Int64
		first  error
		failed sync.Once
	)
	begin := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for once := true; once || time.Since(begin) < d; once = false {
				if err := call(); err != nil {
					failed.Do(func() { first = err })
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	if first != nil {
		return 0, first
	}
	return time.Since(begin) / time.Duration(calls.Load()), nil
}

// idleInstances is how many instances of a module are made to see what one takes.
const idleInstances = 32

// idle is the memory of the machine that an instance takes which has served a call and
// waits for the next. It has no figure where the system does not tell the memory of a
// process.
func (e effort) idle(ctx context.Context) ([]Result, error) {
	if _, ok := resident(); !ok {
		return nil, nil
	}
	list, err := guests(ctx)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, g := range list {
		our, err := e.idleOurs(ctx, g)
		if err != nil {
			return nil, err
		}
		their, err := e.idleTheirs(ctx, g)
		if err != nil {
			return nil, err
		}
		all = append(all, Result{Name: g.named("runtime/idle-instance"), Value: our / 1024, Unit: "KiB"}.below(sdk,
			their/1024))
	}
	return all, nil
}

// idleOurs makes as many calls at once as instances are wanted, so that each has one.
func (e effort) idleOurs(ctx context.Context, g guest) (float64, error) {
	host, err := newEngine(ctx, engine.Config{CacheDir: e.ours()})
	if err != nil {
		return 0, err
	}
	m, err := host.Load(ctx, g.wasm, engine.Limits{Concurrency: idleInstances, MemoryMiB: 256})
	if err == nil {
		// The first call leaves what all instances share.
		_, err = m.Call(ctx, engine.Call{Export: "mixed"})
	}
	if err != nil {
		return 0, errors.Join(err, host.Close(ctx))
	}
	before := settled()
	var wg sync.WaitGroup
	errs := make([]error, idleInstances)
	for i := range errs {
		wg.Go(func() { _, errs[i] = m.Call(ctx, engine.Call{Export: "mixed"}) })
	}
	wg.Wait()
	taken := settled() - before
	return max(taken, 1) / (idleInstances - 1), errors.Join(errors.Join(errs...), host.Close(ctx))
}

func (e effort) idleTheirs(ctx context.Context, g guest) (float64, error) {
	m, err := reference.Load(ctx, reference.Config{WASM: g.wasm, CacheDir: e.theirs()})
	if err != nil {
		return 0, err
	}
	one := func() (*reference.Instance, error) {
		i, err := m.Instance(ctx)
		if err != nil {
			return nil, err
		}
		return i, i.Call(ctx, "mixed", nil).Err
	}
	kept := make([]*reference.Instance, idleInstances)
	if kept[0], err = one(); err != nil {
		return 0, errors.Join(err, m.Close(ctx))
	}
	before := settled()
	for i := 1; i < idleInstances && err == nil; i++ {
		kept[i], err = one()
	}
	taken := settled() - before
	runtime.KeepAlive(kept)
	return max(taken, 1) / (idleInstances - 1), errors.Join(err, m.Close(ctx))
}

// settled returns the resident memory once what is free was given back.
func settled() float64 {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	n, _ := resident()
	return float64(n)
}

// resident returns the memory of this process that is in the machine's memory, in bytes.
func resident() (int64, bool) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return 0, false
	}
	return pages * int64(os.Getpagesize()), true
}
