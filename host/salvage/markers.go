package salvage

// role is what a marker does where it stands in text.
type role uint8

const (
	// opens begins a call of a dialect, or something else that its body decides on.
	opens role = iota + 1
	// closes ends a call: dropped behind one.
	closes
	// wraps stands around calls: dropped where a call or another marker follows.
	wraps
	// dropped is never for a person: visible text's own wrappers.
	dropped
	// edge is a token of a chat template: dropped at the start and the end of an
	// answer and beside calls.
	edge
	// reasons begins reasoning, ends ends it.
	reasons
	ends
	// frames stands around the answer, after reasoning: <answer>.
	frames
	unframes
)

// marker is one piece of markup that the lexer knows.
type marker struct {
	text    string
	role    role
	dialect *dialect
	// closers end the reasoning that the marker begins.
	closers []string
}

// node is one state of the lexer: a trie over the bytes of all markers.
type node struct {
	bytes []byte
	next  []*node
	found *marker
}

// lexer finds markers. It is built once, from the tables, and never changes.
type lexer struct {
	root node
	// first tells the bytes that markers begin with.
	first [256]bool
}

func newLexer(markers []marker) *lexer {
	l := &lexer{}
	for i := range markers {
		m := &markers[i]
		l.first[m.text[0]] = true
		at := &l.root
		for j := range len(m.text) {
			at = at.child(m.text[j])
		}
		if at.found == nil {
			at.found = m
		}
	}
	return l
}

func (n *node) child(c byte) *node {
	if next := n.step(c); next != nil {
		return next
	}
	next := &node{}
	n.bytes, n.next = append(n.bytes, c), append(n.next, next)
	return next
}

func (n *node) step(c byte) *node {
	for i, b := range n.bytes {
		if b == c {
			return n.next[i]
		}
	}
	return nil
}

// match returns the longest marker at the start of in. It is unknown while in is
// a proper prefix of a marker.
func (l *lexer) match(in string, final bool) (*marker, answer) {
	at := &l.root
	var found *marker
	for i := 0; i < len(in); i++ {
		if at = at.step(in[i]); at == nil {
			break
		}
		if at.found != nil {
			found = at.found
		}
	}
	switch {
	case at != nil && len(at.bytes) > 0 && !final:
		return nil, unknown
	case found != nil:
		return found, yes
	}
	return nil, no
}

var theLexer = newLexer(allMarkers())

// stop tells the bytes at which reading text has to look closer.
var stop = func() [256]bool {
	stop := theLexer.first
	stop['\n'], stop['`'] = true, true
	return stop
}()
