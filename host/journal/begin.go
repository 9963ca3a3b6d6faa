package journal

import "github.com/bulkhead-host/bulkhead/host/store/kv"

// Beginning is a journal about to begin: Write puts it into the transaction in
// which the run begins, and Lease takes it up once that is committed.
type Beginning struct {
	local  *Local
	log    *liveLog
	number uint64
	value  []byte
}

// Begin prepares the journal of a new run in an epoch, with its first records. It
// returns ErrClosed when the Local is closed. What is prepared and not committed
// leaves nothing behind.
func (l *Local) Begin(run string, epoch int64, owner string, records ...Record) (*Beginning, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	log := &liveLog{Log: New(run, epoch), owner: owner, flushed: make(chan struct{})}
	log.add(records...)
	rows, end := log.rowsOf(mark{}, nil)
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
// transaction was committed. Where the Local was closed meanwhile the lease has
// ended, and the run is live at the next start.
func (b *Beginning) Lease() *Lease {
	l := b.local
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		b.log.ended = ErrClosed
		b.log.Close()
		return &Lease{local: l, log: b.log}
	}
	l.live[b.log.run] = b.log
	l.ticks[b.number] = map[string]bool{b.log.run: true}
	b.log.tell(l.kick)
	return &Lease{local: l, log: b.log}
}
