package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/host/window"
)

const (
	// researchCycles is the limit of an agent's cycles.
	researchCycles = 6
	// parallelAgents is how many agents of one model work at once.
	parallelAgents = 4
)

// researchSpec describes research_agent. Its labels are those that its agents' calls
// may have: what one met counts as met. Writes is not among them, since such calls are
// held back inside the agent.
func (l *runner) researchSpec() tool.Spec {
	spec := tool.Spec{
		ID:    tool.OwnID(tool.ResearchAgent),
		Name:  tool.ResearchAgent,
		Title: "Research",
		Description: "Hands one task to an agent that works on it alone with your other tools and reports what it " +
			"found, with its sources. " +
			"It does not see this conversation: write all that it needs to know into the task. Call it several times " +
			"at once for parts that do not depend on each other.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"What to find out, complete in itself."}},"required":["task"]}`),
		Concurrency: parallelAgents,
	}
	labels := map[string]bool{}
	for _, s := range l.Specs {
		for _, label := range s.Labels {
			labels[label] = label != tool.LabelWrites
		}
	}
	if l.Model.Info().NativeSearch && !l.NoServerTools {
		labels[tool.LabelUntrustedContent], labels[tool.LabelEgress] = true, true
	}
	for _, label := range []string{tool.LabelPrivateData, tool.LabelUntrustedContent, tool.LabelEgress} {
		if labels[label] {
			spec.Labels = append(spec.Labels, label)
		}
	}
	return spec
}

// researches tells whether the model may hand tasks to agents. An agent may not.
func (l *runner) researches() bool { return l.Research && l.outer == nil && len(l.Specs) > 0 }

// research runs an agent inside the call: research_agent.
func (l *runner) research(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	args, err := arguments[struct{ Task string }](in)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Task) == "" {
		return wrong(`The task is empty. Say what is to be found out, for example {"task": "When was the bridge built, and by whom?"}.`), nil
	}
	place, ok := toolrun.PlaceOf(in.Report)
	if !ok {
		return tool.Result{}, fmt.Errorf("research_agent was not called by a runner")
	}
	l.Emit.Emit(place, packet.ResearchAgentStart{ResearchTask: args.Task})
	blocks := &inside{emit: l.Emit, place: place, call: in.CallID}
	defer blocks.end() // where a panic leaves some open
	emit := packet.NewEmitter(blocks, 0)
	result := start(ctx, Setup{
		Model: l.Model, System: window.Research(l.Now(), l.Specs),
		History: []llm.Message{{Role: llm.RoleUser, Text: args.Task}},
		Specs:   l.Specs, Met: in.Met, Runner: l.plugins.Inside(in.CallID, emit), NoServerTools: l.NoServerTools,
		Named:     l.Named,
		MaxCycles: researchCycles, Documents: l.Documents, Emit: emit, Now: l.Now,
	}, l)
	l.take(result)
	return reported(result), nil
}

// take adds what an agent used to what the answer used.
func (l *runner) take(of Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addUsage(of.Usage)
	for _, s := range of.Steps {
		l.result.Inner = append(l.result.Inner, s.Calls...)
	}
}

// reported is an agent's result as the result of its call: its last text, and the
// documents that it cites, which the model may cite by the same refs.
func reported(r Result) tool.Result {
	var out tool.Result
	for _, s := range r.Steps {
		if strings.TrimSpace(s.Text) != "" {
			out.Text = s.Text
		}
	}
	for _, c := range r.Citations {
		if len(out.Documents) == 0 {
			out.Text += "\n\nSources:"
		}
		out.Documents = append(out.Documents, tool.Document(c.Document))
		out.Text += fmt.Sprintf("\n[%d] %s", c.Ref, c.Document.Title)
	}
	switch {
	case r.Reason == packet.StopCompleted:
	case r.Error != nil:
		out.Failure = &tool.Failure{Kind: tool.FailureFailed, Message: "The agent could not finish: " + r.Error.Message}
		out.Text = strings.TrimSpace("The agent could not finish: " + r.Error.Message +
			"\nDo without it, or give it a smaller task.\n\n" + out.Text)
	default:
		out.Failure = &tool.Failure{Kind: tool.FailureFailed, Message: "The agent was stopped."}
		out.Text = strings.TrimSpace("The agent was stopped.\n\n" + out.Text)
	}
	return out
}
