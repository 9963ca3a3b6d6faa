package wasmbin

import "strings"

// This file copies every place that names a function, with the index shifted.

func (r *rewriter) global(out []byte, c *cursor) []byte {
	return r.constant(append(out, c.take(2)...), c)
}

// constant copies a constant expression with its function index shifted.
func (r *rewriter) constant(out []byte, c *cursor) []byte {
	d := Decoder{c: cursor{data: c.data, pos: c.pos}}
	var in Instr
	for d.Next(&in) {
		out = r.shift.AppendInstr(out, c.data, &in)
		if in.Op == OpEnd {
			break
		}
	}
	c.pos, c.err = d.c.pos, d.c.err
	return out
}

func (r *rewriter) export(out []byte, c *cursor) []byte {
	begin := c.pos
	c.name()
	kind := ExternKind(c.byte())
	out = append(out, c.data[begin:c.pos]...)
	index := c.u32()
	if kind == ExternFunc {
		index = r.shift.Index(index)
	}
	return AppendU32(out, index)
}

// element copies one element segment, whose forms readElement explains.
func (r *rewriter) element(out []byte, c *cursor) []byte {
	begin := c.pos
	flags := c.u32()
	if flags&3 == 2 {
		c.u32()
	}
	out = append(out, c.data[begin:c.pos]...)
	if flags&1 == 0 {
		out = r.constant(out, c)
	}
	if flags&3 != 0 {
		out = append(out, c.take(1)...)
	}
	n := c.u32()
	out = AppendU32(out, n)
	for range n {
		if c.err != nil {
			return nil
		}
		if flags&4 != 0 {
			out = r.constant(out, c)
		} else {
			out = AppendU32(out, r.shift.Index(c.u32()))
		}
	}
	return out
}

func (r *rewriter) code(data []byte) ([]byte, error) {
	c := &cursor{data: data}
	out := AppendU32(make([]byte, 0, len(data)+len(data)/2), c.u32()+r.counts[SectionCode])
	var body []byte
	i := 0
	for b, err := range Bodies(data) {
		if err != nil {
			return nil, err
		}
		if r.e.Body != nil {
			body, err = r.e.Body(body[:0], i, b)
		} else {
			body, err = r.shiftBody(body[:0], b)
		}
		if err != nil {
			return nil, err
		}
		out = append(AppendU32(out, uint32(len(body))), body...)
		i++
	}
	return append(out, r.added[SectionCode]...), nil
}

// shiftBody copies a body with its function indexes shifted.
func (r *rewriter) shiftBody(out []byte, b Body) ([]byte, error) {
	out = append(out, b.Raw[:len(b.Raw)-len(b.Code)]...)
	if r.shift.by == 0 {
		return append(out, b.Code...), nil
	}
	d := NewDecoder(b.Code)
	var in Instr
	for d.Next(&in) {
		out = r.shift.AppendInstr(out, b.Code, &in)
	}
	return out, d.Err()
}

// custom copies a custom section, names of functions shifted. A name section that is
// not well formed is left out where it would have to be shifted.
func (r *rewriter) custom(out, wasm []byte, s Section) []byte {
	if r.e.Strip && (strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, "metadata.code.")) {
		return out
	}
	if s.Name != "name" || r.shift.by == 0 {
		return append(out, wasm[s.Start:s.End]...)
	}
	if names, ok := r.names(s.Data); ok {
		return AppendCustom(out, s.Name, names)
	}
	return out
}

// names shifts the subsections that are maps from functions: 1 to names, 2 and 3 to
// maps of locals' and labels' names.
func (r *rewriter) names(data []byte) (out []byte, ok bool) {
	c := &cursor{data: data}
	for c.rest() > 0 {
		id := c.byte()
		body := c.take(uint64(c.u32()))
		if c.err != nil {
			return nil, false
		}
		if id >= 1 && id <= 3 {
			if body, ok = r.nameMap(body, id != 1); !ok {
				return nil, false
			}
		}
		out = AppendSection(out, SectionID(id), body)
	}
	return out, true
}

func (r *rewriter) nameMap(data []byte, indirect bool) (out []byte, ok bool) {
	c := &cursor{data: data}
	n := c.u32()
	out = AppendU32(nil, n)
	for range n {
		out = AppendU32(out, r.shift.Index(c.u32()))
		begin := c.pos
		if indirect {
			for range c.count("names", len(data)) {
				c.u32()
				c.take(uint64(c.u32()))
			}
		} else {
			c.take(uint64(c.u32()))
		}
		if c.err != nil {
			return nil, false
		}
		out = append(out, data[begin:c.pos]...)
	}
	return out, c.end("name") == nil
}
