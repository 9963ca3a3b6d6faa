package wasmbin

// anyType stands for an operand of code that is never reached: it fits every type.
const anyType ValueType = 0

// frame is one block, loop, if or else, or the function itself.
type frame struct {
	op          Op
	params      []ValueType
	results     []ValueType
	height      int
	unreachable bool
}

// label returns what a branch to the frame takes with it.
func (f *frame) label() []ValueType {
	if f.op == OpLoop {
		return f.params
	}
	return f.results
}

// validator is the state of the specification's validation algorithm for one
// function. It is used again for the next one.
type validator struct {
	m      *Module
	limits Limits
	locals []ValueType
	values []ValueType
	frames []frame
	decode Decoder
	// moved is the number of values that branches and calls of the function move, merges
	// what Limits.Merges counts, of the function and of all, and blocks and pairs what
	// Limits.Blocks and Limits.Pairs count.
	moved, merges, total, blocks int
	pairs                        int64
}

func (v *validator) push(types ...ValueType) { v.values = append(v.values, types...) }

// pop takes an operand of the type want, or of any if want is anyType, and returns
// its type: anyType for one of code that is never reached.
func (v *validator) pop(want ValueType) (ValueType, error) {
	f := &v.frames[len(v.frames)-1]
	if len(v.values) == f.height {
		if f.unreachable {
			return anyType, nil
		}
		return 0, invalid("an operand of the type %s is missing", typeName(want))
	}
	got := v.values[len(v.values)-1]
	v.values = v.values[:len(v.values)-1]
	if got != want && got != anyType && want != anyType {
		return 0, invalid("an operand has the type %s where %s is needed", got, want)
	}
	return got, nil
}

func typeName(t ValueType) string {
	if t == anyType {
		return "any"
	}
	return t.String()
}

// popAll takes operands of these types, the last from the top.
func (v *validator) popAll(want []ValueType) error {
	for i := len(want) - 1; i >= 0; i-- {
		if _, err := v.pop(want[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) enter(op Op, params, results []ValueType) error {
	if len(v.frames) >= v.limits.Nesting {
		return beyond("nested blocks in one function", uint64(len(v.frames))+1, uint64(v.limits.Nesting))
	}
	v.frames = append(v.frames, frame{op: op, params: params, results: results, height: len(v.values)})
	v.push(params...)
	return nil
}

// leave ends the innermost frame; its results are taken.
func (v *validator) leave() (frame, error) {
	f := v.frames[len(v.frames)-1]
	if err := v.popAll(f.results); err != nil {
		return f, err
	}
	if len(v.values) != f.height {
		return f, invalid("%d operands are left at the end of a block", len(v.values)-f.height)
	}
	v.frames = v.frames[:len(v.frames)-1]
	return f, nil
}

// unreachable marks the rest of the innermost frame as never reached.
func (v *validator) unreachable() {
	f := &v.frames[len(v.frames)-1]
	v.values = v.values[:f.height]
	f.unreachable = true
}

// target returns the frame that a label names.
func (v *validator) target(label uint32) (*frame, error) {
	if uint64(label) >= uint64(len(v.frames)) {
		return nil, invalid("a branch names the label %d, which is not there", label)
	}
	f := &v.frames[len(v.frames)-1-int(label)]
	return f, v.move(1 + len(f.label()))
}

// move counts values that a branch or a call moves. The compiler keeps each of them:
// two bytes of code can move a thousand.
func (v *validator) move(n int) error {
	v.moved += n
	if v.moved > v.limits.Moved {
		return beyond("values moved by the branches and calls of one function", uint64(v.moved), uint64(v.limits.Moved))
	}
	return nil
}

// The blocks that the compiler makes of an if and of a loop, whose copy with fuel counts, and
// of an operation that fills.
const (
	ifBlocks   = 3
	loopBlocks = 24
	fillBlocks = 6
)

// makes counts n blocks of the compiler.
func (v *validator) makes(n int) error {
	v.pairs += int64(n) * int64(v.blocks+n/2)
	v.blocks += n
	switch {
	case v.blocks > v.limits.Blocks:
		return beyond("blocks and branches in one function", uint64(v.blocks), uint64(v.limits.Blocks))
	case v.pairs > v.limits.Pairs:
		return beyond("pairs of blocks in its functions", uint64(v.pairs), uint64(v.limits.Pairs))
	}
	return nil
}

// counts counts a block, loop or if.
func (v *validator) counts(op Op) error {
	n := 1
	switch op {
	case OpIf:
		n = ifBlocks
	case OpLoop:
		n = loopBlocks
	}
	if err := v.makes(n); err != nil {
		return err
	}
	return v.merge(op)
}

// ranges counts what the compiler makes of an operation on a range: its copy with fuel has
// an if, and those that fill have loops.
func (v *validator) ranges(op Op) error {
	if !op.IsRange() {
		return nil
	}
	if op == OpMemoryFill || op == OpTableFill {
		if err := v.makes(fillBlocks); err != nil {
			return err
		}
	}
	return v.counts(OpIf)
}

// merge counts a block against the function's locals.
func (v *validator) merge(op Op) error {
	n := len(v.locals)
	if op == OpLoop {
		n *= 10
	}
	v.merges += n
	v.total += n
	switch {
	case v.merges > v.limits.Merges:
		return beyond("blocks times locals in one function", uint64(v.merges), uint64(v.limits.Merges))
	case v.total > v.limits.TotalMerges:
		return beyond("blocks times locals", uint64(v.total), uint64(v.limits.TotalMerges))
	}
	return nil
}
