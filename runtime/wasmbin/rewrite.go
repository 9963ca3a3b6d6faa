package wasmbin

import (
	"errors"
	"fmt"
)

// NewImport is a function import that a Rewrite adds.
type NewImport struct {
	Module, Name string
	Type         FuncType
}

// NewFunction is a function that a Rewrite adds. Body is the whole body, locals and
// end included; its indexes are those of the result.
type NewFunction struct {
	Type FuncType
	Body []byte
}

// NewGlobal is a mutable i64 global that a Rewrite adds, with the initial value 0.
// (No other kind is needed.)
type NewGlobal struct{}

// NewExport is an export that a Rewrite adds. Index is that of the result.
type NewExport struct {
	Name  string
	Kind  ExternKind
	Index uint32
}

// Edit says what Rewrite changes. The zero Edit changes nothing.
type Edit struct {
	// Imports are put after the module's own, so that every function with a body gets
	// a higher index.
	Imports []NewImport
	// Functions, Globals and Exports are put after the module's own.
	Functions []NewFunction
	Globals   []NewGlobal
	Exports   []NewExport
	// Body appends the new body of a function (its number among those with a body) to
	// dst. nil keeps each body, with its function indexes shifted.
	Body func(dst []byte, index int, body Body) ([]byte, error)
	// Strip leaves out custom sections that name offsets in the code, which would be
	// wrong in the result: .debug_* and metadata.code.*.
	Strip bool
}

// Shift is how far the indexes of functions with a body move.
type Shift struct{ from, by uint32 }

// Shift returns how the edit moves the function indexes of m.
func (e *Edit) Shift(m *Module) Shift {
	return Shift{from: uint32(len(m.Imports)), by: uint32(len(e.Imports))}
}

// Index returns the index that a function has after the shift.
func (s Shift) Index(old uint32) uint32 {
	if old < s.from {
		return old
	}
	return old + s.by
}

// AppendInstr appends an instruction of code with its function index shifted.
func (s Shift) AppendInstr(dst, code []byte, in *Instr) []byte {
	if s.by != 0 && (in.Op == OpCall || in.Op == OpRefFunc) {
		return AppendU32(append(dst, byte(in.Op)), s.Index(in.A))
	}
	return append(dst, code[in.Start:in.End]...)
}

// Rewrite returns a copy of a module with an edit. Sections and bodies that the edit
// does not touch are copied as they are: the zero Edit gives the same bytes. m is the
// summary that Read returned for wasm; the module must have passed Validate. The same
// module and edit give the same bytes.
func Rewrite(wasm []byte, m *Module, e *Edit) ([]byte, error) {
	r := &rewriter{m: m, e: e, shift: e.Shift(m)}
	if err := r.plan(); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(wasm)+len(wasm)/2)
	out = append(out, wasm[:HeaderSize]...)
	for _, s := range m.sections {
		if s.ID == SectionCustom {
			out = r.custom(out, wasm, s)
			continue
		}
		out = r.missing(out, sectionRank(s.ID))
		content, changed, err := r.section(s)
		if err != nil {
			return nil, fmt.Errorf("rewrite a module: %w", err)
		}
		if changed {
			out = AppendSection(out, s.ID, content)
		} else {
			out = append(out, wasm[s.Start:s.End]...)
		}
	}
	return r.missing(out, sectionRank(SectionData)+1), nil
}

type rewriter struct {
	m     *Module
	e     *Edit
	shift Shift
	// added has the entries that each section gets at its end, and counts their
	// number.
	added  map[SectionID][]byte
	counts map[SectionID]uint32
	// next is the rank up to which missing sections were written.
	next int
}

// plan encodes what is added.
func (r *rewriter) plan() error {
	r.added, r.counts = map[SectionID][]byte{}, map[SectionID]uint32{}
	add := func(id SectionID, entry []byte) {
		r.added[id] = append(r.added[id], entry...)
		r.counts[id]++
	}
	types := uint32(len(r.m.Types))
	typeIndex := func(t FuncType) []byte {
		add(SectionType, appendFuncType(nil, t))
		types++
		return AppendU32(nil, types-1)
	}
	for _, im := range r.e.Imports {
		entry := appendName(appendName(nil, im.Module), im.Name)
		add(SectionImport, append(append(entry, byte(ExternFunc)), typeIndex(im.Type)...))
	}
	for _, f := range r.e.Functions {
		add(SectionFunction, typeIndex(f.Type))
		add(SectionCode, append(AppendU32(nil, uint32(len(f.Body))), f.Body...))
	}
	for range r.e.Globals {
		add(SectionGlobal, []byte{byte(I64), 1, byte(OpI64Const), 0, byte(OpEnd)})
	}
	names := map[string]bool{}
	for _, e := range r.m.Exports {
		names[e.Name] = true
	}
	for _, e := range r.e.Exports {
		if names[e.Name] {
			return fmt.Errorf("rewrite a module: %w", errors.New("the export "+e.Name+" is there"))
		}
		add(SectionExport, AppendU32(append(appendName(nil, e.Name), byte(e.Kind)), e.Index))
	}
	return nil
}

func appendName(dst []byte, name string) []byte {
	return append(AppendU32(dst, uint32(len(name))), name...)
}

func appendFuncType(dst []byte, t FuncType) []byte {
	dst = append(dst, 0x60)
	for _, types := range [][]ValueType{t.Params, t.Results} {
		dst = append(AppendU32(dst, uint32(len(types))), bytesOf(types)...)
	}
	return dst
}

// missing appends the sections below a rank that the module does not have and that get
// entries.
func (r *rewriter) missing(out []byte, rank int) []byte {
	for id := SectionType; id <= SectionData; id++ {
		if at := sectionRank(id); at < rank && at >= r.next && r.counts[id] > 0 {
			out = AppendSection(out, id, append(AppendU32(nil, r.counts[id]), r.added[id]...))
		}
	}
	r.next = rank + 1
	return out
}

// section returns the new content of a section.
func (r *rewriter) section(s Section) (content []byte, changed bool, err error) {
	moves := r.shift.by != 0
	switch s.ID {
	case SectionGlobal, SectionExport, SectionStart, SectionElement:
		if !moves && r.counts[s.ID] == 0 {
			return nil, false, nil
		}
	case SectionCode:
		if !moves && r.counts[s.ID] == 0 && r.e.Body == nil {
			return nil, false, nil
		}
		content, err = r.code(s.Data)
		return content, true, err
	default:
		if r.counts[s.ID] == 0 {
			return nil, false, nil
		}
	}
	c := &cursor{data: s.Data}
	switch s.ID {
	case SectionStart:
		return AppendU32(nil, r.shift.Index(c.u32())), true, nil
	case SectionGlobal:
		content = r.entries(s.ID, c, r.global)
	case SectionExport:
		content = r.entries(s.ID, c, r.export)
	case SectionElement:
		content = r.entries(s.ID, c, r.element)
	default:
		content = AppendU32(nil, c.u32()+r.counts[s.ID])
		content = append(append(content, s.Data[c.pos:]...), r.added[s.ID]...)
		return content, true, nil
	}
	return content, true, c.err
}

// entries rewrites each entry of a section and adds those of the edit.
func (r *rewriter) entries(id SectionID, c *cursor, rewrite func(out []byte, c *cursor) []byte) []byte {
	n := c.u32()
	out := AppendU32(make([]byte, 0, len(c.data)+len(r.added[id])+8), n+r.counts[id])
	for range n {
		out = rewrite(out, c)
		if c.err != nil {
			return nil
		}
	}
	return append(out, r.added[id]...)
}
