package salvage

import (
	"slices"
	"strings"
)

// argumentReader follows the arguments of a call while they come and tells their
// strings at the top level: JSON, or the keywords of a Python call. It takes the
// input as it grows, always from the same start, and looks at each byte once. What
// is not written as it should be makes it silent: the arguments are then told when
// they are whole.
type argumentReader struct {
	schema schema
	// base is what is open around the arguments.
	base nesting
	// open is the bracket that the arguments begin with.
	open  byte
	state argumentState
	pos   int
	// key is that of the entry that pos is in; told says that its text goes out.
	key  string
	told bool
	seen []string
	str  stringScan
	// from is where the bracket of a skipped value stands, and skip looks for its
	// end.
	from int
	skip brackets
	// piece collects the text of one reading.
	piece strings.Builder
	out   func(key, delta string)
}

type argumentState uint8

const (
	atOpening argumentState = iota
	atKey
	atColon
	atValue
	inTold
	inSkipped
	behindValue
	atEnd
	silent
)

// read goes as far as the input decides.
func (r *argumentReader) read(in string) {
	for r.step(in) {
	}
	r.flush()
}

// flush tells what was decoded of the open string.
func (r *argumentReader) flush() {
	if r.piece.Len() == 0 {
		return
	}
	if r.told {
		r.out(r.key, r.piece.String())
	}
	r.piece.Reset()
}

// over tells whether nothing more will be told.
func (r *argumentReader) over() bool { return r.state == atEnd || r.state == silent }

// step reads one token and tells whether there was one.
func (r *argumentReader) step(in string) bool {
	switch r.state {
	case inTold:
		return r.readString(in)
	case inSkipped:
		end, v := r.skip.scan(in[r.from:], false)
		if v == more {
			return false
		}
		r.pos, r.state = r.from+end, behindValue
		return true
	case atEnd, silent:
		return false
	}
	for r.pos < len(in) && blank(in[r.pos]) {
		r.pos++
	}
	if r.pos >= len(in) {
		return false
	}
	c := in[r.pos]
	switch r.state {
	case atOpening:
		return r.pass(c == r.open, atKey)
	case atKey:
		if c == ',' || c == closerOf(r.open) {
			return r.pass(true, decideState(c == ',', atKey, atEnd))
		}
		return r.readKey(in, c)
	case atColon:
		return r.pass(c == ':' || c == '=' && r.open == '(', atValue)
	case atValue:
		return r.readValue(in, c)
	}
	if r.open == '(' && r.told && (c == '"' || c == '\'') { // Python joins strings that stand side by side
		r.state = atValue
		return true
	}
	return r.pass(c == ',' || c == closerOf(r.open), decideState(c == ',', atKey, atEnd))
}

func decideState(b bool, yes, no argumentState) argumentState {
	if b {
		return yes
	}
	return no
}

// pass moves over one byte into a state, or falls silent.
func (r *argumentReader) pass(right bool, next argumentState) bool {
	if r.state = silent; right {
		r.pos++
		r.state = next
	}
	return right
}

// readKey reads a key, once it is whole.
func (r *argumentReader) readKey(in string, c byte) bool {
	from, to, next, a := keyAt(in, r.pos, c)
	switch a {
	case unknown:
		return false
	case no:
		r.state = silent
		return false
	}
	r.flush()
	r.key, r.told = in[from:to], false
	if r.schema.tells(r.key) && !slices.Contains(r.seen, r.key) {
		r.told = true
		r.seen = append(r.seen, r.key)
	}
	r.pos, r.state = next, atColon
	return true
}

// keyAt finds the key at in[i]: a string without escapes, or a word.
func keyAt(in string, i int, c byte) (from, to, next int, _ answer) {
	j := i
	switch {
	case c == '"' || c == '\'':
		for j++; j < len(in) && in[j] != c; j++ {
			if in[j] == '\\' || j-i > maxKey {
				return 0, 0, 0, no
			}
		}
		if j < len(in) {
			return i + 1, j, j + 1, yes
		}
		return 0, 0, 0, unknown
	case letter(c):
		for j < len(in) && nameByte(in[j]) && in[j] != ':' {
			if j++; j-i > maxKey {
				return 0, 0, 0, no
			}
		}
		if j < len(in) {
			return i, j, j, yes
		}
		return 0, 0, 0, unknown
	}
	return 0, 0, 0, no
}

// readValue begins a value.
func (r *argumentReader) readValue(in string, c byte) bool {
	switch {
	case c == '"' || c == '\'':
		if a := triple(in[r.pos:], c); a != no {
			r.state = decideState(a == yes, silent, r.state)
			return false
		}
		inner := nesting{':'}
		if r.open == '(' {
			inner = nesting{'('}
		}
		r.str = stringScan{quote: c, stack: append(r.base[:len(r.base):len(r.base)], inner...), python: r.open == '('}
		r.pos++
		r.state = inTold
		return true
	case c == '{' || c == '[':
		r.from, r.skip, r.state, r.told = r.pos, brackets{}, inSkipped, false
		return true
	}
	j, a := scalarAt(in, r.pos)
	if a == yes {
		r.pos, r.state, r.told = j, behindValue, false
		return true
	}
	r.state = decideState(a == no, silent, r.state)
	return false
}

// triple tells whether in begins with three quotes. Two are an empty string.
func triple(in string, c byte) answer {
	for i := 1; i < 3; i++ {
		switch {
		case i >= len(in):
			return unknown
		case in[i] != c:
			return no
		}
	}
	return yes
}

// scalarAt finds the end of a number or constant at in[i].
func scalarAt(in string, i int) (int, answer) {
	j := i
	for j < len(in) && (nameByte(in[j]) && in[j] != ':' || in[j] == '+') {
		if j++; j-i > maxKey {
			return 0, no
		}
	}
	switch {
	case j >= len(in):
		return 0, unknown
	case j == i:
		return 0, no
	}
	return j, yes
}

func (r *argumentReader) readString(in string) bool {
	r.piece.Grow(len(in) - r.pos) // decoded it is no longer
	next, ended := r.str.read(in, r.pos, &r.piece)
	r.pos = next
	if ended {
		r.state = behindValue
	}
	return ended
}

// tells tells whether the text of an argument is told while it comes: the schema
// does not forbid it to be a string, and names it if it names any.
func (s schema) tells(key string) bool {
	if key == "" || len(s.names()) > 0 && !s.has(key) {
		return false
	}
	t := s.property(key).types()
	return t == 0 || t&typeString != 0
}

// tellsText is tells for a text whose type only the schema knows: it must be a
// string and nothing else.
func (s schema) tellsText(key string, guess bool) bool {
	t := s.property(key).types()
	return s.tells(key) && (t == typeString || t == 0 && !guess)
}

// Arguments reads the arguments of a native call while they come. Make one with
// NewArguments; it is not safe for concurrent use.
type Arguments struct {
	reader argumentReader
	in     strings.Builder
	out    []ArgumentDelta
}

// NewArguments returns a reader of the arguments of one call of a tool.
func NewArguments(t Tool) *Arguments {
	a := &Arguments{reader: argumentReader{schema: parseSchema(t.Parameters), open: '{'}}
	a.reader.out = func(key, delta string) { a.out = append(a.out, ArgumentDelta{Key: key, Delta: delta}) }
	return a
}

// Write takes the next piece of the arguments and returns what its strings say.
// The slice is valid until the next call. Where the model makes mistakes nothing
// more comes: what Fit makes of the whole is the truth.
func (a *Arguments) Write(piece string) []ArgumentDelta {
	a.out = a.out[:0]
	if a.reader.over() {
		return nil
	}
	a.in.WriteString(piece)
	a.reader.read(a.in.String())
	return a.out
}
