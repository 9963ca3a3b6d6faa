package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// sectionBytes is about how large a section of a run that ended grows. A damaged
// header costs no more.
const sectionBytes = 64 << 10

// sectionKey is where a section of a run that has ended stands.
func sectionKey(run string, n int) string { return fmt.Sprintf("%s/%08d", run, n) }

// checkRun refuses an id that cannot be part of a key.
func checkRun(run string) error {
	if run == "" || strings.Contains(run, "/") {
		return fmt.Errorf("%q is no id of a run", run)
	}
	return nil
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

// writeSealed writes the log of a run that has ended, in place of what there was.
// One without any record has a section too: it says that the run has ended.
func writeSealed(tx kv.Tx, log *Log) error {
	if err := Delete(tx, log.run); err != nil {
		return err
	}
	rows, _ := log.rowsOf(mark{}, nil)
	for before, n := (mark{}), 0; n == 0 || len(rows) > 0; n++ {
		size, count, after := 0, 0, before
		for _, r := range rows {
			if size += r.size(); size > sectionBytes && count > 0 {
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
		rows, before = rows[count:], after
	}
	return nil
}

// Import writes the journal of a run that another layout of the data file held, for
// a migration: as one that has ended, or, where live is set, as one that a crash
// cut off. number is another one for each live run. It returns the log as it is
// stored: one that has ended is compacted, and then in the next epoch.
func Import(tx kv.Tx, run string, epoch int64, live bool, number uint64, records []Record) (*Log, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	if live {
		log := New(run, epoch)
		log.add(records...)
		rows, _ := log.rowsOf(mark{}, nil)
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
