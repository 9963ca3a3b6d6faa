package decode

import "bytes"

// control tells of characters that no text has.
func control(r rune) bool {
	switch r {
	case '\t', '\n', '\r', '\f', '\v', '\b', '\x1b':
		return false
	}
	return r < ' ' || r == 0x7f
}

// withoutControls returns data without the bytes that no text has, in itself where
// there are none, and how many there are.
func withoutControls(data []byte) (clean []byte, dropped int) {
	for _, c := range data {
		if control(rune(c)) {
			dropped++
		}
	}
	if dropped == 0 {
		return data, 0
	}
	clean = make([]byte, 0, len(data)-dropped)
	for _, c := range data {
		if !control(rune(c)) {
			clean = append(clean, c)
		}
	}
	return clean, dropped
}

// padded tells whether what is missing in clean are blocks of NUL, as a file has
// whose writer was cut off.
func padded(data, clean []byte) bool {
	const block = 16
	n := 0
	for rest := data; len(rest) > 0; {
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			break
		}
		rest = rest[i:]
		run := len(rest) - len(bytes.TrimLeft(rest, "\x00"))
		if run >= block || run == len(rest) {
			n += run
		}
		rest = rest[run:]
	}
	return len(clean) > 0 && (len(data)-len(clean)-n)*10 <= len(clean)
}
