package engine

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
)

// Spares are instances that are initialised and have served no call. They are made
// in the background once a module has been called, one at a time.

// startFilling starts the goroutine that makes spares; Close waits for it.
func (m *Module) startFilling() {
	if cap(m.spares) == 0 || m.spareless.Load() {
		return
	}
	m.filler.Go(func() {
		for {
			select {
			case <-m.life.Done():
				return
			case <-m.wanted:
				m.fill()
			}
		}
	})
}

// wantSpares asks for spares. It never blocks.
func (m *Module) wantSpares() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// fill makes spares until there are enough or one fails. A failure is not reported
// here: the next call makes its own instance and reports it.
func (m *Module) fill() {
	for len(m.spares) < cap(m.spares) && !m.spareless.Load() && m.life.Err() == nil {
		spare, err := m.prepare()
		if errors.Is(err, abi.ErrNeedsCall) {
			m.spareless.Store(true)
		}
		if err != nil {
			return
		}
		m.spares <- spare // only this goroutine sends, and there is room
	}
}

func (m *Module) prepare() (*instance, error) {
	ctx, cancel := context.WithTimeout(m.life, m.limits.Timeout)
	defer cancel()
	state := abi.NewState(ctx, m.limits.memoryBytes(), m.limits.Fuel)
	i, err := m.instantiate(ctx, state, m.limits.memoryBytes())
	if err != nil {
		return nil, err
	}
	if err := i.initialize(ctx); err != nil {
		return nil, errors.Join(err, i.close(context.WithoutCancel(ctx)))
	}
	return i, nil
}
