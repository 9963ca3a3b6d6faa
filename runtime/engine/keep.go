package engine

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
)

// NumbersFunc serves an import of extism:host/user that takes and gives numbers and not
// blocks, as only the differential test has them.
type NumbersFunc = abi.NumbersFunc

// Kept is one instance that serves call after call with its memory, its globals and its
// variables as the call before left them, as the Extism SDK's instances do. It is for
// comparing with that SDK: a tool call never runs in one (host/rules checks who uses
// it). It is safe for concurrent use; its calls wait for each other.
type Kept struct {
	module *Module
	// Numbers returns the function behind an import that takes numbers, nil for one
	// that takes blocks. It is set before the first call.
	Numbers func(name string) NumbersFunc

	// mu guards what follows, and the instance while a call is in it.
	mu       sync.Mutex
	state    *abi.State
	instance *instance // nil before the first call
	ready    bool      // initialised
	closed   bool
	// variables are set at the begin of the next call.
	variables []variable
}

type variable struct {
	name  string
	value []byte
}

// Keep returns an instance that is kept until its Close, which must come before the
// module's. The first call makes and initialises it.
func (m *Module) Keep() *Kept { return &Kept{module: m} }

// Call runs one export, as Module.Call does but for what it keeps. After a trap, a stop
// or an exit the instance is used on, as the SDK does, unless it was closed by it.
func (k *Kept) Call(ctx context.Context, call Call) (Outcome, error) {
	m := k.module
	begin := time.Now()
	leave, err := m.enter()
	if err != nil {
		return Outcome{}, err
	}
	defer leave()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return Outcome{}, ErrClosed
	}
	var out Outcome
	err = k.serve(ctx, begin, call, &out)
	out.Duration = time.Since(begin)
	return out, err
}

// serve is one call within the deadline. The caller holds mu.
func (k *Kept) serve(ctx context.Context, begin time.Time, call Call, out *Outcome) error {
	m := k.module
	if err := m.callable(call.Export); err != nil {
		return err
	}
	limits := m.limits.within(call.Limits)
	deadline := m.withDeadline(ctx, begin, limits.Timeout)
	defer deadline.end()
	ctx = deadline
	request := &abi.Call{
		Input: call.Input, Config: call.Config, Host: call.Host, HTTP: call.HTTP, Log: m.guardLog(call.Log),
		Numbers: k.Numbers, MemoryBytes: limits.memoryBytes(), Mounts: call.Mounts,
	}
	code, err := k.run(ctx, call.Export, request, limits)
	state := k.state
	state.Finish()
	out.MemoryBytes, out.Fuel = state.MemoryBytes(), state.Fuel()
	failure := m.judge(ctx, limits, call.Export, state, int32(code), err)
	if failure == nil || failure.Kind == GuestError {
		out.Output = state.Output()
	}
	if failure != nil {
		return failure
	}
	return nil
}

func (k *Kept) run(ctx context.Context, export string, request *abi.Call, limits Limits) (uint64, error) {
	if k.instance == nil {
		k.state = abi.NewState(ctx, request.MemoryBytes, limits.Fuel)
		if err := k.state.Begin(request); err != nil {
			return 0, err
		}
		i, err := k.module.instantiate(ctx, k.state, request.MemoryBytes)
		if err != nil {
			return 0, err
		}
		k.instance = i
	} else if err := k.state.Continue(ctx, request); err != nil {
		return 0, err
	}
	for _, v := range k.variables {
		k.state.SetVariable(v.name, v.value)
	}
	k.variables = nil
	if !k.ready && export != "_start" && export != "_initialize" {
		if err := k.instance.initialize(ctx); err != nil {
			return 0, err
		}
		k.ready = true
	}
	k.state.OpenAccount(limits.Fuel)
	return k.instance.call(ctx, export)
}

// SetVariable sets a variable before the next call.
func (k *Kept) SetVariable(name string, value []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.variables = append(k.variables, variable{name, bytes.Clone(value)})
}

// Variable returns a copy of a variable of the instance, nil if it has none.
func (k *Kept) Variable(name string) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == nil {
		return nil
	}
	return k.state.Variable(name)
}

// Close closes the instance once no call is in it. A second Close does nothing.
func (k *Kept) Close(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.instance == nil {
		return nil
	}
	i := k.instance
	k.instance = nil
	return i.close(ctx)
}
