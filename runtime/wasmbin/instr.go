package wasmbin

// BlockType is the type of a block, loop or if: a type index if Index is at least 0,
// else no parameter and the result Result, or none if Result is 0.
type BlockType struct {
	Index  int64
	Result ValueType
}

// Instr is one decoded instruction. Which fields are set depends on the opcode; the
// others have what an instruction before left in them.
type Instr struct {
	Op Op
	// Start and End are the offsets of the instruction in the code.
	Start, End int
	// A is the first index (label, local, global, function, type, table, memory,
	// segment), B the second.
	A, B uint32
	// Align is the alignment of an access as a power of two, Lane its lane.
	Align, Lane uint32
	// Block is the type of a block, loop or if.
	Block BlockType
	// Labels are those of a br_table, the default last. They are valid until the next
	// instruction.
	Labels []uint32
	// Types are those of a select with a type, or the one of ref.null.
	Types []ValueType
}

// Decoder reads the instructions of a function body (after its locals) or of a
// constant expression. It checks each instruction's form and nothing of its meaning.
type Decoder struct {
	c      cursor
	labels []uint32
	types  []ValueType
}

// NewDecoder returns a decoder of code.
func NewDecoder(code []byte) *Decoder { return &Decoder{c: cursor{data: code}} }

// Reset makes the decoder read code from its begin, and keeps its buffers.
func (d *Decoder) Reset(code []byte) { d.c = cursor{data: code} }

// Next decodes one instruction into in. It returns false at the end of the code and
// after a fault, which Err returns.
func (d *Decoder) Next(in *Instr) bool {
	c := &d.c
	if c.err != nil || c.rest() == 0 {
		return false
	}
	in.Start = c.pos
	in.Op = Op(c.data[c.pos])
	c.pos++
	s := shapes[in.Op]
	switch {
	case s == shapeNone:
	case s == shapeIndex:
		in.A = c.u32()
	default:
		if in.Op == 0xfc || in.Op == 0xfd {
			in.Op = c.prefixed(in.Op)
			s = shapeOf(in.Op)
		}
		d.immediates(in, s)
	}
	in.End = c.pos
	return c.err == nil
}

// prefixed reads the number after a prefix. It must have its shortest form: wazero
// reads one byte, and takes the second one of a longer form for an instruction (it
// relies on 0x01 being nop), so that a padded number would be another program there.
func (c *cursor) prefixed(prefix Op) Op {
	begin := c.pos
	n := c.u32()
	switch {
	case c.err != nil:
	case n > 0xff:
		c.fail(unknownOp(prefix, n))
	case c.pos-begin > 1+int(n>>7):
		c.fail(unsupported("The module writes the number of an instruction in more bytes than it needs. Build it " +
			"with a current toolchain."))
	}
	return prefix<<8 | Op(n&0xff)
}

// Err returns why Next returned false, nil at the end of the code.
func (d *Decoder) Err() error {
	if d.c.err == nil {
		return nil
	}
	return d.c.err
}

// unknownOp names the proposal that an unknown opcode belongs to, where there is one.
func unknownOp(op Op, n uint32) error {
	switch {
	case op == 0x12 || op == 0x13:
		return unsupported("The module uses tail calls, which are not run here. Build it without that proposal.")
	case op >= 0x06 && op <= 0x0a || op == 0x18 || op == 0x19 || op == 0x1f:
		return unsupported("The module uses WebAssembly exceptions, which are not run here. Build it without them " +
			"(for C++: -fno-exceptions).")
	case op == 0xfe:
		return unsupported("The module uses threads (atomic instructions), which are not run here. Build it for one " +
			"thread.")
	case op == 0xfd && n > 0xff:
		return unsupported("The module uses relaxed SIMD, which is not run here. Build it without that proposal.")
	case op == 0xfb || op >= 0xd3 && op <= 0xd6 || op == 0x14 || op == 0x15:
		return unsupported("The module uses typed references or garbage collection, which are not run here. Build it " +
			"without those proposals.")
	}
	return unsupported("The module has the instruction %s, which is not part of WebAssembly 2.0.", op)
}

func (d *Decoder) immediates(in *Instr, s shape) {
	c := &d.c
	switch s {
	case shapeUnknown:
		c.fail(unknownOp(in.Op, uint32(in.Op&0xff)))
	case shapeBlock:
		in.Block = c.blockType()
	case shapeIndex:
		in.A = c.u32()
	case shapeTable:
		in.Labels = d.readLabels()
	case shapeIndirect, shapeTwo:
		in.A, in.B = c.u32(), c.u32()
	case shapeTypes:
		in.Types = d.readTypes()
	case shapeRef:
		in.Types = append(d.types[:0], ValueType(c.byte()))
		d.types = in.Types
	case shapeMemArg:
		c.memArg(in)
	case shapeMemLane:
		c.memArg(in)
		in.Lane = uint32(c.byte())
	case shapeZero:
		c.zero()
	case shapeZeros:
		c.zero()
		c.zero()
	case shapeIndexZero:
		in.A = c.u32()
		c.zero()
	case shapeI32:
		c.skipSigned(32)
	case shapeI64:
		c.skipSigned(64)
	case shape4:
		c.take(4)
	case shape8:
		c.take(8)
	case shape16:
		c.take(16)
	case shapeLane:
		in.Lane = uint32(c.byte())
	case shapeLanes:
		in.Lane = 0
		for _, lane := range c.take(16) {
			in.Lane = max(in.Lane, uint32(lane))
		}
	}
}

func (d *Decoder) readLabels() []uint32 {
	n := d.c.count("labels in one br_table", maxBrTable)
	d.labels = d.labels[:0]
	for range n + 1 {
		d.labels = append(d.labels, d.c.u32())
	}
	return d.labels
}

func (d *Decoder) readTypes() []ValueType {
	n := d.c.count("types in one select", 1)
	d.types = d.types[:0]
	for range n {
		d.types = append(d.types, ValueType(d.c.byte()))
	}
	return d.types
}

// zero reads the byte that names the only memory.
func (c *cursor) zero() {
	if b := c.byte(); c.err == nil && b != 0 {
		c.fail(unsupported("The module names a second memory, which is not run here. Build it without the " +
			"multi-memory proposal."))
	}
}

func (c *cursor) memArg(in *Instr) {
	in.Align = c.u32()
	if c.err == nil && in.Align&0x40 != 0 {
		c.fail(unsupported("The module names a second memory, which is not run here. Build it without the " +
			"multi-memory proposal."))
	}
	c.u32()
}

// blockType reads a block type: an empty one, one result, or a type index as a
// signed number of 33 bits that is not negative.
func (c *cursor) blockType() BlockType {
	if c.rest() == 0 {
		c.byte()
		return BlockType{}
	}
	switch b := c.data[c.pos]; {
	case b == 0x40:
		c.pos++
		return BlockType{Index: -1}
	case ValueType(b).valid():
		c.pos++
		return BlockType{Index: -1, Result: ValueType(b)}
	}
	if n := c.signed(33); n >= 0 {
		return BlockType{Index: n}
	}
	c.fail(malformed("The module has a block of an unknown type."))
	return BlockType{}
}
