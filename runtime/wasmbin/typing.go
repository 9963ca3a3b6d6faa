package wasmbin

// This file has the typing rules of instructions; control.go has those of control.

// function validates one body.
func (v *validator) function(i int, body Body) error {
	t := v.m.Types[v.m.FuncTypes[i]]
	v.locals = append(v.locals[:0], t.Params...)
	for _, l := range body.Locals {
		for range l.Count {
			v.locals = append(v.locals, l.Type)
		}
	}
	v.values, v.frames, v.moved, v.merges, v.blocks = v.values[:0], v.frames[:0], 0, 0, 0
	if err := v.enter(OpBlock, nil, t.Results); err != nil {
		return err
	}
	v.decode.Reset(body.Code)
	var in Instr
	for v.decode.Next(&in) {
		if len(v.frames) == 0 {
			return invalid("there is code after its end")
		}
		if err := v.instruction(&in); err != nil {
			return err
		}
	}
	if err := v.decode.Err(); err != nil {
		return err
	}
	if len(v.frames) != 0 {
		return malformed("The module has a function without an end.")
	}
	return nil
}

func (v *validator) instruction(in *Instr) error {
	if err := v.ranges(in.Op); err != nil {
		return err
	}
	if s := signatureOf(in.Op); s.known {
		return v.fixed(in, s)
	}
	switch in.Op {
	case OpUnreachable:
		v.unreachable()
		return nil
	case OpNop:
		return nil
	case OpBlock, OpLoop, OpIf:
		return v.block(in)
	case OpElse:
		return v.alternative()
	case OpEnd:
		return v.end()
	case OpBr, OpBrIf, OpBrTable, OpReturn:
		return v.branch(in)
	case OpCall, OpCallIndirect:
		return v.call(in)
	case opDrop:
		_, err := v.pop(anyType)
		return err
	case opSelect, OpSelectTyped:
		return v.selection(in)
	case OpLocalGet, OpLocalSet, OpLocalTee:
		return v.local(in)
	case OpGlobalGet, OpGlobalSet:
		return v.global(in)
	case OpRefNull, opRefIsNull, OpRefFunc:
		return v.reference(in)
	}
	return v.table(in)
}

// fixed checks an instruction with a fixed type and its immediates.
func (v *validator) fixed(in *Instr, s *signature) error {
	switch shapeOf(in.Op) {
	case shapeMemArg, shapeMemLane:
		if in.Align > uint32(s.align) {
			return invalid("an access is aligned to more than its size")
		}
		fallthrough
	case shapeZero, shapeZeros, shapeIndexZero:
		if v.m.Memory == nil {
			return invalid("the instruction %s needs a memory", in.Op)
		}
	}
	if s.lanes > 0 && in.Lane >= uint32(s.lanes) || in.Op == opShuffle && in.Lane >= 32 {
		return invalid("the lane %d does not exist", in.Lane)
	}
	if err := v.segments(in); err != nil {
		return err
	}
	if err := v.popAll(s.pop); err != nil {
		return err
	}
	v.push(s.push...)
	return nil
}

// segments checks the segments and tables that an instruction of the bulk memory
// group names.
func (v *validator) segments(in *Instr) error {
	switch in.Op {
	case OpMemoryInit, OpDataDrop:
		if !v.m.counted {
			return malformed("The module uses the instruction %s and has no data count section.", in.Op)
		}
		// Code stands before the data, so the announced number counts; Read has
		// compared the two.
		if uint64(in.A) >= uint64(v.m.segments) {
			return invalid("the data segment %d does not exist", in.A)
		}
	case OpTableInit, OpElemDrop:
		if uint64(in.A) >= uint64(len(v.m.elements)) {
			return invalid("the element segment %d does not exist", in.A)
		}
		if in.Op == OpElemDrop {
			return nil
		}
		t, err := v.tableType(in.B)
		if err == nil && t != v.m.elements[in.A] {
			return invalid("an element segment of %s is for a table of %s", v.m.elements[in.A], t)
		}
		return err
	case OpTableCopy:
		to, err := v.tableType(in.A)
		if err != nil {
			return err
		}
		from, err := v.tableType(in.B)
		if err == nil && from != to {
			return invalid("a table of %s is copied to one of %s", from, to)
		}
		return err
	case opTableSize:
		_, err := v.tableType(in.A)
		return err
	}
	return nil
}

func (v *validator) tableType(index uint32) (ValueType, error) {
	if uint64(index) >= uint64(len(v.m.tableTypes)) {
		return 0, invalid("the table %d does not exist", index)
	}
	return v.m.tableTypes[index], nil
}

// table checks the instructions whose type is that of a table's entries.
func (v *validator) table(in *Instr) error {
	t, err := v.tableType(in.A)
	if err != nil {
		return err
	}
	pop, push := []ValueType(nil), []ValueType(nil)
	switch in.Op {
	case OpTableGet:
		pop, push = []ValueType{I32}, []ValueType{t}
	case OpTableSet:
		pop = []ValueType{I32, t}
	case OpTableGrow:
		pop, push = []ValueType{t, I32}, []ValueType{I32}
	case OpTableFill:
		pop = []ValueType{I32, t, I32}
	default:
		return invalid("the instruction %s has no type", in.Op)
	}
	if err := v.popAll(pop); err != nil {
		return err
	}
	v.push(push...)
	return nil
}

func (v *validator) selection(in *Instr) error {
	if _, err := v.pop(I32); err != nil {
		return err
	}
	if in.Op == OpSelectTyped {
		if len(in.Types) != 1 || !in.Types[0].valid() {
			return invalid("a select has not one type")
		}
		t := in.Types[0]
		if err := v.popAll([]ValueType{t, t}); err != nil {
			return err
		}
		v.push(t)
		return nil
	}
	a, err := v.pop(anyType)
	if err != nil {
		return err
	}
	b, err := v.pop(anyType)
	if err != nil {
		return err
	}
	if a.reference() || b.reference() {
		return invalid("a select without a type has references")
	}
	if a != b && a != anyType && b != anyType {
		return invalid("a select has operands of the types %s and %s", b, a)
	}
	if a == anyType {
		a = b
	}
	v.push(a)
	return nil
}

func (t ValueType) reference() bool { return t == FuncRef || t == ExternRef }

func (v *validator) local(in *Instr) error {
	if uint64(in.A) >= uint64(len(v.locals)) {
		return invalid("the local %d does not exist", in.A)
	}
	t := v.locals[in.A]
	if in.Op != OpLocalGet {
		if _, err := v.pop(t); err != nil {
			return err
		}
	}
	if in.Op != OpLocalSet {
		v.push(t)
	}
	return nil
}

func (v *validator) global(in *Instr) error {
	if uint64(in.A) >= uint64(len(v.m.Globals)) {
		return invalid("the global %d does not exist", in.A)
	}
	g := v.m.Globals[in.A]
	if in.Op == OpGlobalGet {
		v.push(g.Type)
		return nil
	}
	if !g.Mutable {
		return invalid("the global %d is set and cannot be", in.A)
	}
	_, err := v.pop(g.Type)
	return err
}

func (v *validator) reference(in *Instr) error {
	switch in.Op {
	case OpRefNull:
		if !in.Types[0].reference() {
			return invalid("ref.null has the type 0x%02x", byte(in.Types[0]))
		}
		v.push(in.Types[0])
	case opRefIsNull:
		t, err := v.pop(anyType)
		if err != nil {
			return err
		}
		if t != anyType && !t.reference() {
			return invalid("ref.is_null has an operand of the type %s", t)
		}
		v.push(I32)
	default:
		if _, ok := v.m.FunctionType(in.A); !ok {
			return invalid("the function %d does not exist", in.A)
		}
		if !v.m.declared[in.A] {
			return invalid("code takes a reference to the function %d, which is not declared outside of code", in.A)
		}
		v.push(FuncRef)
	}
	return nil
}
