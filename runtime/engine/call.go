package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// HostFunc serves one import of extism:host/user: one block in, one block out. It
// runs on the call's goroutine, owns in, and must return when ctx is done.
type HostFunc = abi.HostFunc

// HTTPFunc serves Extism's http_request. A response with status 0 is a denial.
type HTTPFunc = abi.HTTPFunc

// HTTPRequest is what a guest asks for by http_request.
type HTTPRequest = abi.HTTPRequest

// HTTPResponse is what a guest gets from http_request.
type HTTPResponse = abi.HTTPResponse

// Call is one call of an exported function.
type Call struct {
	// Export is the name of the function, of the type () -> i32 or () -> ().
	Export string
	// Input is the call's input. It is copied.
	Input []byte
	// Config is what config_get answers from.
	Config map[string]string
	// Host returns the function behind an import of extism:host/user. Where it
	// returns nil, or is nil, the guest gets {"error":{"kind":"denied",…}}.
	Host func(name string) HostFunc
	// HTTP serves http_request; nil denies it, with status 0 and an empty body.
	HTTP HTTPFunc
	// Log receives log lines, stdout (as info) and stderr (as warn), on the call's
	// goroutine. level is trace, debug, info, warn or error. nil drops them.
	Log func(level, message string)
	// Mounts are files that WASI shows, to a module that was loaded with Limits.Files.
	Mounts []Mount
	// Limits narrows the module's limits for this call.
	Limits Limits

	command *abi.Command // for Run
}

// Outcome is the result of a call.
type Outcome struct {
	// Output is the guest's output. After a GuestError it is what the guest set
	// before.
	Output []byte
	// Duration is the wall time, waiting for a place included.
	Duration time.Duration
	// MemoryBytes is the largest linear and kernel memory that the call took.
	MemoryBytes int64
	// Fuel is what the call spent: the number of instructions, and the sizes of
	// operations on ranges. The same module and input spend the same. Initialisation is
	// not part of it.
	Fuel int64
}

// Call runs one export of the module in an instance that is as if no other call had
// seen it. It returns a *CallError, or ErrClosed after Close. Duration, MemoryBytes and
// Fuel of the outcome are set whatever the error.
func (m *Module) Call(ctx context.Context, call Call) (Outcome, error) {
	leave, err := m.enter()
	if err != nil {
		return Outcome{}, err
	}
	defer leave()
	return m.timed(ctx, call)
}

// timed is a call that is registered.
func (m *Module) timed(ctx context.Context, call Call) (Outcome, error) {
	begin := time.Now()
	var out Outcome
	err := m.serve(ctx, begin, call, &out)
	out.Duration = time.Since(begin)
	return out, err
}

// serve is one call from the wait for a place to the instance that is given back.
func (m *Module) serve(ctx context.Context, begin time.Time, call Call, out *Outcome) error {
	if err := m.callable(call.Export); err != nil {
		return err
	}
	limits := m.limits.within(call.Limits)
	deadline := m.withDeadline(ctx, begin, limits.Timeout)
	defer deadline.end()
	ctx = deadline

	if !m.place(ctx) {
		return m.stopped(ctx, limits, waited)
	}
	defer func() { <-m.places }()
	if ctx.Err() != nil {
		return m.stopped(ctx, limits, "")
	}
	var from source = &single{module: m}
	if m.pooled(call.Export) {
		i, err := m.pool.take(ctx)
		if err != nil {
			return m.stopped(ctx, limits, waited)
		}
		m.wake()
		from = &pooled{m, i}
	}
	return m.run(ctx, call, limits, out, from)
}

// place waits for one of the places for calls. It returns false when ctx is done.
func (m *Module) place(ctx context.Context) bool {
	select {
	case m.places <- struct{}{}:
		return true
	default: // asking for Done has a price
	}
	select {
	case m.places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

const waited = "waited for a free place and"

// pooled reports whether a call is served by an instance of the pool.
func (m *Module) pooled(export string) bool {
	return m.engine.config.Spares > 0 && !m.spareless.Load() && !starts(export)
}

// callable returns a MissingExport error unless the module exports the function
// with a type that can be called.
func (m *Module) callable(export string) error {
	e, ok := m.info.Export(export, wasmbin.ExternFunc)
	if !ok {
		return &CallError{Kind: MissingExport, Message: fmt.Sprintf("The module exports no function %q.", export)}
	}
	results := e.Type.Results
	if len(e.Type.Params) > 0 || len(results) > 1 || len(results) == 1 && results[0] != wasmbin.I32 &&
		results[0] != wasmbin.I64 {
		return &CallError{Kind: MissingExport, Message: fmt.Sprintf(
			"The module exports %q with the type %s; a function that is called takes nothing and returns an i32.",
			export, e.Type)}
	}
	return nil
}

// run serves the call with an instance of the source.
func (m *Module) run(ctx context.Context, call Call, limits Limits, out *Outcome, from source) error {
	request := &abi.Call{
		Input: call.Input, Config: call.Config, Host: call.Host, HTTP: call.HTTP, Log: m.guardLog(call.Log),
		MemoryBytes: limits.memoryBytes(), Mounts: call.Mounts, Command: call.command,
	}
	state, i, err := from.begin(ctx, call.Export, request, limits.Fuel)
	var code uint64
	if err == nil {
		state.OpenAccount(limits.Fuel)
		code, err = i.call(ctx, call.Export)
	}
	fit := err == nil && !i.guest.IsClosed()
	state.Finish()
	out.MemoryBytes, out.Fuel = state.MemoryBytes(), state.Fuel()
	failure := m.judge(ctx, limits, call.Export, state, int32(code), err)
	if failure == nil || failure.Kind == GuestError {
		if length := state.OutputBytes(); length <= uint64(limits.OutputBytes) {
			out.Output = state.Output()
		} else {
			failure = &CallError{Kind: OutputTooLarge, Message: fmt.Sprintf(
				"The plugin's output has %d bytes; the limit is %d. Return less, or in parts.", length,
				limits.OutputBytes)}
		}
	}
	from.end(fit)
	if failure != nil {
		return failure
	}
	return nil
}

// guardLog wraps a log hook so that a panic in it loses a line and nothing else: it
// also runs outside of the guest.
func (m *Module) guardLog(log func(level, message string)) func(level, message string) {
	if log == nil {
		return nil
	}
	return func(level, message string) {
		defer func() {
			if v := recover(); v != nil {
				m.engine.config.Logger.Error("a log hook panicked", "module", m.sha256, "panic", v)
			}
		}()
		log(level, message)
	}
}
