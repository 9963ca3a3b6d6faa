package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// A section is a stretch of one run's records on disk, little endian:
//
//	length of the header        uint32
//	header                      version 1: a byte; run: uvarint length and bytes;
//	                            epoch, packets before, facts before, number of
//	                            records: uvarint; of each record its kind, a byte,
//	                            its length, uvarint, and its CRC-32C, uint32
//	CRC-32C of the header       uint32
//	the records                 JSON
//
// A damaged record is found by its own sum and costs no other; a damaged header
// costs the section.
type section struct {
	run    string
	epoch  int64
	before mark
	rows   []row
}

// row is a record as it is stored.
type row struct {
	kind byte
	data []byte
	// damaged is set where a read row does not fit its sum.
	damaged error
}

// The kinds of rows.
const (
	kindPacket = 'p'
	kindFact   = 'f'
)

const sectionVersion = 1

// maxHeader bounds the header of a section that is read, in bytes.
const maxHeader = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errHeader = errors.New("the header of a section does not fit its sum")
	errSum    = errors.New("it does not fit its sum")
	errShort  = errors.New("its end is missing")
)

// encode writes the section behind out.
func (s section) encode(out []byte) []byte {
	header := []byte{sectionVersion}
	header = binary.AppendUvarint(header, uint64(len(s.run)))
	header = append(header, s.run...)
	for _, n := range []uint64{uint64(s.epoch), uint64(s.before.packets), uint64(s.before.facts), uint64(len(s.rows))} {
		header = binary.AppendUvarint(header, n)
	}
	for _, r := range s.rows {
		header = append(header, r.kind)
		header = binary.AppendUvarint(header, uint64(len(r.data)))
		header = binary.LittleEndian.AppendUint32(header, crc32.Checksum(r.data, castagnoli))
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(len(header)))
	out = append(out, header...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(header, castagnoli))
	for _, r := range s.rows {
		out = append(out, r.data...)
	}
	return out
}

// decodeSection reads a section and returns what follows it. The rows are parts
// of data. Its error matches ErrDamaged; nothing behind can be read then.
func decodeSection(data []byte) (s section, rest []byte, err error) {
	damaged := func(what error) (section, []byte, error) {
		return section{}, nil, fmt.Errorf("%w: %w", ErrDamaged, what)
	}
	if len(data) < 4 {
		return damaged(errHeader)
	}
	n := int(binary.LittleEndian.Uint32(data))
	if data = data[4:]; n > maxHeader || n+4 > len(data) {
		return damaged(errHeader)
	}
	header, sum := data[:n], binary.LittleEndian.Uint32(data[n:])
	if data = data[n+4:]; crc32.Checksum(header, castagnoli) != sum {
		return damaged(errHeader)
	}
	r := headerReader{data: header}
	if version := r.byte(); version != sectionVersion {
		return damaged(fmt.Errorf("version %d of a section is not known", version))
	}
	s.run = string(r.take(r.number()))
	s.epoch = int64(r.number())
	s.before = mark{packets: int(r.number()), facts: int(r.number())}
	for count := r.number(); count > 0 && !r.short; count-- {
		kind, size := r.byte(), r.number()
		want := r.sum()
		if size > uint64(len(data)) {
			s.rows = append(s.rows, row{kind: kind, damaged: errShort})
			data = nil
			continue
		}
		one := row{kind: kind, data: data[:size]}
		if data = data[size:]; crc32.Checksum(one.data, castagnoli) != want {
			one = row{kind: kind, damaged: errSum}
		}
		s.rows = append(s.rows, one)
	}
	if r.short {
		return damaged(errHeader)
	}
	return s, data, nil
}

// headerReader reads a header; short is set once it ended too early.
type headerReader struct {
	data  []byte
	short bool
}

func (r *headerReader) byte() byte {
	b := r.take(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (r *headerReader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || v > 1<<62 {
		r.short, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *headerReader) sum() uint32 {
	b := r.take(4)
	if len(b) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func (r *headerReader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.short, r.data = true, nil
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// rowsOf are what stands in a log behind a mark, as rows, and where that ends.
func (l *Log) rowsOf(from mark) ([]row, mark) {
	items, end := l.since(from)
	rows := make([]row, 0, end.position()-from.position())
	for i := range items {
		if i.entry != nil {
			body := append([]byte{'{'}, i.entry.JSON[i.entry.at:]...)
			rows = append(rows, row{kind: kindPacket, data: body})
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
	if missing := s.before.position() - l.mark.position(); missing > 0 {
		l.lost(s.before, fmt.Errorf("%w: %d records are missing", ErrDamaged, missing))
	}
	skip := l.mark.position() - s.before.position()
	for _, r := range s.rows {
		if skip--; skip >= 0 {
			continue
		}
		l.loadRow(r)
	}
}

func (l *Log) loadRow(r row) {
	if r.kind == kindPacket {
		if r.damaged == nil {
			place, obj, err := decodePacket(r.data)
			if err == nil {
				l.putPacket(place, obj, r.data)
				return
			}
			r.damaged = err
		}
		l.lost(mark{l.mark.packets + 1, l.mark.facts}, fmt.Errorf("%w: %w", ErrDamaged, r.damaged))
		return
	}
	fact, err := Fact(nil), r.damaged
	if err == nil {
		fact, err = decodeFact(r.data)
	}
	if err != nil {
		l.lost(mark{l.mark.packets, l.mark.facts + 1}, fmt.Errorf("%w: %w", ErrDamaged, err))
		return
	}
	l.facts = append(l.facts, placed{after: len(l.packed), fact: fact, data: bytes.Clone(r.data)})
	l.mark.facts++
}

// lost stands for records that cannot be read, up to a mark: packets keep their
// numbers, as notices.
func (l *Log) lost(to mark, why error) {
	for l.mark.packets < to.packets {
		place := packet.At(0, 0)
		obj, data := encodePacket(place, packet.NewNotice(packet.CodeRecordDamaged, ""))
		l.putPacket(place, obj, data)
	}
	for l.mark.facts < to.facts {
		l.facts = append(l.facts, placed{after: len(l.packed), damaged: why})
		l.mark.facts++
	}
	l.damage = append(l.damage, why)
}

// Damage says what of a stored log cannot be read, nil for nothing.
func (l *Log) Damage() []error { return l.damage }
