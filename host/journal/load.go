package journal

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// rowsOf are what stands in a log behind a mark, as rows behind those in rows, and
// where that ends. What is damaged has none. Their data is the log's.
func (l *Log) rowsOf(from mark, rows []row) ([]row, mark) {
	items, end := l.since(from)
	rows = slices.Grow(rows, int(end.position()-from.position()))
	for i := range items {
		if i.entry != nil {
			rows = append(rows, row{kind: kindPacket, data: i.stored(), bare: true})
		} else if i.fact.damaged == nil {
			rows = append(rows, row{kind: kindFact, data: i.fact.data})
		}
	}
	return rows, end
}

// load appends a stored section to a log that nobody else has yet. What does not
// follow what is there already is left out; what is missing in between is told as
// damage.
func (l *Log) load(s section) {
	missing := s.before.position() - l.mark.position()
	if missing > maxMissing {
		l.damage = append(l.damage, fmt.Errorf("%w: a section begins after %d records that are missing", ErrDamaged,
			missing))
		return
	}
	if missing > 0 {
		l.lost(s.before, fmt.Errorf("%w: %d records are missing", ErrDamaged, missing))
	}
	for _, r := range s.rows[min(max(-missing, 0), int64(len(s.rows))):] {
		l.loadRow(r)
	}
}

func (l *Log) loadRow(r row) {
	err := r.damaged
	if r.kind == kindPacket {
		var p packet.Packet
		if err == nil {
			p.Placement, p.Obj, err = decodePacket(r.data)
		}
		if err == nil {
			whole, at := l.wire(len(r.data))
			l.putPacket(p, append(whole, r.data[1:]...), at)
			return
		}
		l.lost(mark{l.mark.packets + 1, l.mark.facts}, fmt.Errorf("%w: %w", ErrDamaged, err))
		return
	}
	var fact Fact
	if err == nil {
		fact, err = decodeFact(r.data)
	}
	if err == nil {
		l.putFact(placed{fact: fact, data: bytes.Clone(r.data)})
		return
	}
	l.lost(mark{l.mark.packets, l.mark.facts + 1}, fmt.Errorf("%w: %w", ErrDamaged, err))
}

// lost stands for records that cannot be read, up to a mark: packets keep their
// numbers, as notices.
func (l *Log) lost(to mark, why error) {
	for l.mark.packets < to.packets {
		r := Packet(packet.At(0, 0), packet.NewNotice(packet.CodeRecordDamaged, ""))
		l.put(&r)
	}
	for l.mark.facts < to.facts {
		l.putFact(placed{damaged: why})
	}
	l.damage = append(l.damage, why)
}

// Damage says what of a stored log cannot be read, nil for nothing.
func (l *Log) Damage() []error { return l.damage }
