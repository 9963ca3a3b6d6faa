package engine

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
)

// The keeper of a module makes instances ahead of their calls, once the module has been
// called, and closes those that nobody needs any more.

// startKeeper starts the keeper's goroutine; Close waits for it.
func (m *Module) startKeeper() {
	if m.engine.config.Spares == 0 || m.spareless.Load() {
		return
	}
	m.keeper.Go(func() {
		timer := time.NewTimer(m.engine.config.IdleAfter)
		defer timer.Stop()
		for {
			select {
			case <-m.life.Done():
				return
			case <-m.wanted:
			case <-timer.C:
			}
			m.fill()
			m.shed(timer)
		}
	})
}

// wake tells the keeper to look after the pool. It never blocks.
func (m *Module) wake() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// fill makes spares until there are enough or one fails. A failure is not reported
// here: the next call makes its own instance and reports it.
func (m *Module) fill() {
	for !m.spareless.Load() && m.life.Err() == nil && m.pool.reserve(m.engine.config.Spares) {
		ctx, cancel := context.WithTimeout(m.life, m.limits.Timeout)
		_, i, err := m.prepare(ctx)
		cancel()
		if err != nil {
			if i != nil {
				m.discard(i)
			}
			m.pool.fail()
			return
		}
		i.since = m.engine.config.Now()
		m.pool.arrive(i)
	}
}

// shed closes what has been idle for long, but for the spares, and sets the timer for
// what will have been.
func (m *Module) shed(timer *time.Timer) {
	now, after := m.engine.config.Now(), m.engine.config.IdleAfter
	old, next := m.pool.shed(m.engine.config.Spares, now.Add(-after))
	for _, i := range old {
		m.discard(i)
	}
	if !next.IsZero() {
		timer.Reset(max(next.Add(after).Sub(now), 0) + time.Millisecond)
	}
}

// discard closes an instance that nobody else owns.
func (m *Module) discard(i *instance) {
	if err := i.close(context.Background()); err != nil {
		m.engine.config.Logger.Warn("close an instance", "module", m.sha256, "error", err)
	}
}

// prepare makes an instance that is initialised and has served no call. The first one
// of a module that can be reset leaves the snapshot that all others get. It returns an
// error that is abi.ErrNeedsCall, and makes the module spareless, if only a call can
// initialise it. The state is returned whatever the error, and so is an instance that
// was made.
func (m *Module) prepare(ctx context.Context) (*abi.State, *instance, error) {
	state := abi.NewState(ctx, m.limits.memoryBytes(), m.limits.Fuel)
	i, err := m.instantiate(ctx, state, m.limits.memoryBytes())
	if err == nil {
		err = m.ready(ctx, i)
	}
	if errors.Is(err, abi.ErrNeedsCall) {
		m.spareless.Store(true)
	}
	return state, i, err
}

// ready initialises an instance, or makes it equal to one that was initialised.
func (m *Module) ready(ctx context.Context, i *instance) error {
	if s := m.snapshot.Load(); s != nil {
		if err := i.findGlobals(); err != nil {
			return err
		}
		return i.reset(s)
	}
	if err := i.initialize(ctx); err != nil {
		return err
	}
	if !m.resettable.Load() {
		return nil
	}
	s, err := i.snapshot()
	if err != nil {
		// Such a module still runs, each call in an instance of its own.
		m.resettable.Store(false)
		if !errors.Is(err, errUnfit) {
			m.engine.config.Logger.Warn("a module cannot be reset", "module", m.sha256, "error", err)
		}
		return nil
	}
	if !m.snapshot.CompareAndSwap(nil, s) {
		return s.release()
	}
	return nil
}

// recycle takes the instance of a call that has ended back. What has to be done is done
// after the call's reply, by whoever comes first: a goroutine that Close waits for, or the
// next call.
func (m *Module) recycle(i *instance, fit bool) {
	if fit && m.snapshot.Load() != nil {
		i.used = true
		m.pool.giveBack(i)
		m.recycling.Go(m.refresh)
		return
	}
	m.pool.expect()
	m.recycling.Go(func() {
		m.discard(i)
		m.pool.fail()
		m.wake()
	})
}

// refresh resets one instance that was used, if there still is one.
func (m *Module) refresh() {
	i := m.pool.takeUsed()
	if i == nil {
		return
	}
	if m.reset(i) {
		i.since = m.engine.config.Now()
		m.pool.arrive(i)
	} else {
		m.pool.fail()
	}
	m.wake()
}

// reset makes a used instance ready for a call. It closes one that it cannot reset, and
// one that would hold much memory while it waits.
func (m *Module) reset(i *instance) bool {
	err := i.reset(m.snapshot.Load())
	if err == nil && i.state.Linear().Held() <= mostHeld {
		i.used = false
		return true
	}
	if err != nil {
		m.engine.config.Logger.Warn("an instance cannot be reset", "module", m.sha256, "error", err)
	}
	m.discard(i)
	return false
}

// mostHeld is how much memory of the machine's an idle instance may hold beyond its
// module's snapshot. (Where memory is mapped it holds the pages that calls write to, a
// few megabytes at most; elsewhere all that it ever grew to.)
const mostHeld = 32 << 20
