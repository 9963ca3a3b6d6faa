// Package engine runs untrusted WebAssembly modules: it checks, compiles and keeps
// them, and serves each call with an instance that no other call has seen.
//
// Module bytes, limits and, per call, an input and hooks come in; an output or a
// typed error goes out, within the limits of memory, wall time, output and
// concurrency. A module has nothing but what the hooks give it: no files, no
// sockets, no environment.
//
// It must not know what a tool, a manifest or a grant is. It is the only package
// beside abi that knows wazero.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/linear"
)

// ErrClosed is returned when an engine or a module is used after its Close.
var ErrClosed = errors.New("the module is closed")

// Config is the configuration of an Engine.
type Config struct {
	// CacheDir is where compiled code is kept, in a folder per module. It is created
	// with mode 0700: what is in it is executed. "" keeps compiled code in memory.
	CacheDir string
	// CacheBytes is how much compiled code is kept on disk, in bytes; what was used least
	// recently goes first, and what was compiled last always stays. 0 means 1 GiB, a
	// negative number any amount.
	CacheBytes int64
	// Spares is the number of instances beside those that run a call that each module
	// keeps ready once it has been called. 0 means 1; a negative number means that each
	// call makes its own.
	Spares int
	// IdleAfter is how long an instance beyond the spares waits for a call before it is
	// closed. 0 means a minute.
	IdleAfter time.Duration
	// Logger receives what is only for the operator. nil means slog.Default().
	Logger *slog.Logger
	// Now is the clock that guests see, and by which instances and the cache's entries
	// grow old. What a call takes and may take is measured by the machine's own. nil means
	// time.Now.
	Now func() time.Time
	// Random is what guests get random bytes from; it must be safe for concurrent
	// use. nil means crypto/rand.
	Random io.Reader
}

// Engine compiles and runs modules. It is safe for concurrent use.
type Engine struct {
	config Config
	cache  *cache // nil without a CacheDir
	space  *linear.Space
	world  abi.World
	// live is the number of instances that there are.
	live atomic.Int64
	// compiling has one place: one module is compiled at a time.
	compiling chan struct{}

	// mu guards what follows.
	mu      sync.Mutex
	closed  bool
	modules map[*Module]struct{}
	loads   sync.WaitGroup
}

// features is the one set of WebAssembly features that every module is compiled
// with: version 2.0, without threads, exceptions, tail calls and extended
// constants.
const features = api.CoreFeaturesV2

// New returns an engine. It fails if the cache's folder cannot be made private.
func New(_ context.Context, config Config) (*Engine, error) {
	switch {
	case config.Spares == 0:
		config.Spares = 1
	case config.Spares < 0:
		config.Spares = 0
	}
	if config.CacheBytes == 0 {
		config.CacheBytes = 1 << 30
	}
	if config.IdleAfter <= 0 {
		config.IdleAfter = time.Minute
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	e := &Engine{
		config: config, space: linear.NewSpace(), compiling: make(chan struct{}, 1), modules: map[*Module]struct{}{},
		world: abi.World{Now: config.Now, Start: config.Now(), Random: config.Random},
	}
	if config.CacheDir != "" {
		c, err := openCache(config.CacheDir, config.CacheBytes, config.Now)
		if err != nil {
			return nil, fmt.Errorf("open the cache of compiled modules: %w", err)
		}
		e.cache = c
	}
	return e, nil
}

// runtimeConfig returns the configuration that every module's runtime has. Calls are
// ended by fuel: WithCloseOnContextDone stays off, which costs loops far more.
func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(features).
		WithDebugInfoEnabled(false).
		WithCustomSections(false)
}

// Close closes every module, as Module.Close does, and waits for loads to end.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	modules := make([]*Module, 0, len(e.modules))
	for m := range e.modules {
		modules = append(modules, m)
	}
	e.mu.Unlock()
	e.loads.Wait()

	errs := make([]error, len(modules))
	var wg sync.WaitGroup
	for i, m := range modules {
		wg.Go(func() { errs[i] = m.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(append(errs, e.space.Close())...)
}

// begin registers a load. It returns ErrClosed after Close.
func (e *Engine) begin() (end func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	e.loads.Add(1)
	return e.loads.Done, nil
}

// add keeps a loaded module. It returns false after Close.
func (e *Engine) add(m *Module) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.modules[m] = struct{}{}
	return true
}

func (e *Engine) remove(m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.modules, m)
}
