package endpoint

import "bytes"

// Surrogates puts the two halves of an escaped character together that a server sent in two
// events: decoded one by one, each half is no character. The zero Surrogates is ready.
type Surrogates struct {
	// high is the escape of a first half that waits for its second one, "" for none.
	high string
}

// Join returns the JSON of an event with a half that waited put before the second one, and
// without a first half at the end of a string, which waits. A half whose other one does
// not come is lost: it is no character.
func (s *Surrogates) Join(data []byte) []byte {
	if s.high == "" && !mayHalf(data) {
		return data
	}
	out := make([]byte, 0, len(data)+len(s.high))
	inString, start := false, 0
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case !inString:
			if inString = c == '"'; inString {
				start = i + 1
			}
		case c == '"':
			inString = false
		case c == '\\' && i+1 < len(data):
			kind := half(data[i:])
			if kind == low && i == start && s.high != "" {
				out = append(out, s.high...)
				s.high = ""
			}
			if kind == high && i+6 < len(data) && data[i+6] == '"' {
				s.high = string(data[i : i+6])
				i += 5
				continue
			}
			out = append(out, c, data[i+1])
			i++
			continue
		}
		out = append(out, c)
	}
	return out
}

type halfKind uint8

const (
	none halfKind = iota
	high
	low
)

// half tells which half of a character an escape is: \ud83d is a high one.
func half(in []byte) halfKind {
	if len(in) < 6 || in[1] != 'u' || in[2]|0x20 != 'd' {
		return none
	}
	switch c := in[3] | 0x20; {
	case c == '8' || c == '9' || c == 'a' || c == 'b':
		return high
	case c >= 'c' && c <= 'f':
		return low
	}
	return none
}

// mayHalf tells at a glance that there may be a half in data.
func mayHalf(data []byte) bool {
	return bytes.Contains(data, []byte(`\ud`)) || bytes.Contains(data, []byte(`\uD`))
}
