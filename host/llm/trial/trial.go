// Package trial tries a model out: one question, and one question that needs a
// tool. What comes in is an llm.Model, asked as the loop asks it; what goes out
// is a Report that says in words what works.
//
// It must not know where models are kept or who asks.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// State is how a check came out.
type State string

// The states of a check.
const (
	OK State = "ok"
	// Doubtful: it works, with a limit that the message names.
	Doubtful State = "doubtful"
	Failed   State = "failed"
	// Skipped: it could not be tried, since something before it failed.
	Skipped State = "skipped"
)

// Check is one thing that was tried.
type Check struct {
	// Name is reachable, key, answers, streams or tools.
	Name  string `json:"name"`
	State State  `json:"state"`
	// Message is a sentence for a person; it holds no key.
	Message string `json:"message"`
}

// Report is what was found.
type Report struct {
	// Works tells whether questions can be asked of the model. Tools may still
	// have to be read out of its text.
	Works  bool    `json:"works"`
	Checks []Check `json:"checks"`
	// FirstMS is how long the first piece of the answer took, in milliseconds; 0
	// where none came.
	FirstMS int64 `json:"first_ms,omitempty"`
}

// heard is what a model said to one question.
type heard struct {
	text, reasoning strings.Builder
	pieces          int
	calls           map[int]*call
	first           time.Duration
	err             error
}

type call struct{ name, arguments string }

// maxHeard bounds what is taken of an answer, in bytes.
const maxHeard = 64 << 10

const question = "Count from one to twelve in words, with commas between them, and nothing else."

// errand is a question that needs a tool, and the tool.
type errand struct {
	question string
	tool     llm.ToolDef
	// argument is the property that the tool cannot do without.
	argument string
}

var (
	tide = errand{"What is the tide at Skerryvore now? Use the tool; do not guess.", llm.ToolDef{
		Name: "tide_table", Description: "Looks up the height of the tide at a place, now.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string","description":"the name of the place"}},"required":["place"]}`),
	}, "place"}
	// search is for the model that is built in, which uses tools that it knows by name.
	search = errand{"When is high water at Skerryvore?", llm.ToolDef{
		Name: "internal_search", Description: "Searches the person's documents.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"}}},"required":["queries"]}`),
	}, "queries"}
)

// errandFor returns what a model is asked to use a tool for.
func errandFor(m llm.Model) errand {
	if m.Info().Provider == "extractive" {
		return search
	}
	return tide
}

// Run asks the model twice and reports. What the model learned of its endpoint is
// forgotten first, so that the report says how things are now. It returns when both
// answers have come or ctx is done; now is the clock.
func Run(ctx context.Context, m llm.Model, now func() time.Time) Report {
	llm.Forget(m)
	answer := ask(ctx, m, now, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: question}},
		Choice: llm.ChoiceNone})
	r := Report{FirstMS: answer.first.Milliseconds()}
	r.Checks = append(r.Checks, reached(answer), key(answer), answered(answer), streamed(answer))
	r.Works = answer.err == nil && r.Checks[2].State == OK
	if !r.Works {
		r.Checks = append(r.Checks, Check{"tools", Skipped, "Not tried, since the first question failed."})
		return r
	}
	e := errandFor(m)
	r.Checks = append(r.Checks, e.done(ask(ctx, m, now, llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Text: e.question}}, Tools: []llm.ToolDef{e.tool},
		Choice: llm.ChoiceAuto,
	})))
	return r
}

// ask puts one question and takes the answer in.
func ask(ctx context.Context, m llm.Model, now func() time.Time, req llm.Request) *heard {
	h := &heard{calls: map[int]*call{}}
	began := now()
	for event, err := range m.Stream(ctx, req) {
		if err != nil {
			h.err = err
			break
		}
		h.take(event)
		if h.first == 0 && h.pieces+len(h.calls) > 0 {
			h.first = max(now().Sub(began), time.Millisecond)
		}
		if h.text.Len()+h.reasoning.Len() > maxHeard {
			break
		}
	}
	return h
}

func (h *heard) take(event llm.Event) {
	switch e := event.(type) {
	case llm.Text:
		h.text.WriteString(e.Delta)
		h.pieces++
	case llm.Reasoning:
		h.reasoning.WriteString(e.Delta)
		h.pieces++
	case llm.Refusal:
		h.text.WriteString(e.Delta)
	case llm.ToolCallDelta:
		c := h.calls[e.Index]
		if c == nil {
			c = new(call)
			h.calls[e.Index] = c
		}
		c.name += e.Name
		c.arguments += e.ArgumentsDelta
	}
}

// saved is what sentences of errors say of a conversation; a trial has none.
var saved = strings.NewReplacer(" Your message is saved.", "", " What arrived is saved.", "")

// sentence is what a person is told of an error.
func sentence(err error) string {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return saved.Replace(e.Message)
	case errors.Is(err, context.DeadlineExceeded):
		return "The model took too long. A large model may need a minute to load; try once more."
	case errors.Is(err, context.Canceled):
		return "The test was broken off."
	}
	return "The model could not be asked."
}

func codeOf(err error) packet.Code {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func reached(h *heard) Check {
	if code := codeOf(h.err); h.err != nil && h.pieces == 0 &&
		(code == packet.CodeModelUnreachable || code == packet.CodeModelTimeout || code == "") {
		return Check{"reachable", Failed, sentence(h.err)}
	}
	return Check{"reachable", OK, "The server answers."}
}

func key(h *heard) Check {
	switch codeOf(h.err) {
	case packet.CodeModelAuth:
		return Check{"key", Failed, sentence(h.err)}
	case "":
		if h.err == nil {
			return Check{"key", OK, "The key is accepted, or none is needed."}
		}
	case packet.CodeModelNotFound, packet.CodeModelRateLimited, packet.CodeModelInterrupted, packet.CodeContextTooLong:
		return Check{"key", OK, "The key is accepted, or none is needed."}
	}
	return Check{"key", Skipped, "Not known."}
}

func answered(h *heard) Check {
	switch {
	case h.err != nil && (codeOf(h.err) == packet.CodeModelAuth || reached(h).State == Failed):
		return Check{"answers", Skipped, "Not tried."}
	case h.err != nil:
		return Check{"answers", Failed, sentence(h.err)}
	case strings.TrimSpace(h.text.String()) == "" && h.reasoning.Len() > 0:
		return Check{"answers", Failed, "It thought and then wrote no answer. Its limit of output tokens may be too " +
			"small."}
	case strings.TrimSpace(h.text.String()) == "":
		return Check{"answers", Failed, "It ended without writing anything. Is the name of the model right?"}
	}
	return Check{"answers", OK, fmt.Sprintf("It answered: “%s”", shorten(h.text.String()))}
}

func streamed(h *heard) Check {
	switch {
	case h.pieces == 0:
		return Check{"streams", Skipped, "Not tried."}
	case h.pieces == 1:
		return Check{"streams", Doubtful, "The answer came in one piece, so you will see it only when it is complete."}
	}
	return Check{"streams", OK, fmt.Sprintf("The answer came in %d pieces, as it was written.", h.pieces)}
}

// done judges the answer to the question that needs the tool.
func (e errand) done(h *heard) Check {
	if h.err != nil {
		return Check{"tools", Failed, "With a tool offered it failed. " + sentence(h.err)}
	}
	for _, c := range h.calls {
		var arguments map[string]any
		switch err := json.Unmarshal([]byte(c.arguments), &arguments); {
		case c.name != e.tool.Name:
			return Check{"tools", Doubtful, fmt.Sprintf("It called a tool that was not offered, “%s”.",
				shorten(c.name))}
		case err != nil || arguments[e.argument] == nil || arguments[e.argument] == "":
			return Check{"tools", Doubtful, "It called the tool with arguments that do not fit. Bulkhead tells it " +
				"what was wrong and lets it try again."}
		}
		return Check{"tools", OK, "It called the tool with the right arguments."}
	}
	if strings.Contains(h.text.String(), e.tool.Name) {
		return Check{"tools", Doubtful, "It wrote the call as text. Bulkhead reads calls out of text, so tools work."}
	}
	return Check{"tools", Doubtful, "It did not call the tool. It may answer without looking into your documents."}
}

// shorten cuts a model's text for a sentence.
func shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= 60 {
		return string(runes)
	}
	return string(runes[:60]) + "…"
}
