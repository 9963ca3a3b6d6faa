package engine

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
)

// source is where a call has its instance from.
type source interface {
	// begin returns an initialised instance that has the call. The state is returned
	// whatever the error; the instance too where there is one.
	begin(ctx context.Context, export string, request *abi.Call, fuel int64) (*abi.State, *instance, error)
	// end takes the instance back: nobody reads its state any more. fit tells that it
	// can serve another call.
	end(fit bool)
}

var (
	_ source = (*pooled)(nil)
	_ source = (*single)(nil)
)

// pooled is an instance of the pool, or the right to make one for it.
type pooled struct {
	module *Module
	i      *instance
}

func (p *pooled) begin(
	ctx context.Context, export string, request *abi.Call, fuel int64,
) (*abi.State, *instance, error) {
	m := p.module
	if p.i != nil && p.i.used && !m.reset(p.i) {
		p.i = nil
	}
	if p.i == nil {
		state, i, err := m.prepare(ctx)
		p.i = i
		if errors.Is(err, abi.ErrNeedsCall) {
			if i != nil {
				m.discard(i)
			}
			state, p.i, err = m.within(ctx, export, request, fuel)
			return state, p.i, err
		}
		if err != nil {
			state.Hear(request.Log)
			return state, p.i, err
		}
	}
	return p.i.state, p.i, p.i.state.Begin(request)
}

func (p *pooled) end(fit bool) {
	if p.i == nil {
		p.module.pool.drop()
		return
	}
	p.module.recycle(p.i, fit)
}

// single is an instance that is made within its call, and for it only.
type single struct {
	module *Module
	i      *instance
}

func (s *single) begin(
	ctx context.Context, export string, request *abi.Call, fuel int64,
) (state *abi.State, i *instance, err error) {
	state, s.i, err = s.module.within(ctx, export, request, fuel)
	return state, s.i, err
}

func (s *single) end(bool) {
	if s.i != nil {
		s.module.discard(s.i)
	}
}

// within makes an instance within the call. The state is returned whatever the error,
// and so is an instance that was made.
func (m *Module) within(
	ctx context.Context, export string, request *abi.Call, fuel int64,
) (*abi.State, *instance, error) {
	state := abi.NewState(ctx, request.MemoryBytes, fuel)
	if err := state.Begin(request); err != nil {
		return state, nil, err
	}
	i, err := m.instantiate(ctx, state, request.MemoryBytes)
	if err != nil || starts(export) {
		return state, i, err
	}
	return state, i, i.initialize(ctx)
}

// starts reports whether an export is itself what initialises an instance.
func starts(export string) bool { return export == "_start" || export == "_initialize" }
