package salvage

import "strings"

// callArguments are the arguments of a Python call.
type callArguments struct {
	positional []value
	keywords   value
}

// arguments reads ( … ) with positional and keyword arguments. Any name may be a
// keyword, Python's reserved words too.
func (l *literal) arguments() callArguments {
	l.i++
	l.stack = append(l.stack, '(')
	depth := len(l.stack)
	args := callArguments{keywords: value{kind: object}}
	for l.entry(')') {
		before := l.i
		for l.peek() == '*' { // f(**{…})
			l.i++
		}
		if key, ok := l.keyword(); ok {
			item := l.entryValue()
			args.keywords.keys = append(args.keywords.keys, key)
			args.keywords.items = append(args.keywords.items, item)
		} else if item := l.value(); item.kind != absent {
			args.positional = append(args.positional, item)
		}
		if l.i == before {
			l.i++
		}
	}
	l.stack = l.stack[:depth-1]
	return args
}

// keyword reads name= and leaves l.i behind it.
func (l *literal) keyword() (string, bool) {
	from := l.i
	if !letter(l.peek()) && l.peek() != '"' {
		return "", false
	}
	quoted := l.peek() == '"'
	if quoted {
		l.i++
	}
	for l.i < len(l.in) && nameByte(l.in[l.i]) && l.in[l.i] != ':' {
		l.i++
	}
	word := strings.Trim(l.in[from:l.i], `"`)
	if quoted {
		if l.peek() != '"' {
			l.i = from
			return "", false
		}
		l.i++
	}
	l.space()
	// JavaScript and drifting models write name: value.
	if c := l.peek(); (c == '=' || c == ':') && !strings.HasPrefix(l.in[l.i:], "==") {
		l.i++
		return word, true
	}
	l.i = from
	return "", false
}

// pythonCalls reads calls such as [f(a=1), g()] or one call per line. It reports
// false when anything else stands among them.
func pythonCalls(in string) ([]rawCall, bool) {
	l := &literal{in: in, python: true}
	l.space()
	if l.peek() == '[' {
		l.i++
		l.stack = append(l.stack, '[')
	}
	var calls []rawCall
	for {
		for l.space(); l.i < len(in) && strings.IndexByte(",;]", l.in[l.i]) >= 0; l.space() {
			l.i++
		}
		if l.i >= len(in) {
			return calls, len(calls) > 0
		}
		call, ok := l.call()
		if !ok {
			return calls, false
		}
		calls = append(calls, call)
	}
}

// call reads name(…), also inside print(…) and assigned to a name.
func (l *literal) call() (rawCall, bool) {
	name := l.callName()
	if name == "" {
		return rawCall{}, false
	}
	l.space()
	if l.peek() == '=' && !strings.Contains(name, ".") { // x = f(…)
		l.i++
		l.space()
		if name = l.callName(); name == "" {
			return rawCall{}, false
		}
		l.space()
	}
	if l.peek() != '(' {
		return rawCall{}, false
	}
	if name == "print" {
		at := l.i
		l.i++
		l.stack = append(l.stack, '(')
		call, ok := l.call()
		l.stack = l.stack[:len(l.stack)-1]
		l.space()
		if ok && l.peek() == ')' {
			l.i++
			return call, true
		}
		l.i = at
	}
	args := l.arguments()
	call := rawCall{name: name, args: args.keywords, positional: args.positional, cut: l.cut, broken: l.broken}
	if len(args.positional) == 1 && args.positional[0].kind == object && len(args.keywords.keys) == 0 {
		call.args, call.positional = args.positional[0], nil // f({…})
	}
	return call, true
}

func (l *literal) callName() string {
	from := l.i
	if !letter(l.peek()) {
		return ""
	}
	for l.i < len(l.in) && nameByte(l.in[l.i]) {
		l.i++
	}
	return l.in[from:l.i]
}
