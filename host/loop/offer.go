package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

const (
	// MaxOffered is how many tools a model is told of at once. Where there are more it
	// looks for those that it needs.
	MaxOffered = 40
	// offerShare is the part of the window that their definitions may take: a third.
	offerShare = 3
	// mostFound is how many tools find_tools returns.
	mostFound = 8
	// shortDescription is how much of a description it returns, in characters.
	shortDescription = 300
)

// offer is what of many tools a model is told of. The zero offer tells it of all.
type offer struct {
	// catalogue is nil where all are told of.
	*catalogue
	cost   map[string]int
	budget int
	// found are the names that the model looked for, the latest first, or that match
	// its question. runner.mu guards it.
	found []string
}

// newOffer decides whether a model is told of all tools. budget is what definitions
// may take, in tokens, 0 for what is not known.
func newOffer(specs []tool.Spec, contextTokens int, question string) offer {
	o := offer{cost: map[string]int{}, budget: contextTokens / offerShare}
	all := 0
	for _, s := range specs {
		o.cost[s.Name] = window.ToolTokens(definition(s))
		all += o.cost[s.Name]
	}
	if len(specs) <= MaxOffered && (contextTokens <= 0 || all <= o.budget) {
		return offer{}
	}
	o.catalogue = newCatalogue(specs)
	for _, s := range o.best(question, mostFound) {
		o.found = append(o.found, s.Name)
	}
	return o
}

// offered are the tools that the model is told of in the next step, in the order of
// Specs: all, or of many those that it was told to use, looked for, has used on this
// path or that somebody named, as many of them in this order as the budget takes.
func (l *runner) offered() []tool.Spec {
	if l.offer.catalogue == nil {
		return slices.Concat(l.Specs, l.ownOffered())
	}
	l.mu.Lock()
	wanted := slices.Concat([]string{l.Forced}, l.offer.found, l.used(), l.Named)
	l.mu.Unlock()
	chosen, left := map[string]bool{}, l.offer.budget
	for _, name := range wanted {
		cost, exists := l.offer.cost[name]
		if !exists || chosen[name] || len(chosen) >= MaxOffered {
			continue
		}
		if l.offer.budget > 0 {
			if cost > left {
				continue
			}
			left -= cost
		}
		chosen[name] = true
	}
	specs := slices.DeleteFunc(slices.Clone(l.Specs), func(s tool.Spec) bool { return !chosen[s.Name] })
	return slices.Concat(specs, l.ownOffered())
}

// ownOffered are the loop's own tools that the model is told of, but recall_result.
func (l *runner) ownOffered() (specs []tool.Spec) {
	if l.offer.catalogue != nil {
		specs = append(specs, l.findSpec())
	}
	if l.researches() {
		specs = append(specs, l.researchSpec())
	}
	if l.Model.Info().NoReasoning {
		specs = append(specs, thinkSpec)
	}
	return specs
}

// used are the names of the calls in history, the latest first.
func (l *runner) used() []string {
	var names []string
	for _, m := range slices.Backward(l.history) {
		for _, c := range m.ToolCalls {
			names = append(names, c.Name)
		}
	}
	return names
}

func (l *runner) findSpec() tool.Spec {
	return tool.Spec{
		ID:    tool.OwnID(tool.FindTools),
		Name:  tool.FindTools,
		Title: "Find tools",
		Description: fmt.Sprintf("You have %d tools and are shown some of them. This finds others by what they do; those found can be called from then on. "+
			"Look here before you say that you cannot do something.", len(l.Specs)),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What the tool should do, in a few words."}},"required":["query"]}`),
	}
}

// find looks for tools by what they do: find_tools.
func (l *runner) find(_ context.Context, in tool.Invocation) (tool.Result, error) {
	args, err := arguments[struct{ Query string }](in)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Query) == "" {
		return wrong(`Say in a few words what the tool should do, for example {"query": "read a calendar"}.`), nil
	}
	c := l.offer.catalogue
	if c == nil {
		c = newCatalogue(l.Specs)
	}
	best := c.best(args.Query, mostFound)
	if len(best) == 0 {
		return tool.Result{Text: fmt.Sprintf("None of the %d tools matches. Try other words for what is to be done, or answer without a tool.", len(l.Specs))}, nil
	}
	var b strings.Builder
	b.WriteString("These tools fit, the best first. You can call them from now on.")
	names := make([]string, len(best))
	for i, s := range best {
		names[i] = s.Name
		fmt.Fprintf(&b, "\n- %s: %s", s.Name, headOf(strings.Join(strings.Fields(s.Description), " "), shortDescription))
	}
	l.mu.Lock()
	l.offer.found = slices.Concat(names, l.offer.found)
	l.mu.Unlock()
	return tool.Result{Text: b.String()}, nil
}

// question is the person's latest message.
func (l *runner) question() string {
	if l.latest < len(l.history) && l.history[l.latest].Role == llm.RoleUser {
		return l.history[l.latest].Text
	}
	return ""
}
