// Package llm is what the loop knows of language models: the Model interface,
// the request it takes, the events it streams, and the errors it ends with.
// Each provider's peculiarities live in that provider's adapter, a package
// below this one; nothing of them shows here.
//
// It knows nothing of packets, tools' implementations, sessions or storage.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// Model is one configured model. It is safe for concurrent use.
type Model interface {
	// Info describes the model; it does not touch the network.
	Info() Info
	// Stream asks the model and yields what it says as it comes. The sequence can
	// be ranged over once. It ends after a Finish event, or with an *Error, which
	// is yielded last with a nil Event. Cancelling ctx, and leaving the range
	// early, both end the provider's request at once; after a cancelled ctx the
	// error is ctx.Err().
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Info describes a model.
type Info struct {
	// Name is what a person picks.
	Name string `json:"name"`
	// Provider is openai, anthropic, ollama or extractive.
	Provider string `json:"provider"`
	// Model is the provider's own name of it.
	Model string `json:"model"`
	// ContextTokens is the size of the window in tokens, 0 where unknown.
	ContextTokens int `json:"context_tokens,omitempty"`
	// NativeSearch tells whether its provider may search the web by itself while it
	// answers.
	NativeSearch bool `json:"native_search,omitempty"`
	// Vision tells whether it sees images.
	Vision bool `json:"vision,omitempty"`
	// NoReasoning tells that it is known not to reason before it answers.
	NoReasoning bool `json:"no_reasoning,omitempty"`
	// Note is one line that the page shows beside the name, "" for none.
	Note string `json:"note,omitempty"`
}

// Role is who says a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of the history that a model is asked with.
type Message struct {
	Role Role
	Text string
	// Note says that a user message is the host's word to the model, not the person's.
	Note bool
	// Attachments are the files of a user message. An adapter whose provider has
	// no place for them sends Content.
	Attachments []Attachment
	// ToolCalls are the calls of an assistant message. Each has exactly one tool
	// message after it.
	ToolCalls []ToolCall
	// ToolCallID and ToolName say which call a tool message answers.
	ToolCallID string
	ToolName   string
	// Native is what came with an assistant message in its provider's own form, nil
	// for none.
	Native *Native
}

// ToolCall is a complete call.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is the JSON text as the model wrote it; it need not be valid.
	Arguments string
}

// ToolDef is a tool as the model is told of it.
type ToolDef struct {
	Name        string
	Description string
	// Parameters is a JSON Schema of type object.
	Parameters json.RawMessage
}

// Schema returns Parameters decoded, that of an object without properties where
// they are none.
func (d ToolDef) Schema() map[string]any {
	var schema map[string]any
	if err := json.Unmarshal(d.Parameters, &schema); err != nil || schema == nil {
		schema = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return schema
}

// Choice says whether the model may, must or must not call tools.
type Choice string

// The tool choices.
const (
	ChoiceAuto     Choice = "auto"
	ChoiceRequired Choice = "required"
	ChoiceNone     Choice = "none"
)

// Request is one question to a model.
type Request struct {
	Messages []Message
	// Tools is empty under ChoiceNone; an adapter whose provider wants the
	// definitions for the history's sake keeps those it needs itself.
	Tools  []ToolDef
	Choice Choice
	// Withheld are the tools of this turn that may not be called now. They are for
	// adapters whose provider wants the definitions all the same; the model is not
	// to call them.
	Withheld []ToolDef
	// NoServerTools withdraws the provider's own tools, such as its web search, that
	// the model is configured with. They may run under ChoiceAuto only.
	NoServerTools bool
	// MaxOutputTokens is 0 for the provider's default.
	MaxOutputTokens int
}

// Offers tells whether a tool of that name is on offer.
func (r Request) Offers(tool string) bool {
	return slices.ContainsFunc(r.Tools, func(d ToolDef) bool { return d.Name == tool })
}

// Definitions returns every tool that a request or its history names, sorted by
// name: those on offer, those withheld, and for calls of tools that are gone one
// that takes any object.
func Definitions(req Request) []ToolDef {
	out := slices.Concat(req.Tools, req.Withheld)
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			name := CallName(c.Name)
			if c.Name != "" && !slices.ContainsFunc(out, func(d ToolDef) bool { return d.Name == name }) {
				out = append(out, ToolDef{Name: name, Description: "Not available now.",
					Parameters: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	slices.SortFunc(out, func(a, b ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Event is one thing that a model streams: Text, Reasoning, ToolCallDelta,
// Refusal, ServerTool, Native, Usage or Finish.
type Event interface{ event() }

// Text is the next piece of the answer.
type Text struct{ Delta string }

// Reasoning is the next piece of the model's reasoning.
type Reasoning struct{ Delta string }

// ToolCallDelta is the next piece of a call. Pieces with one Index belong
// together; ID and Name come with the first of them and are empty later.
type ToolCallDelta struct {
	// Index tells parallel calls apart, from 0.
	Index          int
	ID, Name       string
	ArgumentsDelta string
}

// Refusal is the next piece of a text with which the model declines.
type Refusal struct{ Delta string }

// Usage counts tokens, once, at the end, where the provider says.
type Usage struct {
	InputTokens, OutputTokens, CachedTokens int64
	// Cost is in US dollars where the provider states it.
	Cost float64
}

// FinishReason is why the model stopped.
type FinishReason string

// The reasons to finish.
const (
	FinishStop      FinishReason = "stop"
	FinishToolCalls FinishReason = "tool_calls"
	FinishLength    FinishReason = "length"
	FinishFiltered  FinishReason = "filtered"
)

// Finish is the last event.
type Finish struct{ Reason FinishReason }

func (Text) event()          {}
func (Reasoning) event()     {}
func (ToolCallDelta) event() {}
func (Refusal) event()       {}
func (Usage) event()         {}
func (Finish) event()        {}
