package wasmbin

// Harden returns a copy of a module for the compiler. Tables get a maximum, so
// that table.grow ends somewhere: entries in all, dealt out to the tables in
// order, at least each table's minimum. Custom sections are left out, but for the
// functions' names when they are well formed: error texts need those, and a
// compiler that reads the rest for debugging would read unchecked counts.
// Data segments that follow one another closely become one: wazero takes a moment
// for each at every instantiation, and Go's linker makes thousands of them. A declared
// maximum of memory is raised by a page: whoever sets an instance back needs one more
// growth, and keeps the guest to the maximum that m has.
// Everything else is copied as it is.
//
// m is the summary that Read returned for the same bytes.
func Harden(wasm []byte, m *Module, limits Limits) []byte {
	out := make([]byte, 0, len(wasm)+64)
	out = append(out, header...)
	named := false
	for _, s := range m.sections {
		switch {
		case s.ID == SectionTable:
			out = AppendSection(out, SectionTable, boundTables(m.Tables, s.Data, limits.TableEntries))
		case s.ID == SectionMemory && m.Memory != nil && m.Memory.HasMax:
			out = AppendSection(out, SectionMemory, raiseMemory(*m.Memory))
		case s.ID == SectionData && m.joinable():
			out = AppendSection(out, SectionData, joinData(s.Data))
		case s.ID != SectionCustom:
			out = append(out, wasm[s.Start:s.End]...)
		case s.Name == "name" && !named:
			named = true
			if names := functionNames(s.Data, limits.Functions+limits.Imports); names != nil {
				out = AppendCustom(out, "name", names)
			}
		}
	}
	return out
}

// boundTables rewrites the content of a table section that Read accepted.
func boundTables(tables []Bounds, data []byte, entries int) []byte {
	spare := uint32(entries)
	for _, b := range tables {
		spare -= min(spare, b.Min)
	}
	c := &cursor{data: data}
	n := c.u32()
	out := AppendU32(nil, n)
	for range n {
		t := readTableType(c)
		b := readBounds(c)
		limit := b.Min + spare
		if b.HasMax {
			limit = min(limit, b.Max)
		}
		spare -= limit - b.Min
		out = append(out, byte(t), 1)
		out = AppendU32(out, b.Min)
		out = AppendU32(out, limit)
	}
	return out
}

// raiseMemory returns the content of a memory section with a maximum of a page more, where
// addresses reach that far.
func raiseMemory(b Bounds) []byte {
	out := AppendU32([]byte{1, 1}, b.Min)
	return AppendU32(out, min(b.Max+1, maxPages))
}

// functionNames returns the part of a name section that names functions, or nil
// if there is none or it is not well formed.
func functionNames(data []byte, maxFunctions int) []byte {
	const subsectionFunctions = 1
	c := &cursor{data: data}
	for c.rest() > 0 {
		id := c.byte()
		body := c.take(uint64(c.u32()))
		if c.err != nil {
			return nil
		}
		if id != subsectionFunctions {
			continue
		}
		if !validNameMap(body, maxFunctions) {
			return nil
		}
		return AppendSection(nil, SectionID(subsectionFunctions), body)
	}
	return nil
}

func validNameMap(body []byte, maxEntries int) bool {
	c := &cursor{data: body}
	for range c.count("names", maxEntries) {
		c.u32()
		c.name()
	}
	return c.end("name") == nil
}
