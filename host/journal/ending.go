package journal

import "github.com/bulkhead-host/bulkhead/host/store/kv"

// Ending is a journal about to end: Write puts all of it into the transaction in
// which the run ends, and Done lets go of the lease once that is committed. Where
// it is not, the holder goes on with Seal again, Lease.Trouble or Lease.Release.
type Ending struct {
	lease *Lease
	log   *Log
	// upTo is what of the live log the stored one holds.
	upTo mark
	// gone are the ticks that the transaction deletes.
	gone  []uint64
	final []Record
}

// Seal prepares the end of a run with its last records. The log takes no others
// from here on. What is stored is compacted: neighbouring deltas of a block are
// one. Where that, or newEpoch, changes the numbers of packets, the stored log is
// in the next epoch.
func (l *Lease) Seal(newEpoch bool, records ...Record) *Ending {
	e := &Ending{lease: l, final: records}
	all, upTo := l.log.freeze()
	e.upTo = upTo
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
	last := int64(e.upTo.packets)
	for _, r := range e.final {
		if r.Obj != nil {
			last++
		}
	}
	return last
}

// Write adds the journal to a transaction and takes the ticks that no other run
// needs out of the table. It may be called again where the transaction is tried
// again.
func (e *Ending) Write(tx kv.Tx) error {
	if err := writeSealed(tx, e.log); err != nil {
		return err
	}
	e.gone = e.lease.local.onlyOf(e.log.run)
	for _, number := range e.gone {
		if err := tx.Delete(tableTicks, tickKey(number)); err != nil {
			return err
		}
	}
	return nil
}

// onlyOf are the ticks in which no live run is but this one.
func (l *Local) onlyOf(run string) (numbers []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for number := range l.dead {
		numbers = append(numbers, number)
	}
	for number, runs := range l.ticks {
		if len(runs) == 1 && runs[run] {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Done ends the lease once the transaction was committed: live readers get the
// last records, and whoever comes later the stored log.
func (e *Ending) Done() {
	l, log := e.lease.local, e.lease.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if log.ended == nil {
		log.written = e.upTo
	}
	l.forget(log.run, ErrLost)
	log.end(e.final...)
	for _, number := range e.gone {
		delete(l.dead, number)
	}
	if len(l.dead) > 0 && (len(l.live) == 0 || len(l.dead) >= manyDead) {
		l.kick() // else they go with the next tick
	}
}

// manyDead is how many ticks that nobody needs are worth a transaction of their
// own while runs are live.
const manyDead = 256
