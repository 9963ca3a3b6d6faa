package wasmbin

// Read checks the structure of a module against limits and returns its summary.
// It does not validate instructions: the compiler does. Errors are *Error.
func Read(wasm []byte, limits Limits) (*Module, error) {
	if len(wasm) > limits.ModuleBytes {
		return nil, beyond("bytes", uint64(len(wasm)), uint64(limits.ModuleBytes))
	}
	sections, err := Sections(wasm, limits.CustomSections)
	if err != nil {
		return nil, err
	}
	r := &reader{limits: limits, module: &Module{sections: sections}}
	for _, s := range sections {
		if err := r.section(s); err != nil {
			return nil, err
		}
	}
	if len(r.functions) != r.bodies {
		return nil, malformed("The module declares %d functions and has %d bodies.", len(r.functions), r.bodies)
	}
	return r.module, nil
}

// reader collects what later sections need from earlier ones.
type reader struct {
	limits    Limits
	module    *Module
	types     []FuncType
	functions []uint32 // type index of each function with a body
	bodies    int
}

func (r *reader) section(s Section) error {
	c := &cursor{data: s.Data}
	switch s.ID {
	case SectionType:
		r.readTypes(c)
		return c.end("type")
	case SectionImport:
		r.readImports(c)
		return c.end("import")
	case SectionFunction:
		r.readFunctions(c)
		return c.end("function")
	case SectionTable:
		r.readTables(c)
		return c.end("table")
	case SectionMemory:
		r.readMemory(c)
		return c.end("memory")
	case SectionGlobal:
		r.readGlobals(c)
		return c.end("global")
	case SectionExport:
		r.readExports(c)
		return c.end("export")
	case SectionStart:
		r.module.HasStart = true
		c.u32()
		return c.end("start")
	case SectionElement:
		r.readElements(c)
		return c.end("element")
	case SectionCode:
		r.readCode(c)
		return c.end("code")
	case SectionData:
		r.readData(c)
		return c.end("data")
	case SectionDataCount:
		if err := beyond("data segments", uint64(c.u32()), uint64(r.limits.DataSegments)); err != nil {
			return err
		}
		return c.end("data count")
	}
	return nil
}

func (r *reader) readTypes(c *cursor) {
	n := c.count("types", r.limits.Types)
	r.types = make([]FuncType, 0, n)
	for range n {
		if form := c.byte(); c.err == nil && form != 0x60 {
			c.fail(unsupported("The module has a type of the form 0x%02x; only function types are run. It was built with a proposal (such as garbage collection) that must be switched off.", form))
		}
		var t FuncType
		t.Params = r.valueTypes(c)
		t.Results = r.valueTypes(c)
		if c.err != nil {
			return
		}
		r.types = append(r.types, t)
	}
}

func (r *reader) valueTypes(c *cursor) []ValueType {
	n := c.count("parameters or results in one type", r.limits.Params)
	if n == 0 {
		return nil
	}
	out := make([]ValueType, n)
	for i := range out {
		out[i] = ValueType(c.byte())
		if c.err == nil && !out[i].valid() {
			c.fail(unsupported("The module uses the value type 0x%02x, which is not run here.", byte(out[i])))
		}
	}
	return out
}

func (r *reader) funcType(c *cursor, index uint32) FuncType {
	if c.err != nil {
		return FuncType{}
	}
	if uint64(index) >= uint64(len(r.types)) {
		c.fail(malformed("The module names the type %d and has only %d.", index, len(r.types)))
		return FuncType{}
	}
	return r.types[index]
}

func (r *reader) readImports(c *cursor) {
	n := c.count("imports", r.limits.Imports)
	r.module.Imports = make([]Import, 0, n)
	for range n {
		im := Import{Module: c.name(), Name: c.name()}
		kind := ExternKind(c.byte())
		if c.err != nil {
			return
		}
		if kind != ExternFunc {
			c.fail(unsupported("The module imports the %s %q.%q; only functions can be imported. Link it so that it defines its own (for LLVM: without --import-%s).", kind, im.Module, im.Name, kind))
			return
		}
		im.Type = r.funcType(c, c.u32())
		if c.err != nil {
			return
		}
		r.module.Imports = append(r.module.Imports, im)
	}
}

func (r *reader) readFunctions(c *cursor) {
	n := c.count("functions", r.limits.Functions)
	r.functions = make([]uint32, 0, n)
	for range n {
		index := c.u32()
		r.funcType(c, index)
		if c.err != nil {
			return
		}
		r.functions = append(r.functions, index)
	}
	r.module.Functions = n
}

func (r *reader) readExports(c *cursor) {
	n := c.count("exports", r.limits.Exports)
	r.module.Exports = make([]Export, 0, n)
	for range n {
		e := Export{Name: c.name(), Kind: ExternKind(c.byte())}
		index := c.u32()
		if c.err != nil {
			return
		}
		if e.Kind == ExternFunc {
			e.Type = r.functionType(c, index)
		}
		r.module.Exports = append(r.module.Exports, e)
	}
}

// functionType returns the type of a function by its index, imports first.
func (r *reader) functionType(c *cursor, index uint32) FuncType {
	imports := uint64(len(r.module.Imports))
	switch {
	case uint64(index) < imports:
		return r.module.Imports[index].Type
	case uint64(index) < imports+uint64(len(r.functions)):
		return r.funcType(c, r.functions[uint64(index)-imports])
	}
	c.fail(malformed("The module exports the function %d, which it does not have.", index))
	return FuncType{}
}
