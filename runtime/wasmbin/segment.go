package wasmbin

// This file reads globals, element segments and data segments. Each holds constant
// expressions; their types are the compiler's to check, their lengths and counts
// are checked here.

// skipConst steps over a constant expression: one instruction and its end.
func skipConst(c *cursor) {
	const (
		opEnd       = 0x0b
		opGlobalGet = 0x23
		opI32Const  = 0x41
		opI64Const  = 0x42
		opF32Const  = 0x43
		opF64Const  = 0x44
		opRefNull   = 0xd0
		opRefFunc   = 0xd2
		opVector    = 0xfd
		v128Const   = 0x0c
	)
	switch op := c.byte(); op {
	case opGlobalGet, opRefFunc:
		c.u32()
	case opI32Const:
		c.skipSigned(32)
	case opI64Const:
		c.skipSigned(64)
	case opF32Const:
		c.take(4)
	case opF64Const:
		c.take(8)
	case opRefNull:
		c.byte()
	case opVector:
		if c.u32() != v128Const {
			c.fail(malformed("The module has an initial value that is not a constant."))
		}
		c.take(16)
	default:
		c.fail(malformed("The module has an initial value that is not a constant."))
	}
	if end := c.byte(); c.err == nil && end != opEnd {
		c.fail(unsupported("The module computes an initial value with more than one instruction (the extended-const proposal), which is not run here."))
	}
}

func (r *reader) readGlobals(c *cursor) {
	for range c.count("globals", r.limits.Globals) {
		if t := ValueType(c.byte()); c.err == nil && !t.valid() {
			c.fail(unsupported("The module has a global of the type 0x%02x, which is not run here.", byte(t)))
		}
		c.byte() // mutable or not
		skipConst(c)
		if c.err != nil {
			return
		}
	}
}

func (r *reader) readElements(c *cursor) {
	var total uint64
	for range c.count("element segments", r.limits.Elements) {
		total += uint64(r.readElement(c))
		if c.err != nil {
			return
		}
		if err := beyond("element entries", total, uint64(r.limits.ElementEntries)); err != nil {
			c.fail(err)
			return
		}
	}
}

// readElement steps over one segment and returns its number of entries. The three
// low bits of its flags say whether it is passive or declared, whether a table (or
// the declaration) is named, and whether its entries are expressions.
func (r *reader) readElement(c *cursor) int {
	flags := c.u32()
	if c.err == nil && flags > 7 {
		c.fail(malformed("The module has an element segment with the unknown flags %d.", flags))
		return 0
	}
	active := flags&1 == 0
	if active && flags&2 != 0 {
		c.u32() // the table
	}
	if active {
		skipConst(c)
	}
	if flags&3 != 0 {
		c.byte() // the kind or type of its entries
	}
	n := c.count("entries in one element segment", r.limits.ElementEntries)
	for range n {
		if flags&4 != 0 {
			skipConst(c)
		} else {
			c.u32()
		}
		if c.err != nil {
			return 0
		}
	}
	return n
}

func (r *reader) readData(c *cursor) {
	for range c.count("data segments", r.limits.DataSegments) {
		flags := c.u32()
		switch {
		case c.err != nil:
			return
		case flags > 2:
			c.fail(malformed("The module has a data segment with the unknown flags %d.", flags))
			return
		case flags == 2:
			c.u32() // the memory
		}
		if flags != 1 {
			skipConst(c)
		}
		c.take(uint64(c.u32()))
		if c.err != nil {
			return
		}
	}
}
