package wasmbin

// This file reads what takes the host's memory: tables, memories, elements and
// locals.

// readBounds reads the limits of a table or memory.
func readBounds(c *cursor) Bounds {
	flags := c.byte()
	switch {
	case c.err != nil:
		return Bounds{}
	case flags&0x02 != 0:
		c.fail(unsupported("The module uses threads (shared memory), which are not run here. Build it for one thread."))
		return Bounds{}
	case flags&0x04 != 0:
		c.fail(unsupported("The module uses 64-bit memory, which is not run here. Build it for wasm32."))
		return Bounds{}
	case flags > 1:
		c.fail(malformed("The module has a memory or table with the unknown flags 0x%02x.", flags))
		return Bounds{}
	}
	b := Bounds{Min: c.u32(), HasMax: flags == 1}
	if b.HasMax {
		b.Max = c.u32()
		if c.err == nil && b.Max < b.Min {
			c.fail(malformed("The module has a memory or table whose maximum is below its minimum."))
		}
	}
	return b
}

func (r *reader) readTables(c *cursor) {
	n := c.count("tables", r.limits.Tables)
	var total uint64
	for range n {
		t := readTableType(c)
		b := readBounds(c)
		if c.err != nil {
			return
		}
		total += uint64(b.Min)
		if err := beyond("table entries", total, uint64(r.limits.TableEntries)); err != nil {
			c.fail(err)
			return
		}
		r.module.Tables = append(r.module.Tables, b)
		r.module.tableTypes = append(r.module.tableTypes, t)
	}
}

func readTableType(c *cursor) ValueType {
	t := ValueType(c.byte())
	if c.err == nil && t != FuncRef && t != ExternRef {
		c.fail(unsupported("The module has a table of the type 0x%02x, which is not run here.", byte(t)))
	}
	return t
}

// maxPages is the largest memory that 32-bit addresses reach, in pages.
const maxPages = 1 << 16

func (r *reader) readMemory(c *cursor) {
	n := c.u32()
	if c.err == nil && n > 1 {
		c.fail(unsupported("The module has %d memories; one is run. Build it without the multi-memory proposal.", n))
		return
	}
	if n == 1 {
		b := readBounds(c)
		if c.err == nil && (b.Min > maxPages || b.HasMax && b.Max > maxPages) {
			c.fail(invalid("its memory has more than %d pages", maxPages))
		}
		r.module.Memory = &b
	}
}

func (r *reader) readCode(c *cursor) {
	n := c.count("functions", r.limits.Functions)
	r.bodies = n
	var total uint64
	for range n {
		size := c.u32()
		if err := beyond("bytes in one function", uint64(size), uint64(r.limits.BodyBytes)); err != nil {
			c.fail(err)
			return
		}
		body := &cursor{data: c.take(uint64(size))}
		if c.err != nil {
			return
		}
		locals, err := countLocals(body, r.limits.Locals)
		if err != nil {
			c.fail(err)
			return
		}
		total += locals
		if err := beyond("locals", total, uint64(r.limits.TotalLocals)); err != nil {
			c.fail(err)
			return
		}
	}
}

func countLocals(body *cursor, max int) (uint64, error) {
	groups := body.count("groups of locals in one function", max)
	var total uint64
	for range groups {
		total += uint64(body.u32())
		t := ValueType(body.byte())
		if body.err == nil && !t.valid() {
			body.fail(unsupported("The module has a local of the type 0x%02x, which is not run here.", byte(t)))
		}
		if err := beyond("locals in one function", total, uint64(max)); err != nil {
			return 0, err
		}
	}
	return total, body.err
}
