package wasmbin

import (
	"cmp"
	"slices"
)

// joinGap is the largest run of zeros that is put between two data segments to make
// them one.
const joinGap = 256

// joinable reports whether the numbering of the data segments can change. Only
// memory.init and data.drop name a segment, and the format allows those only in a
// module with a data count section.
func (m *Module) joinable() bool {
	for _, s := range m.sections {
		if s.ID == SectionDataCount {
			return false
		}
	}
	return m.Memory != nil
}

// joinData rewrites the content of a data section that Read accepted. Segments are
// put in the order of their addresses, and those with a gap of at most joinGap become
// one; memory is zero where nothing was written, so the zeros between them change
// nothing. The result is the original if segments overlap, since their order then
// matters, or if any is not active at a constant address.
func joinData(data []byte) []byte {
	segments, ok := plainSegments(data)
	if !ok {
		return data
	}
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.at, b.at) })
	var (
		out   []byte
		count uint32
		run   segment
	)
	flush := func() {
		if len(run.content) > 0 {
			out = appendActive(out, run)
			count++
		}
	}
	for _, s := range segments {
		end := uint64(run.at) + uint64(len(run.content))
		switch {
		case uint64(s.at) < end:
			return data
		case len(run.content) == 0 || uint64(s.at)-end > joinGap:
			flush()
			run = segment{at: s.at, content: slices.Clone(s.content)}
		default:
			run.content = append(run.content, make([]byte, uint64(s.at)-end)...)
			run.content = append(run.content, s.content...)
		}
	}
	flush()
	return append(AppendU32(nil, count), out...)
}

// segment is an active data segment of memory 0 at a constant address.
type segment struct {
	at      uint32
	content []byte
}

// plainSegments reads a data section; ok is false if a segment has another form or
// is empty (an empty one at an address beyond memory still fails).
func plainSegments(data []byte) (segments []segment, ok bool) {
	c := &cursor{data: data}
	for range c.u32() {
		at, ok := plainSegment(c)
		content := c.take(uint64(c.u32()))
		if !ok || c.err != nil || len(content) == 0 {
			return nil, false
		}
		segments = append(segments, segment{at, content})
	}
	return segments, c.err == nil
}

// plainSegment reads the flags and the address of one segment; ok is false unless it is active, in memory 0, at a constant address.
func plainSegment(c *cursor) (offset uint32, ok bool) {
	const (
		opI32Const = 0x41
		opEnd      = 0x0b
	)
	if c.u32() != 0 || c.byte() != opI32Const {
		return 0, false
	}
	var value uint64
	for shift := uint(0); ; shift += 7 {
		b := c.byte()
		if c.err != nil || shift > 28 {
			return 0, false
		}
		value |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift < 28 {
				value |= ^uint64(0) << (shift + 7)
			}
			return uint32(value), c.byte() == opEnd && c.err == nil
		}
	}
}

// appendActive appends an active data segment of memory 0.
func appendActive(dst []byte, s segment) []byte {
	dst = append(AppendS64(append(dst, 0, byte(OpI32Const)), int64(int32(s.at))), byte(OpEnd))
	dst = AppendU32(dst, uint32(len(s.content)))
	return append(dst, s.content...)
}
