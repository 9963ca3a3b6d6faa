// Package wasmtest assembles small WebAssembly modules in Go, for tests: a few
// instructions that do one bad thing each, without a toolchain.
//
// Functions, imports and sections come in; module bytes go out. It checks nothing:
// tests need broken modules too.
package wasmtest

import "github.com/bulkhead-host/bulkhead/runtime/wasmbin"

// Short names of the value types.
const (
	I32 = wasmbin.I32
	I64 = wasmbin.I64
)

// Types is a list of value types.
type Types = []wasmbin.ValueType

// Module is a module under construction. Imports come before functions. The zero
// value is an empty module.
type Module struct {
	types    []byte
	nTypes   uint32
	imports  []byte
	nImports uint32
	funcs    []byte
	code     []byte
	nFuncs   uint32
	exports  []byte
	nExports uint32
	data     []byte
	nData    uint32
	sections map[wasmbin.SectionID][]byte
	custom   []byte
}

func (m *Module) typeIndex(params, results Types) uint32 {
	m.types = append(m.types, 0x60)
	for _, list := range []Types{params, results} {
		m.types = wasmbin.AppendU32(m.types, uint32(len(list)))
		for _, t := range list {
			m.types = append(m.types, byte(t))
		}
	}
	m.nTypes++
	return m.nTypes - 1
}

// Import adds an imported function and returns its index.
func (m *Module) Import(module, name string, params, results Types) uint32 {
	m.imports = appendName(appendName(m.imports, module), name)
	m.imports = append(m.imports, byte(wasmbin.ExternFunc))
	m.imports = wasmbin.AppendU32(m.imports, m.typeIndex(params, results))
	m.nImports++
	return m.nImports - 1
}

// Func adds a function of the type () -> results with i64 locals, exported under
// name unless that is empty, and returns its index. The end of the body is added.
func (m *Module) Func(name string, results Types, locals int, body ...[]byte) uint32 {
	m.funcs = wasmbin.AppendU32(m.funcs, m.typeIndex(nil, results))
	b := []byte{0}
	if locals > 0 {
		b = append(wasmbin.AppendU32([]byte{1}, uint32(locals)), byte(I64))
	}
	for _, part := range body {
		b = append(b, part...)
	}
	m.Body(append(b, opEnd))
	m.nFuncs++
	index := m.nImports + m.nFuncs - 1
	if name != "" {
		m.Export(name, wasmbin.ExternFunc, index)
	}
	return index
}

// Function adds a function of any type with a raw body, locals and end included, and
// returns its index.
func (m *Module) Function(params, results Types, body []byte) uint32 {
	m.funcs = wasmbin.AppendU32(m.funcs, m.typeIndex(params, results))
	m.Body(body)
	m.nFuncs++
	return m.nImports + m.nFuncs - 1
}

// Body adds a raw function body, locals included, to the code section.
func (m *Module) Body(body []byte) {
	m.code = wasmbin.AppendU32(m.code, uint32(len(body)))
	m.code = append(m.code, body...)
}

// Export exports something.
func (m *Module) Export(name string, kind wasmbin.ExternKind, index uint32) {
	m.exports = append(appendName(m.exports, name), byte(kind))
	m.exports = wasmbin.AppendU32(m.exports, index)
	m.nExports++
}

// Memory gives the module a memory of min pages, exported as memory.
func (m *Module) Memory(min uint32) {
	m.Section(wasmbin.SectionMemory, wasmbin.AppendU32([]byte{1, 0}, min))
	m.Export("memory", wasmbin.ExternMemory, 0)
}

// Table gives the module a table of functions with min entries and no maximum.
func (m *Module) Table(min uint32) {
	m.Section(wasmbin.SectionTable, wasmbin.AppendU32([]byte{1, byte(wasmbin.FuncRef), 0}, min))
}

// Data puts bytes into memory at an address.
func (m *Module) Data(address int32, data []byte) {
	m.data = append(m.data, 0)
	m.data = append(m.data, Const32(address)...)
	m.data = append(m.data, opEnd)
	m.data = wasmbin.AppendU32(m.data, uint32(len(data)))
	m.data = append(m.data, data...)
	m.nData++
}

// Start makes a function the start function.
func (m *Module) Start(index uint32) {
	m.Section(wasmbin.SectionStart, wasmbin.AppendU32(nil, index))
}

// Section sets a section's whole content.
func (m *Module) Section(id wasmbin.SectionID, content []byte) {
	if m.sections == nil {
		m.sections = map[wasmbin.SectionID][]byte{}
	}
	m.sections[id] = content
}

// Custom adds a custom section at the end.
func (m *Module) Custom(name string, data []byte) {
	m.custom = wasmbin.AppendCustom(m.custom, name, data)
}

// Bytes returns the module.
func (m *Module) Bytes() []byte {
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	put := func(id wasmbin.SectionID, n uint32, body []byte) {
		if content, ok := m.sections[id]; ok {
			out = wasmbin.AppendSection(out, id, content)
		} else if n > 0 {
			out = wasmbin.AppendSection(out, id, append(wasmbin.AppendU32(nil, n), body...))
		}
	}
	put(wasmbin.SectionType, m.nTypes, m.types)
	put(wasmbin.SectionImport, m.nImports, m.imports)
	put(wasmbin.SectionFunction, m.nFuncs, m.funcs)
	put(wasmbin.SectionTable, 0, nil)
	put(wasmbin.SectionMemory, 0, nil)
	put(wasmbin.SectionGlobal, 0, nil)
	put(wasmbin.SectionExport, m.nExports, m.exports)
	put(wasmbin.SectionStart, 0, nil)
	put(wasmbin.SectionElement, 0, nil)
	put(wasmbin.SectionDataCount, 0, nil)
	put(wasmbin.SectionCode, m.nFuncs, m.code)
	put(wasmbin.SectionData, m.nData, m.data)
	return append(out, m.custom...)
}

func appendName(dst []byte, name string) []byte {
	return append(wasmbin.AppendU32(dst, uint32(len(name))), name...)
}
