package wasmbin

import "unicode/utf8"

// cursor reads foreign bytes from front to back. After the first fault every
// read returns zero values and err stays what it was, so that a reader may check
// once at the end of a group.
type cursor struct {
	data []byte
	pos  int
	err  error
}

func (c *cursor) rest() int { return len(c.data) - c.pos }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
		c.pos = len(c.data)
	}
}

func (c *cursor) byte() byte {
	if c.rest() < 1 {
		c.fail(malformed("The module ends in the middle of a section; the file is cut short."))
		return 0
	}
	b := c.data[c.pos]
	c.pos++
	return b
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (c *cursor) u32() uint32 {
	if c.pos < len(c.data) && c.data[c.pos] < 0x80 { // most numbers are small
		c.pos++
		return uint32(c.data[c.pos-1])
	}
	return uint32(c.leb(32))
}

// leb reads an unsigned LEB128 number of at most bits bits, in the form that the
// WebAssembly specification allows: no more bytes than needed for that width, and
// no bit set beyond it.
func (c *cursor) leb(bits uint) uint64 {
	var value uint64
	for shift := uint(0); shift < bits; shift += 7 {
		b := c.byte()
		if c.err != nil {
			return 0
		}
		if left := bits - shift; left < 7 && b>>left != 0 {
			break
		}
		value |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return value
		}
	}
	c.fail(malformed("The module has a number that is longer than its width; the file is damaged."))
	return 0
}

// skipSigned steps over a signed LEB128 number of at most bits bits.
func (c *cursor) skipSigned(bits uint) {
	if c.pos < len(c.data) && c.data[c.pos] < 0x80 {
		c.pos++
		return
	}
	c.signed(bits)
}

// signed reads a signed LEB128 number of at most bits bits. Bits of the last byte
// beyond that width must repeat the sign, as the specification says.
func (c *cursor) signed(bits uint) int64 {
	var value int64
	for shift := uint(0); shift < bits; shift += 7 {
		b := c.byte()
		if c.err != nil {
			return 0
		}
		value |= int64(b&0x7f) << shift
		if left := bits - shift; left < 7 {
			if sign := int8(b<<1) >> left; b&0x80 != 0 || sign != 0 && sign != -1 {
				break
			}
		}
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				value |= -1 << (shift + 7)
			}
			return value
		}
	}
	c.fail(malformed("The module has a number that is longer than its width; the file is damaged."))
	return 0
}

// take returns the next n bytes, which are a view into the module.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(c.rest()) {
		c.fail(malformed("The module ends in the middle of a section; the file is cut short."))
		return nil
	}
	out := c.data[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return out
}

func (c *cursor) name() string {
	raw := c.take(uint64(c.u32()))
	if !utf8.Valid(raw) {
		c.fail(malformed("The module has a name that is not UTF-8."))
		return ""
	}
	return string(raw)
}

// count reads the length of a vector. Every entry takes at least one byte, so a
// count beyond the bytes that are left is a lie, and is refused before anybody
// allocates for it.
func (c *cursor) count(what string, max int) int {
	n := c.u32()
	if c.err != nil {
		return 0
	}
	if err := beyond(what, uint64(n), uint64(max)); err != nil {
		c.fail(err)
		return 0
	}
	if uint64(n) > uint64(c.rest()) {
		c.fail(malformed("The module says that it has %d %s, and is too short to hold them.", n, what))
		return 0
	}
	return int(n)
}

// end fails unless every byte was read.
func (c *cursor) end(what string) error {
	if c.err == nil && c.rest() != 0 {
		c.fail(malformed("The module's %s section has %d bytes too many.", what, c.rest()))
	}
	return c.err
}

// AppendU32 appends n as unsigned LEB128.
func AppendU32(dst []byte, n uint32) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// AppendS64 appends n as signed LEB128.
func AppendS64(dst []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}
