package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// instance is one instance of a module with the state of the one call that it
// serves. One goroutine at a time owns it; the owner closes it, never while a call
// is in it. (Resetting an instance for a second call would begin here.)
type instance struct {
	module *Module
	state  *abi.State
	guest  api.Module
}

// instantiate makes an instance; the state's call, if it has one, is already set.
// The module's start function runs here, under ctx.
func (m *Module) instantiate(ctx context.Context, state *abi.State, limit uint64) (*instance, error) {
	if need := m.minBytes() + uint64(state.MemoryBytes()); need > limit {
		return nil, &abi.Fault{Message: fmt.Sprintf("The module and its input need %d bytes of memory; the limit is %d.", need, limit)}
	}
	ctx = state.WithLinearMemory(state.Context(ctx))
	guest, err := m.runtime.InstantiateModule(ctx, m.compiled, state.ModuleConfig(m.engine.config.Random))
	if err != nil {
		return nil, err
	}
	if err := state.Attach(guest); err != nil {
		return nil, errors.Join(err, guest.Close(context.WithoutCancel(ctx)))
	}
	return &instance{module: m, state: state, guest: guest}, nil
}

func (m *Module) minBytes() uint64 {
	if m.info.Memory == nil {
		return 0
	}
	return uint64(m.info.Memory.Min) * pageBytes
}

// initialize runs the guest's own start-up: _initialize or else __wasm_call_ctors,
// and then Haskell's hs_init where there is one.
func (i *instance) initialize(ctx context.Context) error {
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		e, ok := i.module.info.Export(name, wasmbin.ExternFunc)
		if !ok || len(e.Type.Params) > 0 {
			continue
		}
		if _, err := i.call(ctx, name); err != nil {
			return err
		}
		break
	}
	if e, ok := i.module.info.Export("hs_init", wasmbin.ExternFunc); ok && e.Type.String() == hsInitType {
		_, err := i.call(ctx, "hs_init", 0, 0)
		return err
	}
	return nil
}

var hsInitType = wasmbin.FuncType{Params: []wasmbin.ValueType{wasmbin.I32, wasmbin.I32}}.String()

// call calls an export of the guest and returns its first result, 0 without one. A
// call that returns when its context is done did not do its work: it was woken from
// a sleep.
func (i *instance) call(ctx context.Context, export string, params ...uint64) (uint64, error) {
	results, err := i.guest.ExportedFunction(export).Call(i.state.Context(ctx), params...)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

func (i *instance) close(ctx context.Context) error { return i.guest.Close(ctx) }
