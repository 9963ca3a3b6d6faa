package journal

import (
	"context"
	"errors"
	"iter"
)

// Journal keeps the records of runs. Local is the one of a single process; another
// engine can stand behind the same three methods.
type Journal interface {
	// Append adds records, all in one and in order, and returns when they are
	// readable; Durable on the returned Position waits until they survive a crash.
	// It returns ErrLost under a lease that ended, and ErrClosed.
	Append(ctx context.Context, lease *Lease, records ...Record) (Position, error)
	// Read yields the records after a position and, while the run is live, those to
	// come. The first error ends it: ErrNotFound, or ctx.Err().
	Read(ctx context.Context, run string, after int64) iter.Seq2[Record, error]
	// Lease makes the caller the run's only writer until the run ends. It returns
	// ErrTaken while another has it, and ErrNotFound for a run that is not live.
	Lease(ctx context.Context, run, owner string) (*Lease, error)
}

var (
	// ErrNotFound is returned when there is no journal of that run.
	ErrNotFound = errors.New("there is no journal of this run")
	// ErrTaken is returned when another has the lease of the run.
	ErrTaken = errors.New("another writes this journal")
	// ErrLost is returned when something is appended under a lease that has ended.
	ErrLost = errors.New("the lease of this journal has ended")
	// ErrClosed is returned when the Journal is closed.
	ErrClosed = errors.New("the journal is closed")
)
