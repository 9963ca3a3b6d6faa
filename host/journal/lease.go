package journal

import (
	"context"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Lease makes its holder a run's only writer. It is safe for concurrent use. It
// ends when the run is sealed or abandoned, and with the process.
type Lease struct {
	local *Local
	log   *liveLog
}

var _ packet.Sink = (*Lease)(nil)

// Position is a place in a journal.
type Position struct {
	local *Local
	log   *liveLog
	at    mark
	// lost says that what was appended came after the end.
	lost bool
}

// Number is how many records stand up to the position.
func (p Position) Number() int64 { return p.at.position() }

// Durable waits until the records up to the position survive a crash. It returns
// ErrLost where the lease ended before, ErrClosed where the Local did, and
// ctx.Err() when ctx is done first.
func (p Position) Durable(ctx context.Context) error {
	for {
		p.local.mu.Lock()
		written, ended, flushed := p.log.written, p.log.ended, p.log.flushed
		p.local.mu.Unlock()
		switch {
		case !p.lost && written.reaches(p.at):
			return nil
		case ended != nil:
			return ended
		case p.lost:
			return ErrLost
		}
		select {
		case p.local.urgent <- struct{}{}:
		default:
		}
		p.local.kick()
		select {
		case <-flushed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Lease implements Journal.
func (l *Local) Lease(_ context.Context, run, owner string) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.live[run]
	switch {
	case l.closed:
		return nil, ErrClosed
	case log == nil:
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	case log.owner != "":
		return nil, fmt.Errorf("run %s: %w", run, ErrTaken)
	}
	log.owner = owner
	log.tell(l.kick)
	return &Lease{local: l, log: log}, nil
}

// Log returns the log that the lease writes.
func (l *Lease) Log() *Log { return l.log.Log }

// Append implements packet.Sink.
func (l *Lease) Append(place packet.Placement, obj packet.Obj) { l.log.Log.Append(place, obj) }

// Record appends records, all in one: a crash parts none of them. What comes after
// the end is dropped, and Durable of the position then returns ErrLost, or
// ErrClosed.
func (l *Lease) Record(records ...Record) Position {
	at, taken := l.log.add(records...)
	return Position{local: l.local, log: l.log, at: at, lost: !taken}
}

// Append implements Journal.
func (l *Local) Append(_ context.Context, lease *Lease, records ...Record) (Position, error) {
	at := lease.Record(records...)
	if !at.lost {
		return at, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return at, ErrClosed
	}
	return at, ErrLost
}

// Abandon ends the lease of a run that is deleted: nothing of it is kept.
func (l *Lease) Abandon() {
	l.log.Close()
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	l.local.forget(l.log.run, ErrLost)
	l.local.kick() // for the ticks that were its own
}

// Trouble tells the readers of the log that it cannot be written to disk now, unless
// they know. A log that Seal had closed to others takes records again.
func (l *Lease) Trouble(err error) {
	l.log.thaw()
	l.local.trouble([]*liveLog{l.log}, err)
}

// Release ends what can be appended and leaves the run live on disk, for the next
// start to end.
func (l *Lease) Release() { l.log.Close() }
