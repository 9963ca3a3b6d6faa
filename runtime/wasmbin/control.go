package wasmbin

// This file has the typing rules of blocks, branches and calls.

func (v *validator) block(in *Instr) error {
	var params, results []ValueType
	switch b := in.Block; {
	case b.Index >= int64(len(v.m.Types)):
		return invalid("the type %d does not exist", b.Index)
	case b.Index >= 0:
		params, results = v.m.Types[b.Index].Params, v.m.Types[b.Index].Results
	case b.Result != 0:
		results = []ValueType{b.Result}
	}
	if in.Op == OpIf {
		if _, err := v.pop(I32); err != nil {
			return err
		}
	}
	if err := v.popAll(params); err != nil {
		return err
	}
	if err := v.move(len(params) + len(results)); err != nil {
		return err
	}
	if err := v.counts(in.Op); err != nil {
		return err
	}
	return v.enter(in.Op, params, results)
}

func (v *validator) alternative() error {
	f, err := v.leave()
	if err != nil {
		return err
	}
	if f.op != OpIf {
		return invalid("an else has no if")
	}
	return v.enter(OpElse, f.params, f.results)
}

func (v *validator) end() error {
	f, err := v.leave()
	if err != nil {
		return err
	}
	if f.op == OpIf && !equal(f.params, f.results) {
		return invalid("an if without an else changes the operands")
	}
	if len(v.frames) > 0 {
		v.push(f.results...)
	}
	return nil
}

func equal(a, b []ValueType) bool { return string(bytesOf(a)) == string(bytesOf(b)) }

func bytesOf(types []ValueType) []byte {
	out := make([]byte, len(types))
	for i, t := range types {
		out[i] = byte(t)
	}
	return out
}

func (v *validator) branch(in *Instr) error {
	switch in.Op {
	case OpReturn:
		if err := v.popAll(v.frames[0].results); err != nil {
			return err
		}
		v.unreachable()
		return v.move(len(v.frames[0].results))
	case OpBrTable:
		return v.branchTable(in)
	}
	if in.Op == OpBrIf {
		if err := v.makes(1); err != nil {
			return err
		}
		if _, err := v.pop(I32); err != nil {
			return err
		}
	}
	f, err := v.target(in.A)
	if err != nil {
		return err
	}
	types := f.label()
	if err := v.popAll(types); err != nil {
		return err
	}
	if in.Op == OpBr {
		v.unreachable()
		return nil
	}
	v.push(types...)
	return nil
}

func (v *validator) branchTable(in *Instr) error {
	if err := v.makes(len(in.Labels)); err != nil {
		return err
	}
	if _, err := v.pop(I32); err != nil {
		return err
	}
	last := len(in.Labels) - 1
	f, err := v.target(in.Labels[last])
	if err != nil {
		return err
	}
	arity := len(f.label())
	var popped []ValueType
	for _, label := range in.Labels[:last] {
		g, err := v.target(label)
		if err != nil {
			return err
		}
		types := g.label()
		if len(types) != arity {
			return invalid("the labels of a br_table take different numbers of operands")
		}
		popped = popped[:0]
		for i := len(types) - 1; i >= 0; i-- {
			t, err := v.pop(types[i])
			if err != nil {
				return err
			}
			popped = append(popped, t)
		}
		for i := len(popped) - 1; i >= 0; i-- {
			v.push(popped[i])
		}
	}
	if err := v.popAll(f.label()); err != nil {
		return err
	}
	v.unreachable()
	return nil
}

func (v *validator) call(in *Instr) error {
	var t FuncType
	if in.Op == OpCall {
		var ok bool
		if t, ok = v.m.FunctionType(in.A); !ok {
			return invalid("the function %d does not exist", in.A)
		}
	} else {
		table, err := v.tableType(in.B)
		if err != nil {
			return err
		}
		if table != FuncRef {
			return invalid("an indirect call is through a table of %s", table)
		}
		if uint64(in.A) >= uint64(len(v.m.Types)) {
			return invalid("the type %d does not exist", in.A)
		}
		if _, err := v.pop(I32); err != nil {
			return err
		}
		t = v.m.Types[in.A]
	}
	if err := v.popAll(t.Params); err != nil {
		return err
	}
	v.push(t.Results...)
	return v.move(len(t.Params) + len(t.Results))
}
