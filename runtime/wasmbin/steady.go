package wasmbin

// Steady reports whether no instruction of the module changes a table or drops a
// segment: what instances have of those stays as instantiation made it. m is the summary
// that Read returned; the module must have passed Validate.
func Steady(m *Module) bool {
	var d Decoder
	var in Instr
	for _, s := range m.sections {
		if s.ID != SectionCode {
			continue
		}
		for body, err := range Bodies(s.Data) {
			if err != nil {
				return false
			}
			d.Reset(body.Code)
			for d.Next(&in) {
				switch in.Op {
				case OpTableSet, OpTableInit, OpTableCopy, OpTableGrow, OpTableFill, OpElemDrop, OpDataDrop:
					return false
				}
			}
			if d.Err() != nil {
				return false
			}
		}
	}
	return true
}
