package cli

import (
	"strconv"
	"strings"
)

// markers rewrites the citation markers of an answer, [[n]] for an announced n,
// to [n]. Text goes in in pieces; what may still become a marker is held back.
// The zero value is ready.
type markers struct {
	held  string
	known map[int]bool
}

// announce makes n a citation.
func (m *markers) announce(n int) {
	if m.known == nil {
		m.known = make(map[int]bool)
	}
	m.known[n] = true
}

// write takes the next piece and returns what can be shown.
func (m *markers) write(piece string) string {
	text := m.held + piece
	m.held = ""
	var out strings.Builder
	for {
		i := strings.IndexByte(text, '[')
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:i])
		text = text[i:]
		n, size, whole := marker(text)
		switch {
		case !whole:
			m.held = text
			return out.String()
		case size > 0 && m.known[n]:
			out.WriteString("[" + strconv.Itoa(n) + "]")
			text = text[size:]
		default:
			out.WriteByte('[')
			text = text[1:]
		}
	}
}

// end returns what was held back.
func (m *markers) end() string {
	held := m.held
	m.held = ""
	return held
}

// maxDigits is the length of the longest number that a marker may have.
const maxDigits = 6

// marker reads a marker at the beginning of text. size is 0 where there is none;
// whole is false where more text decides.
func marker(text string) (n, size int, whole bool) {
	if len(text) < 2 {
		return 0, 0, false
	}
	if text[1] != '[' {
		return 0, 0, true
	}
	i := 2
	for i < len(text) && i < 2+maxDigits && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + int(text[i]-'0')
		i++
	}
	rest := text[i:]
	switch {
	case i == 2 && rest != "":
		return 0, 0, true
	case rest == "" || rest == "]":
		return 0, 0, false
	case strings.HasPrefix(rest, "]]"):
		return n, i + 2, true
	}
	return 0, 0, true
}
