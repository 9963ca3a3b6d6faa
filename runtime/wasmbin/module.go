package wasmbin

// ValueType is the type of a parameter or a result, as the binary format writes
// it.
type ValueType byte

// The value types of WebAssembly 2.0.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

// String returns the name of the type in the text format.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return "unknown"
}

func (t ValueType) valid() bool { return t.String() != "unknown" }

// FuncType is the type of a function.
type FuncType struct{ Params, Results []ValueType }

// String returns the type as (i64, i32) -> (i64).
func (t FuncType) String() string { return list(t.Params) + " -> " + list(t.Results) }

func list(types []ValueType) string {
	s := "("
	for i, t := range types {
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	return s + ")"
}

// ExternKind is what an import or an export is.
type ExternKind byte

// The kinds of imports and exports.
const (
	ExternFunc ExternKind = iota
	ExternTable
	ExternMemory
	ExternGlobal
	ExternTag
)

// String returns the kind in words.
func (k ExternKind) String() string {
	switch k {
	case ExternFunc:
		return "function"
	case ExternTable:
		return "table"
	case ExternMemory:
		return "memory"
	case ExternGlobal:
		return "global"
	case ExternTag:
		return "tag"
	}
	return "unknown"
}

// Import is one function that a module imports. (Modules that import anything
// else are refused.)
type Import struct {
	Module, Name string
	Type         FuncType
}

// Export is one thing that a module exports. Type is set for functions.
type Export struct {
	Name string
	Kind ExternKind
	Type FuncType
}

// Bounds are the minimum and maximum of a table or memory, in entries or pages.
type Bounds struct {
	Min    uint32
	Max    uint32
	HasMax bool
}

// Module is the summary of a module.
type Module struct {
	Imports []Import
	Exports []Export
	// Memory is nil for a module without one. A page has 64 KiB.
	Memory *Bounds
	Tables []Bounds
	// Functions is the number of functions with a body.
	Functions int
	HasStart  bool
	// Types are the module's function types, by type index.
	Types []FuncType
	// FuncTypes are the type indexes of the functions with a body.
	FuncTypes []uint32
	Globals   []Global

	limits Limits
	// sections are those that the module was read from.
	sections   []Section
	tableTypes []ValueType
	elements   []ValueType // the type of each element segment
	segments   int         // data segments
	counted    bool        // there is a data count section
	// declared are the functions that code may take a reference to: those named
	// outside of code.
	declared map[uint32]bool
}

// Global is the type of a global.
type Global struct {
	Type    ValueType
	Mutable bool
}

// Sections returns the sections that the module was read from. They must not be
// changed.
func (m *Module) Sections() []Section { return m.sections }

// FunctionType returns the type of a function by its index, imports first. ok is
// false if there is no such function.
func (m *Module) FunctionType(index uint32) (t FuncType, ok bool) {
	imports := uint64(len(m.Imports))
	switch {
	case uint64(index) < imports:
		return m.Imports[index].Type, true
	case uint64(index) < imports+uint64(len(m.FuncTypes)):
		return m.Types[m.FuncTypes[uint64(index)-imports]], true
	}
	return FuncType{}, false
}

// Export returns the export of that name and kind.
func (m *Module) Export(name string, kind ExternKind) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name && e.Kind == kind {
			return e, true
		}
	}
	return Export{}, false
}
