package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
	"github.com/bulkhead-host/bulkhead/host/window"
)

const (
	// MaxOffered is how many tools a model is told of at once. Where there are more it
	// looks for those that it needs.
	MaxOffered = 40
	// maxOfferTokens is how much their definitions may take in all, also where nobody
	// knows the window; offerShare is the part of the window that they may: a third.
	maxOfferTokens = 16_000
	offerShare     = 3
	// oneShare is the part of that which one of them may take, and leastText what it may
	// take at least, in bytes.
	oneShare  = 4
	leastText = 256
	// mostFound is how many tools find_tools returns.
	mostFound = 8
	// shortDescription is how much of a description it returns, in characters.
	shortDescription = 300
)

// offer is what of many tools a model is told of. The zero offer tells it of all, as
// they are.
type offer struct {
	// catalogue is nil where all are told of.
	*catalogue
	// budget is what definitions may take, in tokens, one what each may, in bytes.
	budget, one int
	// shown are tools as the model is told of them, by name, as far as they were looked
	// at; only the loop's own goroutine uses it.
	shown map[string]shown
	// found are the names that the model looked for, the latest first. runner.mu guards it.
	found []string
	// fits are those that match the person's question, the best first.
	fits []string
}

// shown is a tool as a model is told of it, and what that takes, in tokens.
type shown struct {
	spec tool.Spec
	cost int
}

// newOffer decides whether a model is told of all tools. contextTokens is the size of
// its window, 0 for what is not known.
func newOffer(specs []tool.Spec, contextTokens int, question string) offer {
	o := offer{budget: maxOfferTokens, one: toolset.MaxText, shown: map[string]shown{}}
	if contextTokens > 0 {
		o.budget = min(o.budget, contextTokens/offerShare)
	}
	if o.fitsAll(specs) {
		return o
	}
	if one := max(leastText, o.budget*bytesPerToken/oneShare); one < o.one {
		o.one, o.shown = one, map[string]shown{}
	}
	if o.fitsAll(specs) {
		return o
	}
	o.catalogue = newCatalogue(specs)
	for _, s := range o.best(question, mostFound) {
		o.fits = append(o.fits, s.Name)
	}
	return o
}

// fitsAll tells whether the model can be told of all tools.
func (o offer) fitsAll(specs []tool.Spec) bool {
	if len(specs) > MaxOffered {
		return false
	}
	all := 0
	for _, s := range specs {
		all += o.show(s).cost
	}
	return all <= o.budget
}

// bytesPerToken is how many bytes of a schema a token is about.
const bytesPerToken = 3

// show returns a tool as the model is told of it.
func (o offer) show(s tool.Spec) shown {
	if o.shown == nil {
		return shown{spec: s}
	}
	known, ok := o.shown[s.Name]
	if !ok {
		short := toolset.Short(s, o.one)
		known = shown{short, window.ToolTokens(definition(short))}
		o.shown[s.Name] = known
	}
	return known
}

// offered are the tools that the model is told of in the next step, in the order of
// Specs: all, or of many those that it was told to use, looked for, has used on this
// path or that somebody named, then those that came with the host and those that match
// the question, as many of them in this order as the budget takes. Where only the
// budget is too small for all, the others follow.
func (l *runner) offered() []tool.Spec {
	var specs []tool.Spec
	chosen := l.chosen()
	for _, s := range l.Specs {
		if l.offer.catalogue == nil || chosen[s.Name] {
			specs = append(specs, l.offer.show(s).spec)
		}
	}
	return slices.Concat(specs, l.ownOffered())
}

// chosen are the names of the tools, of many, that the model is told of.
func (l *runner) chosen() map[string]bool {
	if l.offer.catalogue == nil {
		return nil
	}
	l.mu.Lock()
	wanted := slices.Concat([]string{l.Forced}, l.offer.found, l.used(), l.Named)
	l.mu.Unlock()
	var rest []string
	byName := map[string]tool.Spec{}
	for _, s := range l.Specs {
		byName[s.Name] = s
		if s.Builtin {
			wanted = append(wanted, s.Name)
		}
		rest = append(rest, s.Name)
	}
	wanted = append(wanted, l.offer.fits...)
	if len(l.Specs) <= MaxOffered {
		wanted = append(wanted, rest...)
	}
	chosen, left := map[string]bool{}, l.offer.budget
	for _, name := range wanted {
		s, exists := byName[name]
		if !exists || chosen[name] {
			continue
		}
		if len(chosen) >= MaxOffered {
			break
		}
		if cost := l.offer.show(s).cost; cost <= left {
			left -= cost
			chosen[name] = true
		}
	}
	return chosen
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
		Description: fmt.Sprintf("You have %d tools and are shown some of them. "+
			"This finds others by what they do; those found can be called from then on. "+
			"Look here before you say that you cannot do something.", len(l.Specs)),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string",` +
			`"description":"What the tool should do, in a few words."}},"required":["query"]}`),
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
		return tool.Result{Text: fmt.Sprintf("None of the %d tools matches. "+
			"Try other words for what is to be done, or answer without a tool.", len(l.Specs))}, nil
	}
	var b strings.Builder
	b.WriteString("These tools fit, the best first. You can call them from now on.")
	names := make([]string, len(best))
	for i, s := range best {
		names[i] = s.Name
		line := strings.Join(strings.Fields(s.Description), " ")
		fmt.Fprintf(&b, "\n- %s: %s", s.Name, headOf(line, shortDescription))
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
