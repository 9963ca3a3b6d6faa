package journal

import (
	"context"
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// The pauses before a failed append is tried again grow from the first to the
// second.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

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
			if l.flush() {
				l.pause()
			}
		case <-l.quit:
			if err := l.commit(l.gather()); err != nil {
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
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		w := l.gather()
		err := l.commit(w)
		if err == nil {
			return true
		}
		l.trouble(w.logs(), err)
		select {
		case <-l.after(pause):
		case <-l.quit:
			return false
		}
	}
}

// trouble tells the readers of each log, once, that it is not on disk. A log that
// is about to end takes no more; whoever ends it learns of the trouble himself.
func (l *Local) trouble(logs []*liveLog, err error) {
	var told []string
	l.mu.Lock()
	for _, log := range logs {
		if log.told {
			continue
		}
		if _, log.told = log.add(Packet(packet.At(0, 0), packet.NewNotice(packet.CodeNotSaved, ""))); log.told {
			told = append(told, log.run)
		}
	}
	l.mu.Unlock()
	for _, run := range told {
		l.logger.Error("a run cannot be written to disk; it is tried again", "run", run, "error", err)
	}
}

// tickWrite is one commit of the writer.
type tickWrite struct {
	number uint64
	// value belongs to the writer.
	value []byte
	// ends are how far the logs in it are durable with it.
	ends map[*liveLog]mark
	dead []uint64
}

func (w tickWrite) logs() (logs []*liveLog) {
	for log := range w.ends {
		logs = append(logs, log)
	}
	return logs
}

// maxKept bounds the buffer that is kept for the next tick, in bytes.
const maxKept = 1 << 20

// gather takes what stands behind what was written of each live log.
func (l *Local) gather() tickWrite {
	w := tickWrite{value: l.value[:0], ends: map[*liveLog]mark{}}
	l.mu.Lock()
	w.number = l.next
	l.next++
	from := make(map[*liveLog]mark, len(l.live))
	for _, log := range l.live {
		from[log] = log.written
	}
	for number := range l.dead {
		w.dead = append(w.dead, number)
	}
	l.mu.Unlock()
	for log, written := range from {
		rows, end := log.rowsOf(written, l.rows[:0])
		if l.rows = rows; len(rows) == 0 {
			continue
		}
		w.value = appendTick(w.value, section{run: log.run, epoch: log.epoch, before: written, rows: rows})
		w.ends[log] = end
	}
	if clear(l.rows[:cap(l.rows)]); cap(l.rows) > maxKept/64 {
		l.rows = nil
	}
	if l.value = w.value; cap(l.value) > maxKept {
		l.value = nil
	}
	return w
}

// commit makes a tick durable, and what it replaces goes.
func (l *Local) commit(w tickWrite) error {
	if len(w.ends) == 0 && len(w.dead) == 0 {
		return nil
	}
	err := l.db.Commit(context.Background(), func(tx kv.Tx) error {
		for _, number := range w.dead {
			if err := tx.Delete(tableTicks, tickKey(number)); err != nil {
				return err
			}
		}
		if len(w.ends) == 0 {
			return nil
		}
		return tx.Put(tableTicks, tickKey(w.number), w.value)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, number := range w.dead {
		delete(l.dead, number)
	}
	if len(w.ends) > 0 {
		l.committed(w)
	}
	return nil
}

// committed takes note of a tick that is on disk. The caller holds mu.
func (l *Local) committed(w tickWrite) {
	runs := map[string]bool{}
	for log, end := range w.ends {
		if log.ended != nil { // while the tick was on its way
			continue
		}
		log.written, log.told = end, false
		log.tellFlushed()
		runs[log.run] = true
	}
	if len(runs) > 0 {
		l.ticks[w.number] = runs
		return
	}
	l.dead[w.number] = true
	l.kick()
}
