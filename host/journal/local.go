package journal

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// DefaultTick is the pause between two commits of what live runs append. A packet
// goes out to its readers before it is on disk; nobody waits for the tick.
const DefaultTick = 50 * time.Millisecond

// Options are the seams of a Local. The zero value is ready for use.
type Options struct {
	// Tick is the pause between two commits, 0 for DefaultTick, below 0 for none.
	Tick time.Duration
	// After is time.After, nil for the real one.
	After func(time.Duration) <-chan time.Time
	// Logger takes what goes wrong, nil for nobody.
	Logger *slog.Logger
}

// Local is the Journal of a single process over one data file. It is safe for
// concurrent use.
type Local struct {
	db     kv.DB
	tick   time.Duration
	after  func(time.Duration) <-chan time.Time
	logger *slog.Logger
	// wake has room for one: something is to be written. urgent says that somebody
	// waits for it.
	wake, urgent chan struct{}
	// quit is closed by Close, stopped when the writer has ended.
	quit, stopped chan struct{}
	// value and rows are the writer's, to be used again.
	value []byte
	rows  []row

	// mu guards what follows. It may be taken in a transaction and before that of a
	// Log, so nobody begins a transaction under it.
	mu     sync.Mutex
	live   map[string]*liveLog
	ticks  map[uint64]map[string]bool // number → runs in it that have not ended
	next   uint64
	dead   map[uint64]bool // ticks in which no live run is any more
	closed bool
}

// liveLog is the log of a run that has not ended.
type liveLog struct {
	*Log
	// Local.mu guards what follows. owner is who has the lease, "" for nobody.
	owner string
	// written is what is on disk; told says that its readers know of trouble with
	// the disk.
	written mark
	told    bool
	// flushed is closed and replaced whenever written moved or the lease ended.
	flushed chan struct{}
	// ended says why the lease has ended, nil while it has not.
	ended error
}

var _ Journal = (*Local)(nil)

// Open returns the journal in db. Runs that a crash cut off are live, with what was
// durable of them, and nobody has their lease. The caller closes the Local before
// db.
func Open(ctx context.Context, db kv.DB, o Options) (*Local, error) {
	l := &Local{
		db: db, tick: o.Tick, after: o.After, logger: o.Logger,
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1), quit: make(chan struct{}),
		stopped: make(chan struct{}),
		live:    map[string]*liveLog{}, ticks: map[uint64]map[string]bool{}, dead: map[uint64]bool{},
	}
	if l.tick == 0 {
		l.tick = DefaultTick
	}
	if l.after == nil {
		l.after = time.After
	}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	if err := db.View(ctx, l.readTicks); err != nil {
		return nil, fmt.Errorf("read the journals of live runs: %w", err)
	}
	for run, log := range l.live {
		for _, damage := range log.damage {
			l.logger.Error("a part of the journal of a live run cannot be read", "run", run, "error", damage)
		}
	}
	if len(l.dead) > 0 {
		l.kick()
	}
	go l.write()
	return l, nil
}

// Unfinished are the runs that are live, oldest first: after Open those that a
// crash cut off.
func (l *Local) Unfinished() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var runs []string
	for run := range l.live {
		runs = append(runs, run)
	}
	slices.Sort(runs) // ids sort by time
	return runs
}

// Close ends all leases, writes what was appended, as far as the disk takes it at
// once, and waits for that. Readers of live runs get what is there and then the
// end. A second Close returns ErrClosed.
func (l *Local) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	for _, log := range l.live {
		log.Close()
	}
	close(l.quit)
	l.mu.Unlock()
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	for run := range l.live {
		l.forget(run, ErrClosed)
	}
	return nil
}

// Open returns the log of a run, live or as it was stored, or ErrNotFound. Who may
// read it is the caller's to know.
func (l *Local) Open(ctx context.Context, run string) (*Log, error) {
	l.mu.Lock()
	live := l.live[run]
	l.mu.Unlock()
	if live != nil {
		return live.Log, nil
	}
	var log *Log
	err := l.db.View(ctx, func(tx kv.Tx) (err error) {
		log, err = Sealed(tx, run)
		return err
	})
	return log, err
}

// Read implements Journal.
func (l *Local) Read(ctx context.Context, run string, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		log, err := l.Open(ctx, run)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for r, err := range log.follow(ctx, after) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// forget ends a live log, for a reason. The caller holds mu.
func (l *Local) forget(run string, why error) {
	log := l.live[run]
	if log == nil {
		return
	}
	log.ended = why
	log.tellFlushed()
	delete(l.live, run)
	for number, runs := range l.ticks {
		if delete(runs, run); len(runs) == 0 {
			delete(l.ticks, number)
			l.dead[number] = true
		}
	}
}

// tellFlushed wakes those who wait for the disk. The caller holds Local.mu.
func (log *liveLog) tellFlushed() {
	close(log.flushed)
	log.flushed = make(chan struct{})
}
