package journal

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
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
}

// Number is how many records stand up to the position.
func (p Position) Number() int64 { return p.at.position() }

// Durable waits until the records up to the position survive a crash. It returns
// ErrLost where the lease ended before, and ctx.Err() when ctx is done first.
func (p Position) Durable(ctx context.Context) error {
	for {
		p.local.mu.Lock()
		written, ended, closed, flushed := p.log.written, p.log.ended, p.local.closed, p.log.flushed
		p.local.mu.Unlock()
		switch {
		case written.packets >= p.at.packets && written.facts >= p.at.facts:
			return nil
		case ended:
			return ErrLost
		case closed:
			return ErrClosed
		}
		select {
		case p.local.urgent <- struct{}{}:
		default:
		}
		p.local.kick()
		select {
		case <-flushed:
		case <-p.local.stopped:
			// The last commit may have taken it.
			p.local.mu.Lock()
			written = p.log.written
			p.local.mu.Unlock()
			if written.packets >= p.at.packets && written.facts >= p.at.facts {
				return nil
			}
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Beginning is a journal about to begin: Write puts it into the transaction in
// which the run begins, and Lease takes it up once that is committed.
type Beginning struct {
	local  *Local
	log    *liveLog
	number uint64
	value  []byte
}

// Begin prepares the journal of a new run in an epoch, with its first records.
func (l *Local) Begin(run string, epoch int64, owner string, records ...Record) (*Beginning, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	log := &liveLog{Log: New(run, epoch), owner: owner, flushed: make(chan struct{})}
	log.add(records...)
	rows, end := log.rowsOf(mark{})
	log.written = end
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	b := &Beginning{local: l, log: log, number: l.next}
	l.next++
	b.value = appendTick(nil, section{run: run, epoch: epoch, rows: rows})
	return b, nil
}

// Write adds the journal to a transaction. It may be called again where that is
// tried again.
func (b *Beginning) Write(tx kv.Tx) error { return tx.Put(tableTicks, tickKey(b.number), b.value) }

// Lease returns the lease of the run that has begun. It is called once, after the
// transaction was committed.
func (b *Beginning) Lease() *Lease {
	l := b.local
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[b.log.run] = b.log
	l.ticks[b.number] = map[string]bool{b.log.run: true}
	b.log.dirty = l.kick
	return &Lease{local: l, log: b.log}
}

// Lease implements Journal.
func (l *Local) Lease(_ context.Context, run, owner string) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.live[run]
	switch {
	case log == nil:
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	case log.owner != "":
		return nil, fmt.Errorf("run %s: %w", run, ErrTaken)
	}
	log.owner, log.dirty = owner, l.kick
	return &Lease{local: l, log: log}, nil
}

// Log returns the log that the lease writes.
func (l *Lease) Log() *Log { return l.log.Log }

// Append implements packet.Sink.
func (l *Lease) Append(place packet.Placement, obj packet.Obj) { l.log.Log.Append(place, obj) }

// Record appends records, all in one: a crash parts none of them. What comes after
// the end is dropped, and Durable of the position then returns ErrLost.
func (l *Lease) Record(records ...Record) Position {
	at, taken := l.log.add(records...)
	if !taken {
		at.facts++ // a place that is never reached
	}
	return Position{local: l.local, log: l.log, at: at}
}

// Append implements Journal.
func (l *Local) Append(_ context.Context, lease *Lease, records ...Record) (Position, error) {
	l.mu.Lock()
	ended := lease.log.ended
	l.mu.Unlock()
	if ended {
		return Position{}, ErrLost
	}
	return lease.Record(records...), nil
}

// Abandon ends the lease of a run that is deleted: nothing of it is kept.
func (l *Lease) Abandon() {
	l.log.Close()
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	l.local.forget(l.log.run)
}

// Trouble tells the readers of the log that it cannot be written to disk now, unless
// they know.
func (l *Lease) Trouble(err error) { l.local.trouble([]*liveLog{l.log}, err) }

// Release ends what can be appended and leaves the run live on disk, for the next
// start to end.
func (l *Lease) Release() { l.log.Close() }

// Ending is a journal about to end: Write puts all of it into the transaction in
// which the run ends, and Done lets go of the lease once that is committed.
type Ending struct {
	lease *Lease
	log   *Log
	keys  []uint64
	final []Record
}

// sectionBytes is about how large a section of a run that ended grows. A damaged
// header costs no more.
const sectionBytes = 64 << 10

// Seal prepares the end of a run with its last records. What is stored is
// compacted: neighbouring deltas of a block are one. Where that, or newEpoch,
// changes the numbers of packets, the stored log is in the next epoch.
func (l *Lease) Seal(newEpoch bool, records ...Record) *Ending {
	e := &Ending{lease: l, final: records}
	all := make([]Record, 0, 64)
	for r := range l.log.Records() {
		if r.Damaged == nil {
			all = append(all, r)
		}
	}
	kept, joined := compact(append(all, records...))
	epoch := l.log.epoch
	if joined || newEpoch {
		epoch++
	}
	e.log = New(l.log.run, epoch)
	e.log.add(kept...)
	e.log.closed = true
	return e
}

// Log is the log as it is stored.
func (e *Ending) Log() *Log { return e.log }

// LiveSeq is the number of the last packet that readers of the live log get.
func (e *Ending) LiveSeq() int64 {
	last := e.lease.log.Last()
	for _, r := range e.final {
		if r.Obj != nil {
			last++
		}
	}
	return last
}

// Write adds the journal to a transaction and takes what is in no other run's way
// out of the ticks. It may be called again where the transaction is tried again.
func (e *Ending) Write(tx kv.Tx) error {
	if err := writeSealed(tx, e.log); err != nil {
		return err
	}
	e.keys = e.lease.local.onlyOf(e.log.run)
	for _, number := range e.keys {
		if err := tx.Delete(tableTicks, tickKey(number)); err != nil {
			return err
		}
	}
	return nil
}

// writeSealed writes the log of a run that has ended, in place of what there was.
func writeSealed(tx kv.Tx, log *Log) error {
	if err := Delete(tx, log.run); err != nil {
		return err
	}
	rows, _ := log.rowsOf(mark{})
	before, n := mark{}, 0
	for len(rows) > 0 {
		size, count, after := 0, 0, before
		for _, r := range rows {
			if size += len(r.data); size > sectionBytes && count > 0 {
				break
			}
			if count++; r.kind == kindPacket {
				after.packets++
			} else {
				after.facts++
			}
		}
		s := section{run: log.run, epoch: log.epoch, before: before, rows: rows[:count]}
		if err := tx.Put(tableRuns, sectionKey(log.run, n), s.encode(nil)); err != nil {
			return err
		}
		rows, before, n = rows[count:], after, n+1
	}
	return nil
}

// Import writes the journal of a run that another layout of the data file held, for
// a migration: as one that has ended, or, where live is set, as one that a crash
// cut off. number is another one for each live run. It returns the stored log,
// which is compacted and may be in the next epoch.
func Import(tx kv.Tx, run string, epoch int64, live bool, number uint64, records []Record) (*Log, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	if live {
		log := New(run, epoch)
		log.add(records...)
		rows, _ := log.rowsOf(mark{})
		return log, tx.Put(tableTicks, tickKey(number), appendTick(nil, section{run: run, epoch: epoch, rows: rows}))
	}
	kept, joined := compact(records)
	if joined {
		epoch++
	}
	log := New(run, epoch)
	log.add(kept...)
	log.closed = true
	return log, writeSealed(tx, log)
}

// onlyOf are the ticks in which no live run is but this one.
func (l *Local) onlyOf(run string) (numbers []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for number, runs := range l.ticks {
		if len(runs) == 1 && runs[run] {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Done ends the lease once the transaction was committed: live readers get the
// last packets, and whoever comes later the stored log.
func (e *Ending) Done() {
	log := e.lease.log
	var packets []Record
	for _, r := range e.final {
		if r.Obj != nil {
			packets = append(packets, r)
		}
	}
	log.add(packets...)
	log.Close()
	l := e.lease.local
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(log.run)
	l.dead = slices.DeleteFunc(l.dead, func(n uint64) bool { return slices.Contains(e.keys, n) })
	if len(l.dead) >= manyDead {
		l.kick()
	}
}
