// Package loop is the middle loop: ask the model, run its tools, ask again, until
// it must answer. A Setup comes in, packets go out through its Emitter, and a
// Result says what was said and done.
//
// It does not know sessions, storage, other models of the same run, or the turn
// that called it. Providers' peculiarities live in their adapters.
package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/step"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// DefaultMaxCycles is the limit of cycles where an agent sets none.
const DefaultMaxCycles = 6

// maxRepairs is how often a turn tells a model that its call could not be read.
const maxRepairs = 2

// Run runs the loop to its end. It returns early when ctx is done, with
// StopUserCancelled.
func Run(ctx context.Context, setup Setup) Result { return start(ctx, setup, nil) }

// start runs a loop, inside a call of outer where that is not nil.
func start(ctx context.Context, setup Setup, outer *runner) Result {
	l := &runner{Setup: setup, outer: outer, taint: &taint{labels: slices.Clone(setup.Met)}, plugins: setup.Runner,
		history: slices.Clip(setup.History), answer: cite.GoOn(setup.Documents, setup.Cited)}
	if outer != nil {
		l.taint.outer = outer.taint
		l.answer = cite.ByRef(setup.Documents)
	}
	if l.MaxCycles <= 0 {
		l.MaxCycles = DefaultMaxCycles
	}
	for i, m := range l.history {
		if m.Role == llm.RoleUser {
			l.latest = i
		}
	}
	if l.Runner != nil {
		l.Runner = l.Runner.With(l.own()...).After(l.taint.met)
	}
	return l.run(ctx)
}

type runner struct {
	Setup
	// outer is the loop in one of whose calls this one runs, nil at the top.
	outer *runner
	taint *taint
	// plugins is the runner without the loop's own tools.
	plugins *toolrun.Runner
	history []llm.Message
	// latest is the index in history of the person's latest message.
	latest int
	answer *cite.Answer
	// mu guards what calls of the loop's own tools change while they run: offer.found,
	// result.Usage and result.Inner.
	mu     sync.Mutex
	offer  offer
	result Result
	text   strings.Builder
	turn   int

	// noMore says that the model must answer: a tool that stops the loop ran.
	noMore bool
	// forcedDone says that the forced tool had its cycle.
	forcedDone bool
	// toldNoTools says that the model was told that no tools remain.
	toldNoTools bool
	// toldWithdrawn says that the person knows that the provider may run no tool of its
	// own any more.
	toldWithdrawn bool
	// repairs counts how often the model was told that its call could not be read,
	// thoughts the steps that did nothing but think.
	repairs, thoughts int
	// free counts the steps that cost no cycle.
	free int
	// reasoningOpen says that the model's prompt opens its reasoning, as an earlier
	// step showed.
	reasoningOpen bool
	// toldShorter and toldLeftOut say that the person knows what is not sent.
	toldShorter, toldLeftOut bool
	// learned is a size of the window that its endpoint has shown, 0 for none.
	learned int
	// recalls says that recall_result was on offer.
	recalls bool
	// reminders are for the next step only.
	reminders []string
}

func (l *runner) run(ctx context.Context) Result {
	reason := packet.StopCompleted
	// What the model could not learn of itself now, it says when it is asked.
	_ = llm.Prepare(ctx, l.Model)
	l.offer = newOffer(l.Specs, l.Model.Info().ContextTokens, l.question())
	l.goOn(ctx)
	for n := 1; ; n++ {
		cycle := n - l.free
		choice, tools := l.choose(cycle)
		out, err := l.step(ctx, cycle, choice, tools)
		if err != nil {
			reason = l.fail(ctx, err)
			break
		}
		again := l.follow(ctx, cycle, choice, out)
		if ctx.Err() != nil {
			reason = packet.StopUserCancelled
			break
		}
		if !again {
			reason = l.classify(out)
			break
		}
	}
	l.result.Reason, l.result.Text, l.result.Citations = reason, l.text.String(), l.answer.Cited()
	l.result.Labels = l.taint.met()
	return l.result
}

// goOn takes an answer up again: held calls run, or the model is told to go on. Where
// results stand last, the model had not answered them yet: it is asked as it would have
// been.
func (l *runner) goOn(ctx context.Context) {
	if !l.Continues {
		return
	}
	l.noMore, l.reminders = l.NoMore, slices.Clip(l.Reminders)
	switch {
	case len(l.Held) > 0:
		plan := l.Runner.Plan(l.turn, l.Held)
		l.tell(window.Selected)
		l.record(journal.Step{Calls: plan.Calls()})
		done := plan.Run(ctx)
		l.turn++
		l.result.Steps = append(l.result.Steps, Step{Calls: done})
		l.taint.add(done)
		l.history = append(l.history, Messages("", nil, done)...)
	case !l.owesAnswer():
		l.tell(window.GoOn)
	}
}

// owesAnswer tells whether the answer that goes on ended with results, or with a word of
// the host, that the model has not answered.
func (l *runner) owesAnswer() bool {
	if !l.Continues || len(l.History) == 0 {
		return false
	}
	last := l.History[len(l.History)-1]
	return last.Role == llm.RoleTool || last.Note
}

// record adds to the journal what the model said.
func (l *runner) record(s journal.Step, done ...toolrun.Done) {
	if l.Facts == nil {
		return
	}
	facts := make([]journal.CallDone, len(done))
	for i, d := range done {
		facts[i] = d.Fact()
	}
	l.Facts.Step(s, facts...)
}

// stepFact is a step as the journal keeps it.
func stepFact(cycle int, out step.Output) journal.Step {
	s := journal.Step{Cycle: cycle, Text: out.Text, Reasoning: out.Reasoning, Finish: string(out.Finish)}
	if out.Usage != (llm.Usage{}) {
		s.Usage = &journal.Usage{
			InputTokens: out.Usage.InputTokens, OutputTokens: out.Usage.OutputTokens,
			CachedTokens: out.Usage.CachedTokens, Cost: out.Usage.Cost,
		}
	}
	if out.Native != nil {
		s.Native, _ = json.Marshal(out.Native) // what is no JSON cannot be replayed either
	}
	return s
}

// choose sets the tool choice of a cycle: a forced tool first, none in the last
// cycle or after a tool that stops the loop, else all.
func (l *runner) choose(cycle int) (llm.Choice, []tool.Spec) {
	switch {
	case l.noMore || cycle >= l.MaxCycles || len(l.Specs) == 0 && !l.mayServe():
		return llm.ChoiceNone, nil
	case l.Forced != "" && !l.forcedDone:
		for _, s := range slices.Concat(l.Specs, l.ownOffered()) {
			if s.Name == l.Forced {
				return llm.ChoiceRequired, []tool.Spec{l.offer.show(s).spec}
			}
		}
	}
	return llm.ChoiceAuto, l.offered()
}

// follow does what a step asks for and tells whether the model is to be asked
// again.
func (l *runner) follow(ctx context.Context, cycle int, choice llm.Choice, out step.Output) bool {
	l.forcedDone = l.forcedDone || choice == llm.ChoiceRequired
	switch {
	case choice == llm.ChoiceNone:
		return l.afterNone(out)
	case len(out.Calls) > 0:
		l.runTools(ctx, cycle, out)
		l.tellExcess(out)
		if l.onlyThought(out.Calls) {
			l.free++
			return true
		}
		if cycle+1 >= l.MaxCycles && !l.noMore {
			l.notice(packet.CodeCycleLimit, "")
		}
		return true
	case out.Malformed > 0 && l.repairs < maxRepairs:
		l.repairs++
		if out.Text != "" {
			l.history = append(l.history, llm.Message{Role: llm.RoleAssistant, Text: out.Text, Native: out.Native})
		}
		l.tell(window.RepairCall)
		return true
	case choice == llm.ChoiceRequired:
		l.notice(packet.CodeForcedToolUnused, fmt.Sprintf("The model did not use %s.", l.Forced))
		return out.Text == ""
	}
	return false
}

// afterNone handles a step without tools: calls in it are never run. If nothing
// else was said, one more step says that no tools remain.
func (l *runner) afterNone(out step.Output) bool {
	if len(out.Calls)+out.Malformed == 0 || out.Text != "" || l.toldNoTools {
		return false
	}
	l.toldNoTools, l.noMore = true, true
	l.tell(window.NoTools)
	return true
}

// runTools runs the calls of a step and appends both sides to history.
func (l *runner) runTools(ctx context.Context, cycle int, out step.Output) {
	opened := out.CallTurn < l.turn // blocks of calls stand there already
	done, rest := l.think(out.Calls)
	fact := stepFact(cycle, out)
	for _, d := range done {
		fact.Calls = append(fact.Calls, journal.Call{ID: d.CallID, Name: d.Name, Arguments: d.Arguments})
	}
	if !opened {
		out.CallTurn = l.turn
	}
	if len(rest) > 0 {
		requests := make([]toolrun.Request, len(rest))
		for i, c := range rest {
			requests[i] = toolrun.Request{Name: c.Name, Arguments: c.Arguments, Inexact: c.Inexact,
				CallID: c.ID, Tab: c.Tab}
		}
		plan := l.Runner.Plan(out.CallTurn, requests)
		fact.Calls = append(fact.Calls, plan.Calls()...)
		l.record(fact, done...)
		ran := plan.Run(ctx)
		l.taint.add(ran)
		done = append(done, ran...)
		l.turn = max(l.turn, out.CallTurn+1)
	} else {
		l.record(fact, done...)
	}
	l.result.Steps[len(l.result.Steps)-1].Calls = done
	l.history = append(l.history, Messages(out.Text, out.Native, done)...)
	for _, d := range done {
		l.noMore = l.noMore || d.StopsLoop
		if d.Reminder != "" && !slices.Contains(l.reminders, d.Reminder) {
			l.reminders = append(l.reminders, d.Reminder)
		}
	}
}

// tellExcess tells both sides of calls that were too many for one step.
func (l *runner) tellExcess(out step.Output) {
	if out.Excess == 0 {
		return
	}
	l.notice(packet.CodeTooManyCalls, fmt.Sprintf("The model asked for %d tool calls at once. The first %d were run.",
		len(out.Calls)+out.Excess, len(out.Calls)))
	l.reminders = append(l.reminders, fmt.Sprintf("You asked for %d tool calls at once. Only the first %d were run. "+
		"Ask for fewer.", len(out.Calls)+out.Excess, len(out.Calls)))
}

// Messages writes a step as history: the narration with its calls and what the
// provider wants to see again, then exactly one result for each call.
func Messages(text string, native *llm.Native, calls []toolrun.Done) []llm.Message {
	assistant := llm.Message{Role: llm.RoleAssistant, Text: text, Native: native}
	messages := []llm.Message{assistant}
	for _, d := range calls {
		messages[0].ToolCalls = append(messages[0].ToolCalls,
			llm.ToolCall{ID: d.CallID, Name: d.Name, Arguments: d.Arguments})
		messages = append(messages, llm.Message{Role: llm.RoleTool, ToolCallID: d.CallID, ToolName: d.Name,
			Text: d.Text})
	}
	return messages
}

// tell adds to the conversation what the host says to the model.
func (l *runner) tell(text string) {
	l.history = append(l.history, llm.Message{Role: llm.RoleUser, Text: text, Note: true})
	if l.Facts != nil {
		l.Facts.Note(text)
	}
}

func (l *runner) notice(code packet.Code, message string) {
	l.Emit.Emit(l.place(), packet.NewNotice(code, message))
}

// place is where packets that open no block are drawn: the last block's place.
func (l *runner) place() packet.Placement { return packet.At(max(0, l.turn-1), 0) }

func (l *runner) addUsage(u llm.Usage) {
	l.result.Usage.InputTokens += u.InputTokens
	l.result.Usage.OutputTokens += u.OutputTokens
	l.result.Usage.CachedTokens += u.CachedTokens
	l.result.Usage.Cost += u.Cost
}
