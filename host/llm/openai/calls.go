package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// fragment is one piece of a tool call as it came. index is nil where the
// endpoint left it out.
type fragment struct {
	index               *int64
	id, name, arguments string
}

func fragmentOf(call sdk.ChatCompletionChunkChoiceDeltaToolCall) fragment {
	f := fragment{id: call.ID, name: call.Function.Name, arguments: call.Function.Arguments}
	if call.JSON.Index.Valid() {
		index := call.Index
		f.index = &index
	}
	// Some servers send the arguments as an object instead of its text.
	if raw := call.Function.JSON.Arguments.Raw(); strings.HasPrefix(raw, "{") {
		f.arguments = raw
	}
	return f
}

// call is one tool call that is being put together.
type call struct {
	index     *int64
	theirID   string
	id, name  string
	arguments strings.Builder
	// announced tells that ID and Name were emitted, under number; until the name
	// is known nothing is.
	announced bool
	number    int
}

// complete tells whether the arguments so far are a whole JSON value.
func (c *call) complete() bool { return json.Valid([]byte(c.arguments.String())) }

// calls puts the fragments of parallel tool calls together. Its own index of a
// call is the order in which names arrived, whatever the endpoint numbers.
type calls struct {
	newID func() string
	// known tells whether a tool is called so; nil for no.
	known func(name string) bool
	list  []*call
	// numbered is how many calls were announced.
	numbered int
}

func (cs *calls) any() bool { return len(cs.list) > 0 }

// add takes a fragment and returns the events that it makes.
func (cs *calls) add(f fragment) []llm.Event {
	if f.id == "" && f.name == "" && f.arguments == "" {
		return nil
	}
	at := cs.find(f)
	if at < 0 {
		cs.list = append(cs.list, &call{index: f.index, theirID: f.id, id: cs.freshID(f.id)})
		at = len(cs.list) - 1
	}
	c := cs.list[at]
	if c.index == nil {
		c.index = f.index
	}
	cs.nameOf(c, f.name)
	if c.theirID == "" && f.id != "" && !c.announced {
		c.theirID, c.id = f.id, cs.freshID(f.id)
	}
	c.arguments.WriteString(f.arguments)
	switch {
	case c.name == "", !c.announced && c.arguments.Len() == 0: // more of the name may come
		return nil
	case !c.announced:
		return append(cs.flushNamed(at), cs.announce(c))
	case f.arguments == "":
		return nil
	}
	return []llm.Event{llm.ToolCallDelta{Index: c.number, ArgumentsDelta: f.arguments}}
}

// nameOf takes a name, or a further piece of one: some endpoints send it in pieces, some
// all of it again, some longer each time.
func (cs *calls) nameOf(c *call, name string) {
	switch {
	case name == "" || name == c.name || c.announced:
	case strings.HasPrefix(name, c.name):
		c.name = name
	case c.arguments.Len() == 0:
		c.name += name
	}
}

// flushNamed announces the calls before one that have a name and no arguments.
func (cs *calls) flushNamed(before int) (out []llm.Event) {
	for _, c := range cs.list[:before] {
		if !c.announced && c.name != "" {
			out = append(out, cs.announce(c))
		}
	}
	return out
}

// announce returns the first event of a call.
func (cs *calls) announce(c *call) llm.Event {
	c.announced, c.number = true, cs.numbered
	cs.numbered++
	return llm.ToolCallDelta{Index: c.number, ID: c.id, Name: c.name, ArgumentsDelta: c.arguments.String()}
}

// find returns the call that a fragment continues, -1 where it begins one.
func (cs *calls) find(f fragment) int {
	at := cs.candidate(f)
	if at < 0 || cs.begins(cs.list[at], f) {
		return -1
	}
	return at
}

// candidate is the latest call with the fragment's index; where one of the two has
// none, the latest with its id, or the latest of all for a fragment without one.
func (cs *calls) candidate(f fragment) int {
	for i := len(cs.list) - 1; i >= 0; i-- {
		c := cs.list[i]
		switch {
		case f.index != nil && c.index != nil:
			if *c.index == *f.index {
				return i
			}
		case f.index == nil && f.id == "", f.id != "" && f.id == c.theirID:
			return i
		case f.index != nil && f.id == "" && f.name == "" && i == len(cs.list)-1:
			return i
		}
	}
	if f.index == nil && f.name == "" {
		return len(cs.list) - 1
	}
	return -1
}

// begins tells whether a fragment that could continue c is a new call instead:
// endpoints exist that give every call the index 0, others that give every call the
// same id, and others that repeat id and name with every fragment.
func (cs *calls) begins(c *call, f fragment) bool {
	if f.name == "" || c.name == "" {
		return false
	}
	another := f.id != "" && f.id != c.theirID
	same := f.id != "" && f.id == c.theirID
	sofar := c.arguments.String()
	switch {
	case f.name != c.name && !strings.HasPrefix(f.name, c.name):
		return another || c.arguments.Len() > 0 || cs.isKnown(c.name) && cs.isKnown(f.name)
	case f.name != c.name:
		return another || c.arguments.Len() > 0
	case same && (strings.HasPrefix(f.arguments, sofar) || strings.TrimSpace(sofar) == "{}"):
		return false // all that there is so far, once more
	case c.complete():
		return strings.TrimSpace(f.arguments) != "" || f.id != c.theirID
	}
	return c.arguments.Len() == 0 && another
}

func (cs *calls) isKnown(name string) bool { return cs.known != nil && cs.known(name) }

// freshID returns id, or a new one where it is missing or taken.
func (cs *calls) freshID(id string) string {
	if id == "" {
		return cs.newID()
	}
	for _, c := range cs.list {
		if c.id == id {
			return cs.newID()
		}
	}
	return id
}

// flush returns the events of calls whose name never came: the loop answers a
// call without a name as one of an unknown tool.
func (cs *calls) flush() []llm.Event {
	var out []llm.Event
	for _, c := range cs.list {
		if !c.announced {
			out = append(out, cs.announce(c))
		}
	}
	return out
}
