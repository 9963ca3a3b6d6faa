package engine

import (
	"context"
	"sync"
	"time"
)

// deadline is the wall time that a call may take. It is a timer of the engine's own and
// not that of a context, because it can stand still: while a person decides on an
// approval, the guest waits and nothing runs.
type deadline struct {
	now func() time.Time
	// outer is the deadline of the call that this call was made in, nil without one.
	outer *deadline

	// mu guards what follows.
	mu    sync.Mutex
	timer *time.Timer // nil once the call has ended
	// since is when the timer was set to left; held counts those who stopped it.
	since time.Time
	left  time.Duration
	held  int
}

type deadlineKey struct{}

// withDeadline returns a context that is done when the call's time is over (the cause is
// context.DeadlineExceeded), when the module is closed, and after end.
func (m *Module) withDeadline(ctx context.Context, timeout time.Duration) (_ context.Context, end func()) {
	outer, _ := ctx.Value(deadlineKey{}).(*deadline)
	ctx, cancel := context.WithCancelCause(ctx)
	d := &deadline{now: m.engine.config.Now, outer: outer, left: timeout}
	d.since = d.now()
	d.timer = time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	stop := context.AfterFunc(m.life, func() { cancel(context.Canceled) })
	return context.WithValue(ctx, deadlineKey{}, d), func() {
		stop()
		d.end()
		cancel(nil)
	}
}

// Suspend stops the clock of the call that ctx belongs to (the one that a HostFunc got),
// and of the calls that it was made in, until resume is called, which may be done more
// than once. A cancelled call still ends. Outside of a call it does nothing. It is safe
// for concurrent use.
func Suspend(ctx context.Context) (resume func()) {
	innermost, _ := ctx.Value(deadlineKey{}).(*deadline)
	for d := innermost; d != nil; d = d.outer {
		d.hold()
	}
	return sync.OnceFunc(func() {
		for d := innermost; d != nil; d = d.outer {
			d.release()
		}
	})
}

func (d *deadline) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held++
	if d.held == 1 && d.timer != nil && d.timer.Stop() {
		d.left -= d.now().Sub(d.since)
	}
}

func (d *deadline) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held--
	if d.held == 0 && d.timer != nil {
		d.since = d.now()
		d.timer.Reset(d.left)
	}
}

func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
	d.timer = nil
}
