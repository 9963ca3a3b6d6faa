// Package extractive is the built-in model: deterministic, without weights,
// always there. It asks the search tool, and answers with the sentences of the
// documents that fit the question best, each with its citation.
//
// An llm.Request comes in, llm events go out, as with any other model. It knows
// the tools that it is offered by name, as models do, and reads their results; it
// must not know of packets, storage or the network.
package extractive

import (
	"context"
	"iter"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// Name is the model's name unless the configuration gives it another.
const Name = "extractive"

// note is the line that the page shows beside the name.
const note = "Built in: quotes the best sentences from your documents. Add a model for real conversation."

// Model is the built-in model. It is safe for concurrent use.
type Model struct{ name string }

var _ llm.Model = (*Model)(nil)

// New returns the model under its own name.
func New() *Model { return Named(Name) }

// Named returns the model under a name of the configuration's choice.
func Named(name string) *Model { return &Model{name: name} }

// Info implements llm.Model.
func (m *Model) Info() llm.Info {
	return llm.Info{Name: m.name, Provider: "extractive", Model: Name, Note: note}
}

// Stream implements llm.Model. The only error is ctx.Err().
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range respond(req) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// respond decides between calling a tool and answering.
func respond(req llm.Request) []llm.Event {
	t := readExchange(req)
	if calls := t.calls(); len(calls) > 0 {
		return append(calls, llm.Finish{Reason: llm.FinishToolCalls})
	}
	return append(words(t.answer()), llm.Finish{Reason: llm.FinishStop})
}

// words splits a text into events, a word with the space after it each, so that
// their sum is the text.
func words(text string) []llm.Event {
	var out []llm.Event
	for text != "" {
		n := strings.IndexAny(text, " \n")
		for n >= 0 && n < len(text) && (text[n] == ' ' || text[n] == '\n') {
			n++
		}
		if n <= 0 {
			n = len(text)
		}
		out = append(out, llm.Text{Delta: text[:n]})
		text = text[n:]
	}
	return out
}
