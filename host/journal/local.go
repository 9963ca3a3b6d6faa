package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// Journal keeps the records of runs. Local is the one of a single process; another
// engine can stand behind the same three methods.
type Journal interface {
	// Append adds records, all in one and in order, and returns when they are
	// readable; Durable on the returned Position waits until they survive a crash.
	// It returns ErrLost under a lease that ended.
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

// The tables. ticks holds what live runs appended, in the order in which it was
// committed, and is read at a start only; runs holds what ended.
const (
	tableTicks kv.Table = "journal_ticks" // number (8 bytes, big endian) → sections, each behind its length
	tableRuns  kv.Table = "journal_runs"  // run/number of the section → section
)

// Tables are the tables that a Local needs.
func Tables() []kv.Table { return []kv.Table{tableTicks, tableRuns} }

// DefaultTick is the pause between two commits of what live runs append. A packet
// goes out to its readers before it is on disk; nobody waits for the tick.
const DefaultTick = 50 * time.Millisecond

// The pauses before a failed append is tried again grow from the first to the
// second.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

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

	// mu guards what follows.
	mu     sync.Mutex
	live   map[string]*liveLog
	ticks  map[uint64]map[string]bool // number → runs in it that have not ended
	next   uint64
	dead   []uint64 // ticks in which no live run is any more
	closed bool
}

// liveLog is the log of a run that has not ended.
type liveLog struct {
	*Log
	owner string
	// written is what stands in ticks; told says that its readers know of trouble
	// with the disk. Local.mu guards both.
	written mark
	told    bool
	// flushed is closed and replaced whenever written moved or the lease ended.
	flushed chan struct{}
	// ended says that the run was sealed or abandoned.
	ended bool
}

var _ Journal = (*Local)(nil)

// Open returns the journal in db, whose tables it makes sure of. Runs that a crash
// cut off are live, with what was durable of them, and nobody has their lease. The
// caller closes the Local before db.
func Open(ctx context.Context, db kv.DB, o Options) (*Local, error) {
	l := &Local{db: db, tick: o.Tick, after: o.After, logger: o.Logger, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		quit: make(chan struct{}), stopped: make(chan struct{}), live: map[string]*liveLog{}, ticks: map[uint64]map[string]bool{}}
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
	go l.write()
	return l, nil
}

// readTicks rebuilds the logs of live runs.
func (l *Local) readTicks(tx kv.Tx) error {
	return tx.Scan(tableTicks, "", func(key string, value []byte) bool {
		if len(key) != 8 {
			return true
		}
		number := binary.BigEndian.Uint64([]byte(key))
		l.next = max(l.next, number+1)
		runs := map[string]bool{}
		for _, s := range l.sections(value, number) {
			if isSealed(tx, s.run) {
				continue
			}
			log := l.live[s.run]
			if log == nil {
				log = &liveLog{Log: New(s.run, s.epoch), flushed: make(chan struct{})}
				l.live[s.run] = log
			}
			log.load(s)
			log.written = log.mark
			runs[s.run] = true
		}
		if l.ticks[number] = runs; len(runs) == 0 {
			l.dead = append(l.dead, number)
		}
		return true
	})
}

// sections reads a tick as far as it can be read.
func (l *Local) sections(value []byte, number uint64) (out []section) {
	for len(value) > 0 {
		if len(value) < 4 || int(binary.LittleEndian.Uint32(value)) > len(value)-4 {
			l.logger.Error("the end of a journal's tick cannot be read", "tick", number)
			return out
		}
		n := int(binary.LittleEndian.Uint32(value))
		one := value[4 : 4+n]
		value = value[4+n:]
		s, _, err := decodeSection(one)
		if err != nil {
			l.logger.Error("a section of a journal cannot be read", "tick", number, "error", err)
			continue
		}
		out = append(out, s)
	}
	return out
}

func tickKey(number uint64) string { return string(binary.BigEndian.AppendUint64(nil, number)) }

// appendTick writes a section into the value of a tick.
func appendTick(value []byte, s section) []byte {
	at := len(value)
	value = s.encode(append(value, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(value[at:], uint32(len(value)-at-4))
	return value
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

// Close writes what was appended, as far as the disk takes it at once, and ends
// all leases. A second Close returns ErrClosed.
func (l *Local) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	close(l.quit)
	l.mu.Unlock()
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	for run := range l.live {
		l.forget(run)
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

// Sealed reads the log of a run that has ended, or returns ErrNotFound. What of it
// is damaged is told by Log.Damage; the rest is there.
func Sealed(tx kv.Tx, run string) (*Log, error) {
	var log *Log
	var bad []error
	err := tx.Scan(tableRuns, run+"/", func(key string, value []byte) bool {
		s, _, err := decodeSection(value)
		if err == nil && s.run != run {
			err = fmt.Errorf("%w: it belongs to %q", ErrDamaged, s.run)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("section %s: %w", key, err))
			return true
		}
		if log == nil {
			log = New(run, s.epoch)
		}
		log.load(s)
		return true
	})
	if err != nil {
		return nil, err
	}
	if log == nil {
		if len(bad) > 0 {
			return nil, errors.Join(bad...)
		}
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	log.damage = append(log.damage, bad...)
	log.closed = true
	return log, nil
}

func isSealed(tx kv.Tx, run string) bool {
	_, _, found := tx.Last(tableRuns, run+"/")
	return found
}

// Delete deletes the journal of a run that has ended. One that is live is
// abandoned by whoever has its lease.
func Delete(tx kv.Tx, run string) error {
	var keys []string
	err := tx.Scan(tableRuns, run+"/", func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	for _, key := range keys {
		err = errors.Join(err, tx.Delete(tableRuns, key))
	}
	return err
}

// kick wakes the writer.
func (l *Local) kick() {
	select {
	case l.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// write commits what live runs append until Close.
func (l *Local) write() {
	defer close(l.stopped)
	for {
		select {
		case <-l.wake:
			if !l.flush() {
				return
			}
			l.pause()
		case <-l.quit:
			batch, _ := l.gather()
			if err := l.commit(batch); err != nil {
				l.logger.Error("the end of journals was not written", "error", err)
			}
			return
		}
	}
}

// pause lets records gather, unless somebody waits for them.
func (l *Local) pause() {
	if l.tick < 0 {
		return
	}
	select {
	case <-l.after(l.tick):
	case <-l.urgent:
	case <-l.quit:
	}
}

// flush writes what there is and tries until the disk takes it. It returns false
// when the journal closes meanwhile.
func (l *Local) flush() bool {
	pause := firstPause
	for {
		batch, logs := l.gather()
		err := l.commit(batch)
		if err == nil {
			return true
		}
		l.trouble(logs, err)
		select {
		case <-l.after(pause):
		case <-l.quit:
			return false
		}
		pause = min(2*pause, lastPause)
	}
}

// trouble tells the readers of each log, once, that it is not on disk.
func (l *Local) trouble(logs []*liveLog, err error) {
	l.mu.Lock()
	var tell []*liveLog
	for _, log := range logs {
		if !log.told {
			log.told = true
			tell = append(tell, log)
		}
	}
	l.mu.Unlock()
	for _, log := range tell {
		l.logger.Error("a run cannot be written to disk; it is tried again", "run", log.Run(), "error", err)
		log.Append(packet.At(0, 0), packet.NewNotice(packet.CodeNotSaved, ""))
	}
}

// tickWrite is one commit of the writer.
type tickWrite struct {
	number uint64
	value  []byte
	runs   map[string]bool
	ends   map[*liveLog]mark
	dead   []uint64
}

// gather takes what stands behind what was written of each live log.
func (l *Local) gather() (tickWrite, []*liveLog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := tickWrite{runs: map[string]bool{}, ends: map[*liveLog]mark{}, dead: slices.Clone(l.dead)}
	var logs []*liveLog
	for _, log := range l.live {
		rows, end := log.rowsOf(log.written)
		if len(rows) == 0 {
			continue
		}
		w.value = appendTick(w.value, section{run: log.run, epoch: log.epoch, before: log.written, rows: rows})
		w.runs[log.run], w.ends[log] = true, end
		logs = append(logs, log)
	}
	if len(logs) > 0 {
		w.number = l.next
		l.next++
	}
	return w, logs
}

// manyDead is how many ticks that nobody needs are worth a transaction of their
// own.
const manyDead = 256

// commit makes a tick durable.
func (l *Local) commit(w tickWrite) error {
	if len(w.runs) == 0 && len(w.dead) < manyDead {
		return nil // they go with the next tick
	}
	err := l.db.Commit(context.Background(), func(tx kv.Tx) error {
		for _, number := range w.dead {
			if err := tx.Delete(tableTicks, tickKey(number)); err != nil {
				return err
			}
		}
		if len(w.runs) == 0 {
			return nil
		}
		return tx.Put(tableTicks, tickKey(w.number), w.value)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = slices.DeleteFunc(l.dead, func(n uint64) bool { return slices.Contains(w.dead, n) })
	if len(w.runs) == 0 {
		return nil
	}
	l.ticks[w.number] = w.runs
	for log, end := range w.ends {
		log.written, log.told = end, false
		log.tellFlushed()
		if log.ended {
			delete(w.runs, log.run)
		}
	}
	if len(w.runs) == 0 {
		delete(l.ticks, w.number)
		l.dead = append(l.dead, w.number)
	}
	return nil
}

// tellFlushed wakes those who wait for the disk. The caller holds Local.mu.
func (log *liveLog) tellFlushed() {
	close(log.flushed)
	log.flushed = make(chan struct{})
}

// forget ends a live log and returns the ticks that nobody needs any more. The
// caller holds mu.
func (l *Local) forget(run string) {
	log := l.live[run]
	if log == nil {
		return
	}
	log.ended = true
	log.tellFlushed()
	delete(l.live, run)
	for number, runs := range l.ticks {
		if delete(runs, run); len(runs) == 0 {
			delete(l.ticks, number)
			if !slices.Contains(l.dead, number) {
				l.dead = append(l.dead, number)
			}
		}
	}
}

// sectionKey is where a section of a run that has ended stands.
func sectionKey(run string, n int) string { return fmt.Sprintf("%s/%08d", run, n) }

// checkRun refuses an id that cannot be part of a key.
func checkRun(run string) error {
	if run == "" || strings.Contains(run, "/") {
		return fmt.Errorf("%q is no id of a run", run)
	}
	return nil
}
