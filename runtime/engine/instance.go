package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// instance is one instance of a module with the state of the call that it serves. One
// goroutine at a time owns it; the owner closes it, never while a call is in it.
type instance struct {
	module *Module
	state  *abi.State
	guest  api.Module
	// globals are those that a reset sets.
	globals []api.MutableGlobal
	// function is the export that was called last, made anew since: the stack that a
	// call has grown goes with its function.
	export   string
	function api.Function
	stack    [2]uint64
	// used tells that a call was in it since it was reset.
	used bool
	// since is when the instance began to wait for a call.
	since time.Time
}

// instantiate makes an instance; the state's call, if it has one, is already set.
// The module's start function runs here, under ctx.
func (m *Module) instantiate(ctx context.Context, state *abi.State, limit uint64) (*instance, error) {
	if need := m.minBytes() + uint64(state.KernelBytes()); need > limit {
		return nil, &abi.Fault{Message: fmt.Sprintf("The module and its input need %d bytes of memory; the limit is %d.", need, limit)}
	}
	ctx = state.WithLinearMemory(state.Context(ctx), m.engine.space, m.maxBytes())
	m.engine.live.Add(1)
	m.made.Add(1)
	guest, err := m.runtime.InstantiateModule(ctx, m.compiled, state.ModuleConfig(m.engine.world))
	if err != nil {
		m.engine.live.Add(-1)
		if memory := state.Linear(); memory != nil {
			memory.Release()
		}
		return nil, err
	}
	i := &instance{module: m, state: state, guest: guest}
	if err := state.Attach(guest); err != nil {
		return nil, errors.Join(err, i.close(context.WithoutCancel(ctx)))
	}
	return i, nil
}

func (m *Module) minBytes() uint64 {
	if m.info.Memory == nil {
		return 0
	}
	return uint64(m.info.Memory.Min) * pageBytes
}

// maxBytes is the largest memory that an instance ever has: that of the limit, or less
// if the module declares less.
func (m *Module) maxBytes() uint64 {
	if m.info.Memory == nil || !m.info.Memory.HasMax {
		return m.limits.memoryBytes()
	}
	return min(m.limits.memoryBytes(), uint64(m.info.Memory.Max)*pageBytes)
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

// call calls an export of the guest, of at most two parameters and one result, and
// returns its result, 0 without one. A call that returns when its context is done did
// not do its work: it was woken from a sleep.
func (i *instance) call(ctx context.Context, export string, params ...uint64) (uint64, error) {
	if i.function == nil || i.export != export {
		i.export, i.function = export, i.guest.ExportedFunction(export)
	}
	i.stack = [2]uint64{}
	copy(i.stack[:], params)
	err := i.function.CallWithStack(i.state.Context(ctx), i.stack[:])
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	return i.stack[0], nil
}

// close frees the instance. No call is in it.
func (i *instance) close(ctx context.Context) error {
	err := i.guest.Close(ctx)
	if memory := i.state.Linear(); memory != nil {
		memory.Release()
	}
	i.module.engine.live.Add(-1)
	return err
}
