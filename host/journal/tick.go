package journal

import (
	"encoding/binary"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// The tables. ticks holds what live runs appended, in the order in which it was
// committed, and is read at a start only; runs holds what ended.
const (
	tableTicks kv.Table = "journal_ticks" // number (8 bytes, big endian) → how many sections, each behind its length
	tableRuns  kv.Table = "journal_runs"  // run/number of the section → section
)

// Tables are the tables that a Local needs.
func Tables() []kv.Table { return []kv.Table{tableTicks, tableRuns} }

func tickKey(number uint64) string { return string(binary.BigEndian.AppendUint64(nil, number)) }

// appendTick writes a section into the value of a tick, which may be empty yet.
func appendTick(value []byte, s section) []byte {
	if len(value) == 0 {
		value = append(value, 0, 0, 0, 0)
	}
	binary.LittleEndian.PutUint32(value, binary.LittleEndian.Uint32(value)+1)
	at := len(value)
	value = s.encode(append(value, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(value[at:], uint32(len(value)-at-4))
	return value
}

// readTicks rebuilds the logs of live runs.
func (l *Local) readTicks(tx kv.Tx) error {
	sealed := map[string]bool{}
	return tx.Scan(tableTicks, "", func(key string, value []byte) bool {
		if len(key) != 8 {
			return true
		}
		number := binary.BigEndian.Uint64([]byte(key))
		l.next = max(l.next, number+1)
		runs := map[string]bool{}
		for _, s := range l.sections(value, number) {
			ended, known := sealed[s.run]
			if !known {
				ended = isSealed(tx, s.run)
				sealed[s.run] = ended
			}
			if ended {
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
		if len(runs) == 0 {
			l.dead[number] = true
		} else {
			l.ticks[number] = runs
		}
		return true
	})
}

// sections reads a tick as far as it can be read. A section says itself where it
// ends; the length before it helps over one whose header is damaged.
func (l *Local) sections(value []byte, number uint64) (out []section) {
	if len(value) < 4 {
		l.logger.Error("a tick of journals cannot be read", "tick", number)
		return nil
	}
	count := binary.LittleEndian.Uint32(value)
	for value = value[4:]; len(value) >= 4; {
		size := uint64(binary.LittleEndian.Uint32(value))
		s, rest, err := decodeSection(value[4:])
		if err == nil {
			out, value = append(out, s), rest
			continue
		}
		l.logger.Error("a section of a journal cannot be read", "tick", number, "error", err)
		value = value[4:]
		value = value[min(size, uint64(len(value))):]
	}
	if count != uint32(len(out)) || len(value) > 0 {
		l.logger.Error("a tick of journals is not whole", "tick", number, "sections", len(out), "of", count)
	}
	return out
}
