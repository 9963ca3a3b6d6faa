package salvage

import (
	"encoding/json"
	"strings"
)

// readFunction reads what follows the tag of a function: a JSON object or
// parameters, and its closing tag. The tag itself was read: its name is in head.
func (c *call) readFunction(in string, final bool) (int, verdict) {
	if c.head.shape == 0 {
		j, a := argumentsAt(in, final)
		switch {
		case a == unknown:
			return 0, more
		case a == yes && j < len(in):
			return 0, reject
		case a == yes: // cut off behind the name
			c.raws = c.emptyCall()
			return len(in), done
		case in[j] == '{':
			c.head.shape, c.head.at = shapeNamed, j
		case in[j] == '[':
			k, a := bracketedID(in, j, final)
			if a != yes {
				return 0, verdictOf(a)
			}
			c.head.shape, c.head.at = shapeNamed, k
		case in[j] == '<':
			t, a := tagAt(in, j, final)
			if a == unknown {
				return 0, more
			}
			hit, partial := startsWithAny(in[j:], cdataOpeners)
			if a == no && partial && !final {
				return 0, more
			}
			if a == no && !hit {
				return 0, reject
			}
			if t.closing && t.kind != functionTag && t.kind != wrapperTag {
				return 0, reject
			}
			c.head.shape, c.head.at = shapeElements, j
		case c.head.name == "python" || c.tools.listed(c.tools.resolve(c.head.name)):
			c.head.shape = shapeText
		default:
			return 0, reject
		}
	}
	if c.head.shape == shapeText {
		return c.readSource(in, final)
	}
	if c.head.shape == shapeNamed {
		return c.readBody(in, final)
	}
	end, v := c.tags.scan(in, final)
	if v == more {
		if !final {
			c.tell(in[:c.tags.certain()])
			return 0, more
		}
		if end, c.open = len(in), true; c.tags.candidate > 0 {
			end = c.tags.candidate - 1
		}
	}
	c.tell(in[:end])
	c.raws = []rawCall{{name: c.head.name, texts: readElements(in[:end]), guess: c.d.guess, inexact: c.open}}
	return end, done
}

// argumentsTags enclose all the parameters of a call in some models' markup.
var argumentsTags = []string{"<arguments>", "</arguments>", "<parameters>", "</parameters>"}

// argumentsAt passes what stands between the tag of a function and its arguments. It
// answers as nextToken does.
func argumentsAt(in string, final bool) (int, answer) {
	at := 0
	for range 4 {
		j, a := nextToken(in, at, final)
		if a != no {
			return j, a
		}
		tag := argumentsTag(in[j:])
		switch {
		case tag == "":
			return j, no
		case len(in)-j < len(tag) && !final:
			return j, unknown
		case len(in)-j < len(tag):
			return len(in), yes
		}
		at = j + len(tag)
	}
	return nextToken(in, at, final)
}

// argumentsTag is the tag around arguments that in begins with or may yet begin with.
func argumentsTag(in string) string {
	for _, tag := range argumentsTags {
		if len(in) > 1 && strings.HasPrefix(tag, in) || strings.HasPrefix(in, tag) {
			return tag
		}
	}
	return ""
}

// bracketedID passes the id of a call, [id], that stands before an object, and
// returns the place of the object.
func bracketedID(in string, i int, final bool) (int, answer) {
	k := i + 1
	for k < len(in) && nameByte(in[k]) && k-i < maxKey {
		k++
	}
	if k >= len(in) {
		return 0, undecided(final)
	}
	if in[k] != ']' || k == i+1 {
		return 0, no
	}
	j, a := nextToken(in, k+1, final)
	if a == unknown {
		return 0, unknown
	}
	return j, decide(a == no && in[j] == '{')
}

func verdictOf(a answer) verdict {
	if a == unknown {
		return more
	}
	return reject
}

// readSource reads source code up to the closing tag. Without one it was a tag in a
// sentence.
func (c *call) readSource(in string, final bool) (int, verdict) {
	at, after, v := c.find.scan(in, c.d.close, final)
	switch {
	case v == more && final:
		return 0, reject
	case v == more:
		return 0, more
	}
	c.raws = []rawCall{{name: c.head.name, raw: oneNewlineOff(in[:at])}}
	return after, done
}

// emptyCall is a call whose arguments never came, where its name vouches for it.
func (c *call) emptyCall() []rawCall {
	if c.tools.listed(c.tools.resolve(c.head.name)) &&
		len(c.tools.names[c.tools.resolve(c.head.name)].required()) == 0 {
		return []rawCall{{name: c.head.name}}
	}
	return nil
}

// readM3 reads MiniMax M3's invoke: every tag has a prefix, and the elements' own
// names are the parameters' names.
func (c *call) readM3(in string, final bool) (int, verdict) {
	at, after, v := c.find.scan(in, []string{m3 + "</invoke>", m3 + "</tool_call>"}, final)
	if v == more {
		if !final {
			return 0, more
		}
		at, after, c.open = len(in), len(in), true
	}
	head := strings.IndexByte(in[:at], '>')
	if head < 0 {
		return after, done
	}
	r := m3Reader{in: in[head+1 : at]}
	c.raws = []rawCall{{name: unquoted(in[:head]), texts: r.parameters(), inexact: c.open}}
	return after, done
}

type m3Reader struct {
	in    string
	i     int
	depth int
}

func (r *m3Reader) parameters() []parameter {
	v := r.element()
	out := make([]parameter, len(v.keys))
	for i, k := range v.keys {
		out[i] = parameter{key: k, value: v.items[i]}
	}
	return out
}

// element reads what stands up to a closing tag: text, or elements as an object.
// Elements called item are a list; a repeated element is a list too.
func (r *m3Reader) element() value {
	r.depth++
	defer func() { r.depth-- }()
	v := value{kind: object}
	var repeated []bool // of each field
	from, size := r.i, 0
	for r.i < len(r.in) && r.depth < maxDepth {
		n := strings.Index(r.in[r.i:], m3+"<")
		if n < 0 {
			n = len(r.in) - r.i
		}
		size = r.i + n - from
		r.i += n
		if r.i >= len(r.in) {
			break
		}
		r.i += len(m3) + 1
		end := strings.IndexByte(r.in[r.i:], '>')
		if end < 0 {
			r.i = len(r.in)
			break
		}
		word := strings.TrimSpace(r.in[r.i : r.i+end])
		r.i += end + 1
		if strings.HasPrefix(word, "/") {
			if rest := strings.TrimLeft(r.in[r.i:], " \t\r\n"); rest != "" && !strings.HasPrefix(rest, m3) {
				continue // in a text that has its like in it
			}
			break
		}
		repeated = addRepeated(&v, word, r.element(), repeated)
	}
	switch {
	case len(v.keys) == 0:
		return stringValue(r.in[from : from+size])
	case len(v.keys) == 1 && v.keys[0] == "item":
		if repeated[0] {
			return v.items[0]
		}
		return value{kind: list, items: v.items}
	}
	return v
}

// addRepeated sets a field; a field that is there already becomes a list.
func addRepeated(v *value, key string, item value, repeated []bool) []bool {
	for i, k := range v.keys {
		if k != key {
			continue
		}
		if repeated[i] {
			v.items[i].items = append(v.items[i].items, item)
		} else {
			v.items[i] = value{kind: list, items: []value{v.items[i], item}}
		}
		repeated[i] = true
		return repeated
	}
	v.keys, v.items = append(v.keys, key), append(v.items, item)
	return append(repeated, false)
}

// readMCP reads <use_mcp_tool> with the server, the tool and JSON arguments.
func (c *call) readMCP(in string, final bool) (int, verdict) {
	if j, a := nextToken(in, 0, final); a == no && in[j] != '<' {
		return 0, reject
	}
	at, after, v := c.find.scan(in, c.d.close, final)
	for v == done && strings.Contains(in[:at], "<arguments>") && !strings.HasSuffix(strings.TrimSpace(in[:at]), "</arguments>") {
		if c.tags.candidate == 0 { // it may stand in the arguments
			c.tags.candidate = at + 1
		}
		c.find.pos = after
		at, after, v = c.find.scan(in, c.d.close, final)
	}
	switch {
	case v == more && !final:
		return 0, more
	case v == more && c.tags.candidate > 0:
		at, c.open = c.tags.candidate-1, true
		_, after, _ = (&finder{pos: at}).scan(in, c.d.close, final)
	case v == more:
		at, after, c.open = len(in), len(in), true
	}
	body := in[:at]
	name := between(body, "<tool_name>", "</tool_name>")
	if server := between(body, "<server_name>", "</server_name>"); !c.tools.listed(name) &&
		c.tools.listed(server+"."+name) {
		name = server + "." + name
	}
	raw := rawCall{name: name}
	_, written, _ := strings.Cut(body, "<arguments>")
	written = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(written), "</arguments>"))
	raw.inexact = c.open || c.tools.wantsExact(name) && !json.Valid([]byte(written))
	arguments, _, _ := parseLiteral(written)
	if arguments.kind == absent {
		arguments.kind = null
	}
	if name != "" && raw.take(arguments) {
		c.raws = []rawCall{raw}
	}
	return after, done
}

func between(s, open, end string) string {
	_, s, found := strings.Cut(s, open)
	if !found {
		return ""
	}
	s, _, _ = strings.Cut(s, end)
	return strings.TrimSpace(s)
}
