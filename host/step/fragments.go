package step

import (
	"encoding/json"
	"strings"
)

// fragments puts the arguments of a native call together. Most servers send them piece by
// piece. Some send with each piece all that there is so far, or all of it once more at the
// end, or an empty object before the real one. The zero fragments is ready.
type fragments struct {
	// glued has all pieces one behind the other; folded has them with each that extends
	// or repeats what came before in its place.
	glued, folded strings.Builder
	// replaced says that the two differ.
	replaced bool
}

// add takes the next piece.
func (f *fragments) add(piece string) {
	f.glued.WriteString(piece)
	sofar := f.folded.String()
	switch {
	case sofar != "" && strings.HasPrefix(piece, sofar), emptyObject(sofar) && strings.HasPrefix(blankless(piece), "{"):
		f.folded.Reset()
		f.replaced = true
	case emptyObject(piece) && strings.HasSuffix(sofar, "}") && json.Valid([]byte(sofar)):
		f.replaced = true
		return // the real ones came before it
	}
	f.folded.WriteString(piece)
}

// arguments are the whole arguments. What was sent as the protocol says counts first.
func (f *fragments) arguments() string {
	glued := f.glued.String()
	if !f.replaced || json.Valid([]byte(glued)) {
		return glued
	}
	return f.folded.String()
}

func emptyObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && strings.TrimSpace(text[1:len(text)-1]) == "" &&
		len(text) > 1
}

func blankless(text string) string { return strings.TrimLeft(text, " \t\r\n") }
