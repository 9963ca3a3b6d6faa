package wasmbin

// Hollow returns a copy of a module whose functions do nothing but trap: all that it declares
// is as it was, and no code is left of it. It is for whoever has the compiled code already.
// wasm must have passed Read.
func Hollow(wasm []byte) ([]byte, error) {
	sections, err := Sections(wasm, len(wasm))
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(wasm)/4), header...)
	for _, s := range sections {
		if s.ID != SectionCode {
			out = append(out, wasm[s.Start:s.End]...)
			continue
		}
		c := &cursor{data: s.Data}
		n := c.u32()
		if c.err != nil {
			return nil, c.err
		}
		bodies := AppendU32(nil, n)
		for range n {
			bodies = append(bodies, 3, 0, byte(OpUnreachable), byte(OpEnd)) // its size, no locals
		}
		out = AppendSection(out, SectionCode, bodies)
	}
	return out, nil
}
