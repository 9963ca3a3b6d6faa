package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// Protocol is the tool protocol that a module speaks, as its exports show.
type Protocol string

// The protocols.
const (
	ToolsV2     Protocol = "tools.v2"     // list_tools and call_tool
	ToolsV1     Protocol = "tools.v1"     // describe and call
	WASICommand Protocol = "wasi-command" // _start
	Unknown     Protocol = "unknown"
)

// Import is one function that a module imports.
type Import struct {
	Module, Name string
	// Type is written as (i64) -> (i64).
	Type string
}

// Resettable reports whether calls share instances that are reset after each of them. It
// is known for sure once the module was called.
func (m *Module) Resettable() bool { return m.resettable.Load() && !m.spareless.Load() }

// Module is a compiled module. Each has a wazero runtime and a compilation cache of
// its own, so that closing it frees all that it took. It is safe for concurrent use.
type Module struct {
	engine   *Engine
	info     *summary
	limits   Limits
	sha256   string
	runtime  wazero.Runtime
	cache    wazero.CompilationCache // nil without a cache on disk
	compiled wazero.CompiledModule

	// places has one entry for each call that runs.
	places chan struct{}
	// life is done when running calls must end.
	life context.Context
	kill context.CancelFunc

	// made counts the instances that were ever made.
	made atomic.Int64
	pool pool
	// snapshot is what instances are reset to, nil until one was initialised.
	snapshot atomic.Pointer[snapshot]
	// resettable is cleared when initialisation shows that the module is not.
	resettable atomic.Bool
	// spareless is set when the module cannot be initialised ahead of a call.
	spareless atomic.Bool
	// wanted asks the keeper to look after the pool; it holds one request.
	wanted chan struct{}
	keeper sync.WaitGroup
	// recycling are resets and closings that follow a call.
	recycling sync.WaitGroup

	// mu guards closed, and calls.Add against calls.Wait.
	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	// gone is closed when Close has finished; closeErr is its result.
	gone     chan struct{}
	closeErr error
}

func newModule(e *Engine, info *summary, limits Limits, sum string) *Module {
	m := &Module{
		engine: e,
		info:   info,
		limits: limits,
		sha256: sum,
		places: make(chan struct{}, limits.Concurrency),
		pool:   pool{max: limits.Concurrency + e.config.Spares},
		wanted: make(chan struct{}, 1),
		gone:   make(chan struct{}),
	}
	m.life, m.kill = context.WithCancel(context.Background())
	if limits.Files {
		m.spareless.Store(true)
	}
	return m
}

// Protocol returns the protocol that the module's exports show.
func (m *Module) Protocol() Protocol { return m.info.protocol() }

// Speaks reports whether the module has the exports of a protocol; some have those of
// several.
func (m *Module) Speaks(p Protocol) bool { return m.info.speaks(p) }

// Imports returns the functions that the module imports, in its order.
func (m *Module) Imports() []Import {
	out := make([]Import, len(m.info.Imports))
	for i, im := range m.info.Imports {
		out[i] = Import{Module: im.Module, Name: im.Name, Type: im.Type.String()}
	}
	return out
}

// Exports returns the names of the functions that the module exports.
func (m *Module) Exports() []string {
	var out []string
	for _, e := range m.info.Exports {
		if e.Kind == wasmbin.ExternFunc {
			out = append(out, e.Name)
		}
	}
	return out
}

// SHA256 returns the hash of the module's original bytes, in hex.
func (m *Module) SHA256() string { return m.sha256 }

// Limits returns the limits that the module was loaded with, defaults filled in.
func (m *Module) Limits() Limits { return m.limits }

// Close refuses new calls with ErrClosed, waits for those that run, and frees the
// module. When ctx is done it cancels the calls and waits for them to end. A second
// Close waits for the first and returns its result.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	m.mu.Unlock()
	stop := context.AfterFunc(ctx, m.kill)
	defer stop()
	if !first {
		<-m.gone
		return m.closeErr
	}
	m.calls.Wait()
	m.kill()
	m.keeper.Wait()
	m.recycling.Wait()
	m.closeErr = m.release(context.WithoutCancel(ctx))
	m.engine.remove(m)
	close(m.gone)
	return m.closeErr
}

// abandon frees a module that was added to the engine and that nobody asked for any
// more. An engine that closes at the same time frees it too; one of them does it.
func (m *Module) abandon() {
	if err := m.Close(context.Background()); err != nil {
		m.engine.config.Logger.Warn("free an abandoned module", "module", m.sha256, "error", err)
	}
}

// release frees what the module has. No call is in an instance of it.
func (m *Module) release(ctx context.Context) error {
	var errs []error
	for _, i := range m.pool.empty() {
		errs = append(errs, i.close(ctx))
	}
	errs = append(errs, m.snapshot.Swap(nil).release())
	if m.compiled != nil {
		errs = append(errs, m.compiled.Close(ctx))
	}
	if m.runtime != nil {
		errs = append(errs, m.runtime.Close(ctx))
	}
	if m.cache != nil {
		errs = append(errs, m.cache.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("free a module: %w", err)
	}
	return nil
}

// enter registers a call. It returns ErrClosed after Close.
func (m *Module) enter() (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	m.calls.Add(1)
	return m.calls.Done, nil
}
