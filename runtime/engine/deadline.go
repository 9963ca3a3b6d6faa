package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// deadline is the context of one call: the caller's, with the wall time that the call may
// take and the life of its module. It keeps its own time and not that of a context,
// because its clock can stand still: while a person decides on an approval, the guest
// waits and nothing runs.
//
// Most calls are over in microseconds and wait for nothing. So the timer and the
// registrations that wake one that waits are made when somebody first asks for Done, which
// the state of a call does once it has gone on for a while; until then only the caller and
// the module end it.
type deadline struct {
	// Context is the caller's.
	context.Context
	module *Module
	// outer is the deadline of the call that this call was made in, nil without one.
	outer *deadline

	// armed is what Done and Err answer from, nil until somebody asks for Done or the call
	// ends. It is set once, under mu.
	armed atomic.Pointer[armed]

	// mu guards what follows.
	mu sync.Mutex
	// timer runs while the deadline is armed and its clock does not stand still.
	timer *time.Timer
	// since is when the clock went on with left to go; held counts those who stopped it.
	since time.Time
	left  time.Duration
	held  int
	ended bool
}

// armed is a context that wakes those who wait.
type armed struct {
	context.Context
	cancel context.CancelCauseFunc
	// stop ends the watch over the module's life.
	stop func() bool
}

// over is the context of the calls that ended before anybody asked for Done.
var over = func() *armed {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(nil)
	return &armed{ctx, cancel, func() bool { return false }}
}()

var _ context.Context = (*deadline)(nil)

type deadlineKey struct{}

// withDeadline returns a context that is done when timeout has passed since begin (the
// cause is context.DeadlineExceeded), when the module is closed, and after end, which
// must be called.
func (m *Module) withDeadline(ctx context.Context, begin time.Time, timeout time.Duration) *deadline {
	outer, _ := ctx.Value(deadlineKey{}).(*deadline)
	return &deadline{Context: ctx, module: m, outer: outer, since: begin, left: timeout}
}

// Value implements context.Context.
func (d *deadline) Value(key any) any {
	if key == (deadlineKey{}) {
		return d
	}
	if a := d.armed.Load(); a != nil {
		// Contexts that are derived from this one find by a key of the standard
		// library's own what cancels them.
		if v := a.Value(key); v != nil {
			return v
		}
	}
	return d.Context.Value(key)
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.arm().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	if a := d.armed.Load(); a != nil {
		return a.Err()
	}
	if d.module.life.Err() != nil {
		a := d.arm()
		a.cancel(context.Canceled)
		return a.Err()
	}
	return d.Context.Err()
}

// arm returns what wakes those who wait.
func (d *deadline) arm() *armed {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.armed.Load(); a != nil {
		return a
	}
	ctx, cancel := context.WithCancelCause(d.Context)
	a := &armed{ctx, cancel, context.AfterFunc(d.module.life, func() { cancel(context.Canceled) })}
	d.armed.Store(a)
	if d.held == 0 {
		d.start(a, d.left-time.Since(d.since))
	}
	return a
}

// start sets the timer. The caller holds mu.
func (d *deadline) start(a *armed, left time.Duration) {
	if left <= 0 {
		a.cancel(context.DeadlineExceeded)
		return
	}
	d.timer = time.AfterFunc(left, func() { a.cancel(context.DeadlineExceeded) })
}

// end makes the context done, and frees what it has.
func (d *deadline) end() {
	d.mu.Lock()
	d.ended = true
	a := d.armed.Load()
	if a == nil {
		d.armed.Store(over)
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.mu.Unlock()
	if a != nil {
		a.stop()
		a.cancel(nil)
	}
}

// hold stops the clock until release was called as often.
func (d *deadline) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held++
	if d.held == 1 && (d.timer == nil || d.timer.Stop()) {
		d.left -= time.Since(d.since)
	}
}

func (d *deadline) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held--
	if d.held > 0 || d.ended {
		return
	}
	d.since = time.Now()
	if a := d.armed.Load(); a != nil {
		d.start(a, d.left)
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
