package wasmbin

// This file reads globals, element segments and data segments. Each holds constant
// expressions, which are validated here.

// constant is the value of a constant expression, as far as it matters here.
type constant struct {
	typ ValueType
	op  Op
	// index is the function of ref.func.
	index uint32
}

// readConst reads a constant expression of the type want: one instruction and its
// end. (global.get may name imported globals only, and there are none.)
func (r *reader) readConst(c *cursor, want ValueType) constant {
	if c.err != nil {
		return constant{}
	}
	d := Decoder{c: cursor{data: c.data, pos: c.pos}}
	var in Instr
	d.Next(&in)
	v := constant{op: in.Op}
	switch {
	case d.c.err != nil:
	case in.Op == OpI32Const:
		v.typ = I32
	case in.Op == OpI64Const:
		v.typ = I64
	case in.Op == OpF32Const:
		v.typ = F32
	case in.Op == OpF64Const:
		v.typ = F64
	case in.Op == opV128Const:
		v.typ = V128
	case in.Op == OpRefNull:
		v.typ = in.Types[0]
	case in.Op == OpRefFunc:
		v.typ, v.index = FuncRef, in.A
		r.functionType(&d.c, in.A)
		r.module.declared[in.A] = true
	case in.Op == OpGlobalGet:
		d.c.fail(invalid("a constant names the global %d, which is not imported", in.A))
	default:
		d.c.fail(invalid("an initial value is not a constant"))
	}
	if d.c.err == nil && v.typ != want {
		d.c.fail(invalid("an initial value has the type %s where %s is needed", v.typ, want))
	}
	if end := d.c.byte(); d.c.err == nil && Op(end) != OpEnd {
		d.c.fail(unsupported("The module computes an initial value with more than one instruction (the " +
			"extended-const proposal), which is not run here."))
	}
	c.pos = d.c.pos
	if d.c.err != nil {
		c.fail(d.c.err)
	}
	return v
}

func (r *reader) readGlobals(c *cursor) {
	for range c.count("globals", r.limits.Globals) {
		t := ValueType(c.byte())
		mutable := c.byte()
		switch {
		case c.err != nil:
			return
		case !t.valid():
			c.fail(unsupported("The module has a global of the type 0x%02x, which is not run here.", byte(t)))
		case mutable > 1:
			c.fail(malformed("The module has a global with the unknown flags 0x%02x.", mutable))
		}
		r.readConst(c, t)
		if c.err != nil {
			return
		}
		r.module.Globals = append(r.module.Globals, Global{Type: t, Mutable: mutable == 1})
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

// readElement reads one segment and returns its number of entries. The three low
// bits of its flags say whether it is passive or declared, whether a table (or the
// declaration) is named, and whether its entries are expressions.
func (r *reader) readElement(c *cursor) int {
	flags := c.u32()
	if c.err == nil && flags > 7 {
		c.fail(malformed("The module has an element segment with the unknown flags %d.", flags))
		return 0
	}
	active, typ := flags&1 == 0, FuncRef
	table := uint32(0)
	if active && flags&2 != 0 {
		table = c.u32()
	}
	if active {
		r.readConst(c, I32)
	}
	if flags&3 != 0 {
		typ = readElementType(c, flags&4 != 0)
	}
	if active && c.err == nil {
		if uint64(table) >= uint64(len(r.module.tableTypes)) {
			c.fail(invalid("an element segment names the table %d, which it does not have", table))
		} else if r.module.tableTypes[table] != typ {
			c.fail(invalid("an element segment of the type %s is for a table of %s", typ, r.module.tableTypes[table]))
		}
	}
	r.module.elements = append(r.module.elements, typ)
	n := c.count("entries in one element segment", r.limits.ElementEntries)
	for range n {
		if flags&4 != 0 {
			r.readConst(c, typ)
		} else {
			index := c.u32()
			r.functionType(c, index)
			r.module.declared[index] = true
		}
		if c.err != nil {
			return 0
		}
	}
	return n
}

// readElementType reads the type of a segment's entries, which is a reference type if
// they are expressions and else the byte 0 for functions.
func readElementType(c *cursor, expressions bool) ValueType {
	b := c.byte()
	switch t := ValueType(b); {
	case c.err != nil:
	case expressions && (t == FuncRef || t == ExternRef):
		return t
	case !expressions && b == 0:
	case expressions:
		c.fail(unsupported("The module has an element segment of the type 0x%02x, which is not run here.", b))
	default:
		c.fail(malformed("The module has an element segment of the unknown kind %d.", b))
	}
	return FuncRef
}

func (r *reader) readData(c *cursor) {
	n := c.count("data segments", r.limits.DataSegments)
	r.module.segments = n
	for range n {
		flags := c.u32()
		switch {
		case c.err != nil:
			return
		case flags > 2:
			c.fail(malformed("The module has a data segment with the unknown flags %d.", flags))
			return
		case flags == 2:
			if c.u32() != 0 {
				c.fail(unsupported("The module has a data segment for a second memory, which is not run here. Build " +
					"it without the multi-memory proposal."))
			}
		}
		if flags != 1 {
			r.readConst(c, I32)
			if c.err == nil && r.module.Memory == nil {
				c.fail(invalid("a data segment is for a memory that it does not have"))
			}
		}
		c.take(uint64(c.u32()))
		if c.err != nil {
			return
		}
	}
}
