package engine

import "context"

// Lease is the right to call a module until Release: a Close that begins meanwhile waits
// for it. Who publishes a module and takes it back while others call it hands out leases,
// so that no call fails: whoever got the old one still finishes on it. It is safe for
// concurrent use.
type Lease struct {
	module  *Module
	release func()
}

// Lease returns a lease, or ErrClosed after Close. The caller releases it.
func (m *Module) Lease() (*Lease, error) {
	leave, err := m.enter()
	if err != nil {
		return nil, err
	}
	return &Lease{m, leave}, nil
}

// Module returns the module.
func (l *Lease) Module() *Module { return l.module }

// Call is Module.Call. It must not be used after Release.
func (l *Lease) Call(ctx context.Context, call Call) (Outcome, error) {
	return l.module.timed(ctx, call)
}

// Protocol is Module.Protocol.
func (l *Lease) Protocol() Protocol { return l.module.Protocol() }

// Speaks is Module.Speaks.
func (l *Lease) Speaks(p Protocol) bool { return l.module.Speaks(p) }

// Release ends the lease. It must be called once.
func (l *Lease) Release() { l.release() }
