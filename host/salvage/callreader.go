package salvage

import (
	"slices"
	"strings"
)

// callReader follows a JSON value that holds calls, or a Python list of calls, and
// begins each call when its name is known and its arguments begin. Where the name
// comes behind the arguments, or anything is not as usual, it tells nothing.
type callReader struct {
	live *live
	// keyed says that an object's key is the name of the call.
	keyed  bool
	frames []callFrame
	state  callState
	pos    int
	// calls counts the calls that are complete.
	calls int
	// args reads the arguments that pos is in; encoded are they where they are JSON
	// in a string.
	args    *argumentReader
	encoded *strings.Builder
	str     stringScan
	from    int
	skip    brackets
}

// callFrame is an object or a list around pos.
type callFrame struct {
	open      byte
	key, name string
}

type callState uint8

const (
	wantValue callState = iota
	wantKey
	wantColon
	wantCall // of a Python list
	inArguments
	inEncoded
	inName
	inIgnored
	inIgnoredText
	wantComma
	overOrOdd
)

func (r *callReader) read(in string) {
	for r.step(in) {
	}
}

func (r *callReader) step(in string) bool {
	switch r.state {
	case overOrOdd:
		return false
	case inArguments:
		return r.followArguments(in)
	case inEncoded:
		return r.followEncoded(in)
	case inName, inIgnoredText:
		return r.readText(in)
	case inIgnored:
		end, v := r.skip.scan(in[r.from:], false)
		if v == more {
			return false
		}
		r.pos, r.state = r.from+end, wantComma
		return true
	}
	for r.pos < len(in) && blank(in[r.pos]) {
		r.pos++
	}
	if r.pos >= len(in) {
		return false
	}
	switch c := in[r.pos]; r.state {
	case wantValue:
		return r.value(in, c)
	case wantKey:
		return r.key(in, c)
	case wantColon:
		return r.move(c == ':', wantValue)
	case wantCall:
		return r.pythonCall(in)
	default:
		return r.comma(c)
	}
}

func (r *callReader) move(right bool, next callState) bool {
	if r.state = overOrOdd; right {
		r.pos++
		r.state = next
	}
	return right
}

func (r *callReader) top() *callFrame { return &r.frames[len(r.frames)-1] }

// comma decides behind a value.
func (r *callReader) comma(c byte) bool {
	if len(r.frames) == 0 {
		return r.move(false, overOrOdd)
	}
	f := r.top()
	if c == ',' {
		return r.move(true, map[byte]callState{'{': wantKey, '[': wantValue, '(': wantCall}[f.open])
	}
	if f.open == '(' && c == ']' {
		return r.move(true, overOrOdd)
	}
	if c != closerOf(f.open) {
		return r.move(false, overOrOdd)
	}
	return r.pop()
}

func (r *callReader) pop() bool {
	if r.top().name != "" {
		r.calls++
	}
	r.frames = r.frames[:len(r.frames)-1]
	return r.move(true, wantComma)
}

func (r *callReader) key(in string, c byte) bool {
	if c == '}' {
		return r.pop()
	}
	from, to, next, a := keyAt(in, r.pos, c)
	if a == yes {
		r.top().key, r.pos, r.state = in[from:to], next, wantColon
		return true
	}
	return a == no && r.move(false, overOrOdd)
}

// value begins a value.
func (r *callReader) value(in string, c byte) bool {
	f := callFrame{open: '['}
	if len(r.frames) > 0 {
		f = *r.top()
	}
	inObject := f.open == '{'
	arguments := inObject && slices.Contains(argumentKeys, f.key) && f.name != ""
	switch {
	case c == '"' || c == '\'':
		return r.beginText(in, c, inObject && slices.Contains(nameKeys, f.key), arguments)
	case c == '{' && r.keyed && inObject && !callKey(f.key):
		r.top().name = f.key
		return r.begin(f.key, '{', true)
	case c == '{' && arguments:
		return r.begin(f.name, '{', false)
	case c == '[' && len(r.frames) == 0:
		j, a := nextToken(in, r.pos+1, false)
		if a != no {
			return false
		}
		r.frames = append(r.frames, callFrame{open: '['})
		if letter(in[j]) {
			r.top().open = '('
		}
		return r.move(true, decideCall(letter(in[j])))
	case (c == '{' || c == '[') && (!inObject || slices.Contains(wrapperKeys, f.key)):
		if len(r.frames) > 6 || f.name != "" {
			return r.move(false, overOrOdd)
		}
		r.frames = append(r.frames, callFrame{open: c})
		return r.move(true, map[byte]callState{'{': wantKey, '[': wantValue}[c])
	case c == '{' || c == '[':
		r.from, r.skip, r.state = r.pos, brackets{}, inIgnored
		return true
	}
	j, a := scalarAt(in, r.pos)
	if a == yes {
		r.pos, r.state = j, wantComma
		return true
	}
	return a == no && r.move(false, overOrOdd)
}

func decideCall(python bool) callState {
	if python {
		return wantCall
	}
	return wantValue
}

// stack is what is open at pos.
func (r *callReader) stack() nesting {
	var n nesting
	for _, f := range r.frames {
		switch f.open {
		case '{':
			n = append(n, ':')
		default:
			n = append(n, '[')
		}
	}
	return n
}

// begin follows the arguments of a call, or passes over them. counted says that the
// call is complete with its arguments.
func (r *callReader) begin(name string, open byte, counted bool) bool {
	args := r.live.arguments(r.calls, name, open, r.stack())
	if counted {
		r.calls++
		r.top().name = ""
	}
	if args == nil {
		r.from, r.skip, r.state = r.pos, brackets{}, inIgnored
		return true
	}
	args.pos = r.pos
	r.args, r.state = args, inArguments
	return true
}

func (r *callReader) followArguments(in string) bool {
	r.args.read(in)
	switch r.args.state {
	case silent:
		r.state = overOrOdd
	case atEnd:
		r.pos, r.args, r.state = r.args.pos, nil, wantComma
	default:
		return false
	}
	return r.state == wantComma
}

// beginText begins a string: a name, arguments that are encoded twice, or something
// that does not matter.
func (r *callReader) beginText(in string, c byte, name, arguments bool) bool {
	if a := triple(in[r.pos:], c); a != no {
		return a == yes && r.move(false, overOrOdd)
	}
	r.str = stringScan{quote: c, stack: r.stack()}
	switch {
	case name:
		if r.top().name != "" {
			return r.move(false, overOrOdd)
		}
		r.encoded = &strings.Builder{}
		return r.move(true, inName)
	case arguments:
		r.args = r.live.arguments(r.calls, r.top().name, '{', nil)
		if r.args != nil {
			r.encoded = &strings.Builder{}
			return r.move(true, inEncoded)
		}
	}
	r.encoded = &strings.Builder{}
	return r.move(true, inIgnoredText)
}

func (r *callReader) readText(in string) bool {
	next, ended := r.str.read(in, r.pos, r.encoded)
	r.pos = next
	if r.state == inIgnoredText {
		r.encoded.Reset()
	}
	if !ended {
		return false
	}
	if r.state == inName {
		r.top().name = strings.TrimSpace(r.encoded.String())
	}
	r.state = wantComma
	return true
}

func (r *callReader) followEncoded(in string) bool {
	next, ended := r.str.read(in, r.pos, r.encoded)
	r.pos = next
	r.args.read(r.encoded.String())
	if !ended {
		return false
	}
	r.args, r.state = nil, wantComma
	return true
}

// pythonCall reads the name of a call in a Python list.
func (r *callReader) pythonCall(in string) bool {
	j := r.pos
	for j < len(in) && nameByte(in[j]) {
		j++
	}
	switch {
	case j >= len(in) && j-r.pos <= maxKey:
		return false
	case j == r.pos || j-r.pos > maxKey || in[j] != '(':
		return r.move(false, overOrOdd)
	}
	name := in[r.pos:j]
	r.pos = j
	args := r.live.arguments(r.calls, name, '(', nesting{'['})
	r.calls++
	if args == nil {
		r.from, r.skip, r.state = r.pos, brackets{}, inIgnored
		return true
	}
	args.pos = r.pos
	r.args, r.state = args, inArguments
	return true
}
