package salvage

// This file tells of calls before they are whole: that one has begun, and what its
// string arguments say. Only calls behind a marker, of tools that want it, are
// told of so; see RATIONALE.md.

// live is what was told of the calls of one block.
type live struct {
	p *Parser
	// told are the calls that have begun.
	told []toldCall
	// follow reads the arguments, nil before the shape of the body is known.
	follow follower
}

// toldCall is a call that CallStart told of.
type toldCall struct {
	id int
	// ordinal is its place among the calls of the block.
	ordinal int
	name    string
}

// follower reads a body while it comes, always from the same start.
type follower interface{ read(in string) }

// nothing follows nothing.
type nothing struct{}

func (nothing) read(string) {}

// follows lets the arguments of the open call be told, where they may be.
func (p *Parser) follows(c *call) {
	if p.tools.streams && !p.drafting && !p.o.None && !c.d.lineStart {
		c.live = &live{p: p}
	}
}

// tell follows the body of the call as far as it has come.
func (c *call) tell(body string) {
	if c.live == nil || c.again {
		return
	}
	if c.live.follow == nil {
		c.live.follow = c.live.reader(c)
	}
	c.live.follow.read(body)
}

// reader returns what follows a body of the shape that c has.
func (l *live) reader(c *call) follower {
	h := c.head
	switch h.shape {
	case shapeJSON:
		return &callReader{live: l, keyed: c.d.keyed}
	case shapeNamed:
		if r := l.arguments(0, h.name, '{', nil); r != nil {
			return r
		}
	case shapePython:
		if r := l.arguments(0, h.name, '(', nil); r != nil {
			return r
		}
	case shapeElements:
		if tell, s := l.begin(0, h.name); tell != nil {
			return &elementFollower{schema: s, guess: c.d.guess, out: tell}
		}
	case shapeGemma:
		if tell, s := l.begin(0, h.name); tell != nil {
			return &gemmaFollower{schema: s, out: tell}
		}
	}
	return nothing{}
}

// arguments begins a call and returns the reader of its arguments, nil where they
// are not told.
func (l *live) arguments(ordinal int, name string, open byte, base nesting) *argumentReader {
	tell, s := l.begin(ordinal, name)
	if tell == nil {
		return nil
	}
	return &argumentReader{schema: s, open: open, base: base, out: tell}
}

// begin tells that a call has begun, if its tool is one that wants it. The result
// takes the pieces of its arguments.
func (l *live) begin(ordinal int, name string) (tell func(key, delta string), s schema) {
	p := l.p
	name = p.tools.resolve(name)
	if !p.tools.streaming[name] {
		return nil, schema{}
	}
	p.lastID++
	id := p.lastID
	l.told = append(l.told, toldCall{id: id, ordinal: ordinal, name: name})
	p.out = append(p.out, CallStart{ID: id, Name: name})
	return func(key, delta string) {
		p.out = append(p.out, ArgumentDelta{ID: id, Key: key, Delta: delta})
	}, p.tools.names[name]
}

// finished types the arguments of the calls of a block and says which of them were
// told of. Those that were told of and are none after all are dropped.
func (c *call) finished() []Call {
	var calls []Call
	for i, raw := range c.raws {
		call, ok := c.tools.finish(raw)
		if !ok {
			continue
		}
		if c.live != nil {
			call.ID = c.live.take(i, call.Name)
		}
		calls = append(calls, call)
	}
	c.dropTold()
	return calls
}

// take returns the id under which a call was told of, 0 if it was not.
func (l *live) take(ordinal int, name string) int {
	for i, t := range l.told {
		if t.ordinal == ordinal && t.name == name {
			l.told[i] = toldCall{ordinal: -1}
			return t.id
		}
	}
	return 0
}

// dropTold takes back what was told of and is no call.
func (c *call) dropTold() {
	if c.live == nil {
		return
	}
	for _, t := range c.live.told {
		if t.id != 0 {
			c.live.p.out = append(c.live.p.out, CallDropped{ID: t.id})
		}
	}
	c.live.told = nil
}
