package wasmbin

import "iter"

// Body is one function's body.
type Body struct {
	// Raw is the whole body, without the size before it.
	Raw []byte
	// Locals are the groups of locals, in order; parameters are not among them.
	Locals []Local
	// Code are the instructions, the last end included: the rest of Raw.
	Code []byte
}

// Local is a group of Count locals of one type.
type Local struct {
	Count uint32
	Type  ValueType
}

// Bodies reads the content of a code section that Read accepted. A body's Locals are
// valid until the next one.
func Bodies(data []byte) iter.Seq2[Body, error] {
	return func(yield func(Body, error) bool) {
		c := &cursor{data: data}
		var locals []Local
		for range c.u32() {
			raw := c.take(uint64(c.u32()))
			if c.err != nil {
				yield(Body{}, c.err)
				return
			}
			inner := &cursor{data: raw}
			locals = locals[:0]
			for range inner.u32() {
				l := Local{Count: inner.u32(), Type: ValueType(inner.byte())}
				if inner.err != nil {
					yield(Body{}, inner.err)
					return
				}
				locals = append(locals, l)
			}
			if !yield(Body{Raw: raw, Locals: locals, Code: raw[inner.pos:]}, nil) {
				return
			}
		}
	}
}

// AppendLocals appends groups of locals as a body begins with them.
func AppendLocals(dst []byte, locals []Local) []byte {
	dst = AppendU32(dst, uint32(len(locals)))
	for _, l := range locals {
		dst = append(AppendU32(dst, l.Count), byte(l.Type))
	}
	return dst
}
