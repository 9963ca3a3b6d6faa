// Package pdk is what a plugin author builds a tool with: register a function,
// and the package does the rest of the protocol tools.v2.
//
// A call comes in from the host as a Call; a Result goes back. Between them the
// host functions of this package (KnowledgeSearch, KVGet, Progress and so on)
// reach what was granted and nothing else. The package has no dependency and
// must not know the host: it meets it only over the ABI.
//
// A plugin is a main package whose tools are registered by an init function:
//
//	func init() { pdk.Register(pdk.Func("greet", "Greet", "Greets a person.", greet)) }
//	func main() {}
//
// It is built with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared. Built
// with the tag portable it uses nothing beyond Extism's ABI. Built for any other
// system it is an ordinary package whose host functions are served by the Host
// that SetHost was given, so that a tool can be tested natively.
//
// A module runs one call at a time; nothing here needs a lock.
//
// Random numbers: an instance that the host resets repeats every generator that
// was seeded when the module was initialised, math/rand and the order of maps
// among them. Use Random, which asks the host each time.
package pdk

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Tool is one tool of the plugin.
type Tool struct {
	// Name is what the model calls it by: [a-z][a-z0-9_]{0,62}.
	Name string
	// Title is for people.
	Title string
	// Description tells the model what the tool does and when to use it.
	Description string
	// InputSchema is the JSON Schema of the arguments, an object schema. Func
	// derives it.
	InputSchema json.RawMessage
	// OutputSchema is that of Result.Structured; nil for none.
	OutputSchema json.RawMessage
	// Handle serves one call. A returned error, and a panic, reach the model as a
	// failure with the error's text; where the model can do better next time,
	// return Fail with a sentence and an example instead.
	Handle func(*Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	// Tool is the name of the tool that was called.
	Tool string
	// Arguments is a JSON object.
	Arguments json.RawMessage
	// Context is what the host says beyond the arguments.
	Context Context

	documents []Document
	nextRef   int
}

// Context is what the model cannot know. Refs and Now are always there; the rest
// only where the manifest's needs name it and the grant of the capability
// context allows it.
type Context struct {
	// ID is the id of this call.
	ID string
	// Refs is the range of numbers for documents that are new.
	Refs Refs
	// Now is the time that the call is to believe in.
	Now time.Time
	// Query is the person's latest message.
	Query string
	// History is the conversation before it, oldest first.
	History []Message
	// User says who asks.
	User User
	// Citations maps the ids and URLs of documents that the conversation knows to
	// their refs.
	Citations map[string]int
}

// Refs is a range of numbers for documents: Start, and Count of them.
type Refs struct {
	Start int `json:"start"`
	Count int `json:"count"`
}

// Message is one message of the history.
type Message struct {
	// Role is user or assistant.
	Role string `json:"role"`
	Text string `json:"text"`
}

// User is who asks. The id is opaque.
type User struct {
	ID       string `json:"id"`
	Locale   string `json:"locale,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
}

// Document is something to cite.
type Document struct {
	// ID is stable for the same document.
	ID string `json:"id"`
	// Ref is set by Call.Cite.
	Ref     int    `json:"ref,omitempty"`
	Title   string `json:"title"`
	URL     string `json:"url,omitempty"`
	Snippet string `json:"snippet"`
	// Source says where it lives, such as "knowledge" or "web".
	Source string `json:"source"`
	// UpdatedAt is RFC 3339.
	UpdatedAt string `json:"updated_at,omitempty"`
}

// Cite gives a document its ref and puts it on the list that goes back with the
// result. A document that was cited before keeps its ref: in this call by its
// id, in the conversation by its id or URL. It returns 0 when all refs of the
// range are spent; then the document is not cited.
func (c *Call) Cite(d Document) int {
	if i := slices.IndexFunc(c.documents, func(k Document) bool { return k.ID == d.ID }); i >= 0 {
		return c.documents[i].Ref
	}
	ref := c.Context.Citations[d.ID]
	if ref == 0 && d.URL != "" {
		ref = c.Context.Citations[d.URL]
	}
	if ref == 0 {
		if c.nextRef >= c.Context.Refs.Count {
			return 0
		}
		ref = c.Context.Refs.Start + c.nextRef
		c.nextRef++
	}
	d.Ref = ref
	c.documents = append(c.documents, d)
	return ref
}

// Documents returns what was cited so far, in order.
func (c *Call) Documents() []Document { return slices.Clone(c.documents) }

var tools []Tool

// Register adds tools. It is called by init functions. It panics, and the module
// does not start, when a tool lacks a name or a handler or is there already.
func Register(list ...Tool) {
	for _, t := range list {
		if t.Name == "" || t.Handle == nil {
			panic("pdk: a tool needs a name and a handler")
		}
		if _, twice := find(t.Name); twice {
			panic(fmt.Sprintf("pdk: the tool %q is registered twice", t.Name))
		}
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		tools = append(tools, t)
	}
}

func find(name string) (Tool, bool) {
	for _, t := range tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Func makes a tool of a function. The schema of the arguments is derived from A
// as Schema does; arguments are decoded strictly, and what is wrong in them is
// told to the model.
func Func[A any](name, title, description string, handle func(*Call, A) (Result, error)) Tool {
	return Tool{
		Name: name, Title: title, Description: description, InputSchema: Schema[A](),
		Handle: func(c *Call) (Result, error) {
			args, err := decodeArguments[A](c.Arguments)
			if err != nil {
				return Fail(fmt.Sprintf("The arguments of %s are wrong: %v. Its schema is %s", name, err, Schema[A]())),
					nil
			}
			return handle(c, args)
		},
	}
}
