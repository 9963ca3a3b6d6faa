package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/reference"
)

// effort is how much is measured: the median of so many rounds, each of at least so long.
type effort struct {
	rounds int
	round  time.Duration
	// cacheDir keeps compiled code from one benchmark to the next; "" compiles each time.
	cacheDir string
}

const (
	fullRounds = 7
	fullRound  = 100 * time.Millisecond
)

// ours and theirs are the caches of our engine and of the reference.
func (e effort) ours() string   { return e.within("ours") }
func (e effort) theirs() string { return e.within("theirs") }

func (e effort) within(name string) string {
	if e.cacheDir == "" {
		return ""
	}
	return filepath.Join(e.cacheDir, name)
}

// sdk is the name of the reference of the runtime's benchmarks.
const sdk = "extism/go-sdk"

// versus times two works in turn, round by round, so that what else the machine does
// meets both, and returns the median time of each.
func (e effort) versus(ctx context.Context, ours, theirs func() error) (our, their time.Duration, err error) {
	var times [2][]time.Duration
	for _, work := range []func() error{ours, theirs} { // warm
		if err := work(); err != nil {
			return 0, 0, err
		}
	}
	for range e.rounds {
		for i, work := range []func() error{ours, theirs} {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			d, err := e.round1(work)
			if err != nil {
				return 0, 0, err
			}
			times[i] = append(times[i], d)
		}
	}
	return median(times[0]), median(times[1]), nil
}

// round1 returns the time that work takes in one round.
func (e effort) round1(work func() error) (time.Duration, error) {
	begin, n := time.Now(), 0
	for n == 0 || time.Since(begin) < e.round {
		if err := work(); err != nil {
			return 0, err
		}
		n++
	}
	return time.Since(begin) / time.Duration(n), nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// micros is a figure in microseconds that is compared with the reference's.
func micros(name string, our, their time.Duration) Result {
	return Result{Name: name, Value: our.Seconds() * 1e6, Unit: "µs"}.below(sdk, their.Seconds()*1e6)
}

// side is a module under our engine and under the reference.
type side struct {
	engine *engine.Engine
	ours   *engine.Module
	theirs *reference.Module
	kept   *engine.Kept
	warm   *reference.Instance
}

// sides loads a module under both. The caller closes them.
func (e effort) sides(
	ctx context.Context, ours, theirs []byte, timeout time.Duration, limits engine.Limits,
) (s *side, err error) {
	s = &side{}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w%s", err, s.closeText(ctx))
		}
	}()
	if s.engine, err = newEngine(ctx, engine.Config{CacheDir: e.ours()}); err != nil {
		return s, err
	}
	if s.ours, err = s.engine.Load(ctx, ours, limits); err != nil {
		return s, err
	}
	s.kept = s.ours.Keep()
	if s.theirs, err = reference.Load(ctx, reference.Config{WASM: theirs, Timeout: timeout,
		CacheDir: e.theirs()}); err != nil {
		return s, err
	}
	s.warm, err = s.theirs.Instance(ctx)
	return s, err
}

func newEngine(ctx context.Context, config engine.Config) (*engine.Engine, error) {
	config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	return engine.New(ctx, config)
}

// close frees what there is.
func (s *side) close(ctx context.Context) error {
	var errs []error
	if s.theirs != nil {
		errs = append(errs, s.theirs.Close(ctx))
	}
	if s.kept != nil {
		errs = append(errs, s.kept.Close(ctx))
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Close(ctx))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *side) closeText(ctx context.Context) string {
	if err := s.close(ctx); err != nil {
		return "; and " + err.Error()
	}
	return ""
}

// keptCall calls an export in the instance that is kept.
func (s *side) keptCall(ctx context.Context, export string, input []byte) error {
	_, err := s.kept.Call(ctx, engine.Call{Export: export, Input: input})
	return err
}

// warmCall calls an export in the reference's instance.
func (s *side) warmCall(ctx context.Context, export string, input []byte) error {
	return s.warm.Call(ctx, export, input).Err
}

// isolatedCall calls an export as a tool call does.
func (s *side) isolatedCall(ctx context.Context, export string, input []byte) error {
	_, err := s.ours.Call(ctx, engine.Call{Export: export, Input: input})
	return err
}

// freshCall calls an export in a new instance of the reference.
func (s *side) freshCall(ctx context.Context, export string, input []byte) error {
	i, err := s.theirs.Instance(ctx)
	if err != nil {
		return err
	}
	out := i.Call(ctx, export, input)
	if err := i.Close(ctx); err != nil {
		return err
	}
	return out.Err
}

// same fails unless both give the same output.
func (s *side) same(ctx context.Context, export string, input []byte) error {
	ours, err := s.kept.Call(ctx, engine.Call{Export: export, Input: input})
	if err != nil {
		return err
	}
	theirs := s.warm.Call(ctx, export, input)
	if theirs.Err != nil {
		return theirs.Err
	}
	if string(ours.Output) != string(theirs.Output) || len(ours.Output) == 0 {
		return fmt.Errorf("%s gives %.60q here and %.60q under %s", export, ours.Output, theirs.Output, sdk)
	}
	return nil
}
