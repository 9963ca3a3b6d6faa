// Package wasmbin reads, validates and rewrites WebAssembly module bytes that strangers
// wrote, within bounds, before any other part of the host sees them.
//
// Module bytes come in; out go the module's sections, a summary of what it declares
// (Read), a verdict on its code (Validate), a copy with imports, functions, globals and
// exports added and every index shifted (Rewrite), and a copy that is safe to hand to the
// compiler (Harden). A module that is malformed, invalid, too large, or asks for what
// this runtime does not run is refused with an *Error whose message is a sentence for a
// person. Reading never allocates more than a small multiple of the module's size.
//
// It knows the binary format of WebAssembly 2.0
// (https://www.w3.org/TR/wasm-core-2/#binary-format) and nothing of who runs a module.
package wasmbin

import "bytes"

// SectionID is the number of a section in the binary format.
type SectionID byte

// The sections of a core module.
const (
	SectionCustom SectionID = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
	sectionTag
)

// HeaderSize is the number of bytes before the first section.
const HeaderSize = 8

var (
	magic   = []byte{0x00, 'a', 's', 'm'}
	version = []byte{0x01, 0x00, 0x00, 0x00}
	header  = []byte{0x00, 'a', 's', 'm', 0x01, 0x00, 0x00, 0x00}
)

// Section is one section of a module. Data and the byte ranges are views into the
// module: they must not be changed.
type Section struct {
	ID SectionID
	// Name is the name of a custom section, else empty.
	Name string
	// Data is the content; for a custom section, what follows the name.
	Data []byte
	// Start and End are the offsets of the whole section, its header included.
	Start, End int
}

// Sections splits a module into its sections, in order. It checks the header, the
// sizes and the order, not what the sections hold. maxCustom bounds the number of
// custom sections.
func Sections(wasm []byte, maxCustom int) ([]Section, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	var out []Section
	custom, last := 0, 0
	c := &cursor{data: wasm, pos: HeaderSize}
	for c.rest() > 0 {
		s, err := nextSection(c)
		if err != nil {
			return nil, err
		}
		if s.ID == SectionCustom {
			if custom++; custom > maxCustom {
				return nil, beyond("custom sections", uint64(custom), uint64(maxCustom))
			}
		} else {
			rank := sectionRank(s.ID)
			if rank <= last {
				return nil, malformed("The module's sections are out of order or doubled at offset %d; the file is "+
					"damaged.", s.Start)
			}
			last = rank
		}
		out = append(out, s)
	}
	return out, nil
}

func checkHeader(wasm []byte) error {
	if len(wasm) < HeaderSize || !bytes.Equal(wasm[:4], magic) {
		return malformed("This is not a WebAssembly module: it does not begin with the bytes 00 61 73 6d.")
	}
	if bytes.Equal(wasm[4:8], version) {
		return nil
	}
	if wasm[6] == 0x01 && wasm[7] == 0x00 {
		return unsupported("This is a WebAssembly component; a core module is needed. Build for wasm32-wasip1 (or " +
			"wasm32-unknown-unknown), not for wasm32-wasip2.")
	}
	return unsupported("The module has the format version %x; only version 1 is run.", wasm[4:8])
}

func nextSection(c *cursor) (Section, error) {
	s := Section{Start: c.pos}
	s.ID = SectionID(c.byte())
	body := c.take(uint64(c.u32()))
	if c.err != nil {
		return Section{}, c.err
	}
	s.End = c.pos
	s.Data = body
	switch {
	case s.ID == SectionCustom:
		inner := &cursor{data: body}
		s.Name = inner.name()
		if inner.err != nil {
			return Section{}, inner.err
		}
		s.Data = body[inner.pos:]
	case s.ID == sectionTag:
		return Section{}, unsupported("The module uses WebAssembly exceptions, which are not run here. Build it " +
			"without them (for C++: -fno-exceptions).")
	case s.ID > sectionTag:
		return Section{}, malformed("The module has a section of the unknown kind %d.", s.ID)
	}
	return s, nil
}

// sectionRank is the place of a section in the order that the format fixes; data
// count stands between element and code.
func sectionRank(id SectionID) int {
	switch id {
	case SectionDataCount:
		return int(SectionElement)*2 + 1
	default:
		return int(id) * 2
	}
}

// AppendSection appends a section with its header.
func AppendSection(dst []byte, id SectionID, data []byte) []byte {
	dst = append(dst, byte(id))
	dst = AppendU32(dst, uint32(len(data)))
	return append(dst, data...)
}

// AppendCustom appends a custom section with its header.
func AppendCustom(dst []byte, name string, data []byte) []byte {
	body := AppendU32(nil, uint32(len(name)))
	body = append(body, name...)
	return AppendSection(dst, SectionCustom, append(body, data...))
}
