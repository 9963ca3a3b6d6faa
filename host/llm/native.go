package llm

import (
	"context"
	"encoding/json"
	"slices"
)

// Native is what a provider said in a form of its own that it wants to see again:
// signed reasoning, redacted reasoning, its own search and what that found. Only
// the adapter that made it reads Data; everybody else keeps it as it is, with the
// assistant message that it belongs to.
//
// It is also an event: an adapter emits it at most once, before Usage and Finish.
// Whoever writes the answer into history puts it into that Message's Native.
type Native struct {
	// Provider and Model are the adapter's and the endpoint's names. An adapter
	// replays Data only where both are its own.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Data is the adapter's own JSON.
	Data json.RawMessage `json:"data"`
}

func (Native) event() {}

// Of tells whether n was said by that provider's model, so that it may be
// replayed to it. A nil n was said by none.
func (n *Native) Of(provider, model string) bool {
	return n != nil && n.Provider == provider && n.Model == model
}

// WithoutNatives returns the request without what providers said in forms of their
// own, for one that does not take it back: what it signed or encrypted with another
// key, say.
func (r Request) WithoutNatives() Request {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].Native = nil
	}
	return r
}

// HasNatives tells whether something of a provider's own is in the history.
func (r Request) HasNatives() bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Native != nil })
}

// SearchTool is the name that a provider's own web search goes by among the tools
// that an agent has and a request allows.
const SearchTool = "web_search"

// ServerTool is an event: the provider itself ran one of its own tools, such as
// its web search, while it answered. Nothing is left to run. It counts as the use
// of a tool that reaches the outside (egress) and brings in what strangers wrote
// (untrusted_content).
type ServerTool struct {
	// Name is the provider's name of the tool, Query what it was asked, "" where
	// the provider does not say.
	Name, Query string
	// Failed tells that it could not do what it was asked.
	Failed bool
}

func (ServerTool) event() {}

// Preparer is implemented by a Model that can learn something about itself before
// it is asked, such as the size of its window.
type Preparer interface {
	// Prepare asks the endpoint what the adapter has to know and remembers it, so
	// that Info says it from then on; once it knows, it returns at once. An error
	// does not mean that the model cannot be asked.
	Prepare(ctx context.Context) error
}

// Forgetter is implemented by a Model that remembers what its endpoint turned out to
// refuse, or said of the model.
type Forgetter interface {
	// Forget makes it learn that anew.
	Forget()
}

// Forget makes m learn anew what it learned of its endpoint, where it learns.
func Forget(m Model) {
	if f, ok := m.(Forgetter); ok {
		f.Forget()
	}
}

// Prepare prepares m where it can be prepared. Whoever reads Info().ContextTokens
// to fit a conversation calls it first.
func Prepare(ctx context.Context, m Model) error {
	if p, ok := m.(Preparer); ok {
		return p.Prepare(ctx)
	}
	return nil
}
