package wasmbin

// Read checks a module against limits and returns its summary. It validates all of
// the module but its code, which Validate does. Errors are *Error.
func Read(wasm []byte, limits Limits) (*Module, error) {
	if err := CheckSize(wasm, limits); err != nil {
		return nil, err
	}
	sections, err := Sections(wasm, limits.CustomSections)
	if err != nil {
		return nil, err
	}
	r := &reader{limits: limits, module: &Module{limits: limits, sections: sections, declared: map[uint32]bool{}}}
	for _, s := range sections {
		if err := r.section(s); err != nil {
			return nil, err
		}
	}
	if len(r.module.FuncTypes) != r.bodies {
		return nil, malformed("The module declares %d functions and has %d bodies.", len(r.module.FuncTypes), r.bodies)
	}
	if r.module.counted && r.counted != r.module.segments {
		return nil, malformed("The module announces %d data segments and has %d.", r.counted, r.module.segments)
	}
	return r.module, nil
}

// CheckSize checks the size of a whole module. Its error is an *Error.
func CheckSize(wasm []byte, limits Limits) error {
	if len(wasm) > limits.ModuleBytes {
		return beyond("bytes", uint64(len(wasm)), uint64(limits.ModuleBytes))
	}
	return nil
}

// reader collects what later sections need from earlier ones.
type reader struct {
	limits  Limits
	module  *Module
	bodies  int
	counted int // data segments that the data count section announces
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
		r.readStart(c)
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
		n := c.u32()
		if err := beyond("data segments", uint64(n), uint64(r.limits.DataSegments)); err != nil {
			return err
		}
		r.module.counted, r.counted = true, int(n)
		return c.end("data count")
	}
	return nil
}

func (r *reader) readTypes(c *cursor) {
	n := c.count("types", r.limits.Types)
	r.module.Types = make([]FuncType, 0, n)
	for range n {
		if form := c.byte(); c.err == nil && form != 0x60 {
			c.fail(unsupported("The module has a type of the form 0x%02x; only function types are run. It was built "+
				"with a proposal (such as garbage collection) that must be switched off.", form))
		}
		var t FuncType
		t.Params = r.valueTypes(c)
		t.Results = r.valueTypes(c)
		if c.err != nil {
			return
		}
		r.module.Types = append(r.module.Types, t)
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
	if uint64(index) >= uint64(len(r.module.Types)) {
		c.fail(malformed("The module names the type %d and has only %d.", index, len(r.module.Types)))
		return FuncType{}
	}
	return r.module.Types[index]
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
			c.fail(unsupported("The module imports the %s %q.%q; only functions can be imported. Link it so that it "+
				"defines its own (for LLVM: without --import-%s).", kind, im.Module, im.Name, kind))
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
	r.module.FuncTypes = make([]uint32, 0, n)
	for range n {
		index := c.u32()
		r.funcType(c, index)
		if c.err != nil {
			return
		}
		r.module.FuncTypes = append(r.module.FuncTypes, index)
	}
	r.module.Functions = n
}

func (r *reader) readExports(c *cursor) {
	n := c.count("exports", r.limits.Exports)
	r.module.Exports = make([]Export, 0, n)
	names := make(map[string]bool, n)
	for range n {
		e := Export{Name: c.name(), Kind: ExternKind(c.byte())}
		index := c.u32()
		if c.err == nil && names[e.Name] {
			c.fail(invalid("the name %q is exported twice", e.Name))
		}
		r.checkExport(c, &e, index)
		if c.err != nil {
			return
		}
		names[e.Name] = true
		r.module.Exports = append(r.module.Exports, e)
	}
}

// checkExport checks that what is exported is there, and sets a function's type.
func (r *reader) checkExport(c *cursor, e *Export, index uint32) {
	if c.err != nil {
		return
	}
	n := 0
	switch e.Kind {
	case ExternFunc:
		e.Type = r.functionType(c, index)
		r.module.declared[index] = true
		return
	case ExternTable:
		n = len(r.module.Tables)
	case ExternMemory:
		if r.module.Memory != nil {
			n = 1
		}
	case ExternGlobal:
		n = len(r.module.Globals)
	case ExternTag:
		c.fail(unsupported("The module uses WebAssembly exceptions, which are not run here. Build it without them " +
			"(for C++: -fno-exceptions)."))
		return
	default:
		c.fail(malformed("The module has an export of the unknown kind %d.", byte(e.Kind)))
		return
	}
	if uint64(index) >= uint64(n) {
		c.fail(invalid("it exports the %s %d, which it does not have", e.Kind, index))
	}
}

// functionType returns the type of a function by its index, imports first.
func (r *reader) functionType(c *cursor, index uint32) FuncType {
	t, ok := r.module.FunctionType(index)
	if !ok && c.err == nil {
		c.fail(invalid("it names the function %d, which it does not have", index))
	}
	return t
}

func (r *reader) readStart(c *cursor) {
	r.module.HasStart = true
	t := r.functionType(c, c.u32())
	if c.err == nil && len(t.Params)+len(t.Results) > 0 {
		c.fail(invalid("its start function has the type %s", t))
	}
}
