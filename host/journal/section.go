package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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
	// bare says, of a row to write, that data lacks the brace it begins with.
	bare bool
	// damaged is set where a read row does not fit its sum.
	damaged error
}

func (r row) size() int {
	if r.bare {
		return 1 + len(r.data)
	}
	return len(r.data)
}

func (r row) sum() uint32 {
	if r.bare {
		return crc32.Update(braceSum, castagnoli, r.data)
	}
	return crc32.Checksum(r.data, castagnoli)
}

// The kinds of rows.
const (
	kindPacket = 'p'
	kindFact   = 'f'
)

const sectionVersion = 1

// maxHeader bounds the header of a section that is read, in bytes.
const maxHeader = 16 << 20

// maxMissing bounds the records that a section says stand before it and are not
// there.
const maxMissing = 1 << 20

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	braceSum   = crc32.Checksum([]byte{'{'}, castagnoli)
)

var (
	errHeader = errors.New("the header of a section does not fit its sum")
	errSum    = errors.New("it does not fit its sum")
	errShort  = errors.New("its end is missing")
)

// encode writes the section behind out.
func (s section) encode(out []byte) []byte {
	out = append(out, 0, 0, 0, 0)
	start := len(out)
	out = append(out, sectionVersion)
	out = binary.AppendUvarint(out, uint64(len(s.run)))
	out = append(out, s.run...)
	for _, n := range [...]int64{s.epoch, int64(s.before.packets), int64(s.before.facts), int64(len(s.rows))} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	for _, r := range s.rows {
		out = append(out, r.kind)
		out = binary.AppendUvarint(out, uint64(r.size()))
		out = binary.LittleEndian.AppendUint32(out, r.sum())
	}
	header := out[start:]
	binary.LittleEndian.PutUint32(out[start-4:], uint32(len(header)))
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(header, castagnoli))
	for _, r := range s.rows {
		if r.bare {
			out = append(out, '{')
		}
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
	n := uint64(binary.LittleEndian.Uint32(data))
	if data = data[4:]; n > maxHeader || n+4 > uint64(len(data)) {
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
