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
	// Limits narrows the module's limits for this call.
	Limits Limits
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

// Call runs one export of the module in an instance that no other call has seen.
// It returns a *CallError, or ErrClosed after Close. Duration, MemoryBytes and
// Fuel of the outcome are set whatever the error.
func (m *Module) Call(ctx context.Context, call Call) (Outcome, error) {
	begin := m.engine.config.Now()
	leave, err := m.enter()
	if err != nil {
		return Outcome{}, err
	}
	defer leave()
	var out Outcome
	err = m.serve(ctx, call, &out)
	out.Duration = m.engine.config.Now().Sub(begin)
	return out, err
}

// serve is one call from the wait for a place to the closed instance.
func (m *Module) serve(ctx context.Context, call Call, out *Outcome) error {
	if err := m.callable(call.Export); err != nil {
		return err
	}
	limits := m.limits.within(call.Limits)
	ctx, end := m.withDeadline(ctx, limits.Timeout)
	defer end()

	select {
	case m.places <- struct{}{}:
		defer func() { <-m.places }()
	case <-ctx.Done():
		return m.stopped(ctx, limits, "waited for a free place and")
	}
	if ctx.Err() != nil {
		return m.stopped(ctx, limits, "")
	}
	defer m.wantSpares()
	return m.run(ctx, call, limits, out)
}

// callable returns a MissingExport error unless the module exports the function
// with a type that can be called.
func (m *Module) callable(export string) error {
	e, ok := m.info.Export(export, wasmbin.ExternFunc)
	if !ok {
		return &CallError{Kind: MissingExport, Message: fmt.Sprintf("The module exports no function %q.", export)}
	}
	results := e.Type.Results
	if len(e.Type.Params) > 0 || len(results) > 1 || len(results) == 1 && results[0] != wasmbin.I32 && results[0] != wasmbin.I64 {
		return &CallError{Kind: MissingExport, Message: fmt.Sprintf(
			"The module exports %q with the type %s; a function that is called takes nothing and returns an i32.", export, e.Type)}
	}
	return nil
}

// run serves the call with an instance and closes it.
func (m *Module) run(ctx context.Context, call Call, limits Limits, out *Outcome) error {
	request := &abi.Call{
		Input: call.Input, Config: call.Config, Host: call.Host, HTTP: call.HTTP, Log: m.guardLog(call.Log),
		MemoryBytes: limits.memoryBytes(),
	}
	state, i, err := m.obtain(ctx, call.Export, request, limits.Fuel)
	var code uint64
	if err == nil {
		state.OpenAccount(limits.Fuel)
		code, err = i.call(ctx, call.Export)
	}
	state.Finish()
	out.MemoryBytes, out.Fuel = state.MemoryBytes(), state.Fuel()
	failure := m.judge(ctx, limits, call.Export, state, int32(code), err)
	if failure == nil || failure.Kind == GuestError {
		if length, read := state.Output(); length <= uint64(limits.OutputBytes) {
			out.Output = read()
		} else {
			failure = &CallError{Kind: OutputTooLarge, Message: fmt.Sprintf(
				"The plugin's output has %d bytes; the limit is %d. Return less, or in parts.", length, limits.OutputBytes)}
		}
	}
	if i != nil {
		if err := i.close(context.WithoutCancel(ctx)); err != nil {
			m.engine.config.Logger.Warn("close an instance", "module", m.sha256, "error", err)
		}
	}
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

// obtain returns an initialised instance for the call: a spare, or one made within
// the call. The state is returned whatever the error.
func (m *Module) obtain(ctx context.Context, export string, request *abi.Call, fuel int64) (*abi.State, *instance, error) {
	starts := export == "_start" || export == "_initialize"
	if !starts {
		select {
		case spare := <-m.spares:
			if err := spare.state.Begin(request); err != nil {
				return spare.state, spare, err
			}
			return spare.state, spare, nil
		default:
		}
	}
	state := abi.NewState(ctx, request.MemoryBytes, fuel)
	if err := state.Begin(request); err != nil {
		return state, nil, err
	}
	i, err := m.instantiate(ctx, state, request.MemoryBytes)
	if err != nil {
		return state, nil, err
	}
	if starts {
		return state, i, nil
	}
	return state, i, i.initialize(ctx)
}
