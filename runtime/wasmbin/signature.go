package wasmbin

import "strings"

// signature is the type of an instruction that has a fixed one.
type signature struct {
	known     bool
	pop, push []ValueType
	// align is the largest alignment (as a power of two) of an access to memory.
	align byte
	// lanes is the number of lanes that a lane immediate may name.
	lanes byte
}

// parseSignature reads "ii:i": one letter per type (i i32, I i64, f f32, F f64,
// v v128), operands before the colon.
func parseSignature(s string) signature {
	pop, push, _ := strings.Cut(s, ":")
	return signature{known: true, pop: letters(pop), push: letters(push)}
}

func letters(s string) (out []ValueType) {
	for _, c := range s {
		switch c {
		case 'i':
			out = append(out, I32)
		case 'I':
			out = append(out, I64)
		case 'f':
			out = append(out, F32)
		case 'F':
			out = append(out, F64)
		case 'v':
			out = append(out, V128)
		}
	}
	return out
}

// run gives instructions first to last one signature.
type run struct {
	first, last byte
	sig         string
	align       byte
	lanes       byte
}

func signatures(runs []run) (t [256]signature) {
	for _, r := range runs {
		s := parseSignature(r.sig)
		s.align, s.lanes = r.align, r.lanes
		for n := int(r.first); n <= int(r.last); n++ {
			t[n] = s
		}
	}
	return t
}

// plainSignatures has the instructions without a prefix that have one fixed type.
var plainSignatures = signatures([]run{
	{0x28, 0x28, "i:i", 2, 0}, {0x29, 0x29, "i:I", 3, 0}, {0x2a, 0x2a, "i:f", 2, 0}, {0x2b, 0x2b, "i:F", 3, 0},
	{0x2c, 0x2d, "i:i", 0, 0}, {0x2e, 0x2f, "i:i", 1, 0},
	{0x30, 0x31, "i:I", 0, 0}, {0x32, 0x33, "i:I", 1, 0}, {0x34, 0x35, "i:I", 2, 0},
	{0x36, 0x36, "ii:", 2, 0}, {0x37, 0x37, "iI:", 3, 0}, {0x38, 0x38, "if:", 2, 0}, {0x39, 0x39, "iF:", 3, 0},
	{0x3a, 0x3a, "ii:", 0, 0}, {0x3b, 0x3b, "ii:", 1, 0},
	{0x3c, 0x3c, "iI:", 0, 0}, {0x3d, 0x3d, "iI:", 1, 0}, {0x3e, 0x3e, "iI:", 2, 0},
	{0x3f, 0x3f, ":i", 0, 0}, {0x40, 0x40, "i:i", 0, 0},
	{0x41, 0x41, ":i", 0, 0}, {0x42, 0x42, ":I", 0, 0}, {0x43, 0x43, ":f", 0, 0}, {0x44, 0x44, ":F", 0, 0},
	{0x45, 0x45, "i:i", 0, 0}, {0x46, 0x4f, "ii:i", 0, 0}, {0x50, 0x50, "I:i", 0, 0}, {0x51, 0x5a, "II:i", 0, 0},
	{0x5b, 0x60, "ff:i", 0, 0}, {0x61, 0x66, "FF:i", 0, 0},
	{0x67, 0x69, "i:i", 0, 0}, {0x6a, 0x78, "ii:i", 0, 0}, {0x79, 0x7b, "I:I", 0, 0}, {0x7c, 0x8a, "II:I", 0, 0},
	{0x8b, 0x91, "f:f", 0, 0}, {0x92, 0x98, "ff:f", 0, 0}, {0x99, 0x9f, "F:F", 0, 0}, {0xa0, 0xa6, "FF:F", 0, 0},
	{0xa7, 0xa7, "I:i", 0, 0}, {0xa8, 0xa9, "f:i", 0, 0}, {0xaa, 0xab, "F:i", 0, 0},
	{0xac, 0xad, "i:I", 0, 0}, {0xae, 0xaf, "f:I", 0, 0}, {0xb0, 0xb1, "F:I", 0, 0},
	{0xb2, 0xb3, "i:f", 0, 0}, {0xb4, 0xb5, "I:f", 0, 0}, {0xb6, 0xb6, "F:f", 0, 0},
	{0xb7, 0xb8, "i:F", 0, 0}, {0xb9, 0xba, "I:F", 0, 0}, {0xbb, 0xbb, "f:F", 0, 0},
	{0xbc, 0xbc, "f:i", 0, 0}, {0xbd, 0xbd, "F:I", 0, 0}, {0xbe, 0xbe, "i:f", 0, 0}, {0xbf, 0xbf, "I:F", 0, 0},
	{0xc0, 0xc1, "i:i", 0, 0}, {0xc2, 0xc4, "I:I", 0, 0},
})

// miscSignatures has the instructions with the prefix 0xfc that have a fixed type.
var miscSignatures = signatures([]run{
	{0, 1, "f:i", 0, 0}, {2, 3, "F:i", 0, 0}, {4, 5, "f:I", 0, 0}, {6, 7, "F:I", 0, 0},
	{8, 8, "iii:", 0, 0}, {9, 9, ":", 0, 0}, {10, 12, "iii:", 0, 0}, {13, 13, ":", 0, 0}, {14, 14, "iii:", 0, 0},
	{16, 16, ":i", 0, 0},
})

// vectorSignatures has the instructions with the prefix 0xfd, all of which have a
// fixed type.
var vectorSignatures = signatures([]run{
	{0, 0, "i:v", 4, 0}, {1, 6, "i:v", 3, 0}, {7, 7, "i:v", 0, 0}, {8, 8, "i:v", 1, 0}, {9, 9, "i:v", 2, 0},
	{10, 10, "i:v", 3, 0},
	{11, 11, "iv:", 4, 0}, {12, 12, ":v", 0, 0}, {13, 14, "vv:v", 0, 0},
	{15, 17, "i:v", 0, 0}, {18, 18, "I:v", 0, 0}, {19, 19, "f:v", 0, 0}, {20, 20, "F:v", 0, 0},
	{21, 22, "v:i", 0, 16}, {23, 23, "vi:v", 0, 16}, {24, 25, "v:i", 0, 8}, {26, 26, "vi:v", 0, 8},
	{27, 27, "v:i", 0, 4}, {28, 28, "vi:v", 0, 4}, {29, 29, "v:I", 0, 2}, {30, 30, "vI:v", 0, 2},
	{31, 31, "v:f", 0, 4}, {32, 32, "vf:v", 0, 4}, {33, 33, "v:F", 0, 2}, {34, 34, "vF:v", 0, 2},
	{35, 76, "vv:v", 0, 0}, {77, 77, "v:v", 0, 0}, {78, 81, "vv:v", 0, 0}, {82, 82, "vvv:v", 0, 0},
	{83, 83, "v:i", 0, 0},
	{84, 84, "iv:v", 0, 16}, {85, 85, "iv:v", 1, 8}, {86, 86, "iv:v", 2, 4}, {87, 87, "iv:v", 3, 2},
	{88, 88, "iv:", 0, 16}, {89, 89, "iv:", 1, 8}, {90, 90, "iv:", 2, 4}, {91, 91, "iv:", 3, 2},
	{92, 92, "i:v", 2, 0}, {93, 93, "i:v", 3, 0}, {94, 98, "v:v", 0, 0}, {99, 100, "v:i", 0, 0},
	{101, 102, "vv:v", 0, 0},
	{103, 106, "v:v", 0, 0}, {107, 109, "vi:v", 0, 0}, {110, 115, "vv:v", 0, 0}, {116, 117, "v:v", 0, 0},
	{118, 121, "vv:v", 0, 0}, {122, 122, "v:v", 0, 0}, {123, 123, "vv:v", 0, 0}, {124, 127, "v:v", 0, 0},
	{128, 129, "v:v", 0, 0}, {130, 130, "vv:v", 0, 0}, {131, 132, "v:i", 0, 0}, {133, 134, "vv:v", 0, 0},
	{135, 138, "v:v", 0, 0}, {139, 141, "vi:v", 0, 0}, {142, 147, "vv:v", 0, 0}, {148, 148, "v:v", 0, 0},
	{149, 153, "vv:v", 0, 0}, {155, 159, "vv:v", 0, 0},
	{160, 161, "v:v", 0, 0}, {163, 164, "v:i", 0, 0}, {167, 170, "v:v", 0, 0}, {171, 173, "vi:v", 0, 0},
	{174, 174, "vv:v", 0, 0}, {177, 177, "vv:v", 0, 0}, {181, 186, "vv:v", 0, 0}, {188, 191, "vv:v", 0, 0},
	{192, 193, "v:v", 0, 0}, {195, 196, "v:i", 0, 0}, {199, 202, "v:v", 0, 0}, {203, 205, "vi:v", 0, 0},
	{206, 206, "vv:v", 0, 0}, {209, 209, "vv:v", 0, 0}, {213, 223, "vv:v", 0, 0},
	{224, 225, "v:v", 0, 0}, {227, 227, "v:v", 0, 0}, {228, 235, "vv:v", 0, 0},
	{236, 237, "v:v", 0, 0}, {239, 239, "v:v", 0, 0}, {240, 247, "vv:v", 0, 0}, {248, 255, "v:v", 0, 0},
})

// signatureOf returns the fixed type of an instruction; known is false for one whose
// type depends on where it stands.
func signatureOf(op Op) *signature {
	switch op >> 8 {
	case 0:
		return &plainSignatures[byte(op)]
	case 0xfc:
		return &miscSignatures[byte(op)]
	}
	return &vectorSignatures[byte(op)]
}
