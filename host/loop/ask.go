package loop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/step"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// maxTighter is how often a step is asked again with less of the conversation because
// the model's endpoint finds it too long.
const maxTighter = 3

// step asks the model once and takes what it said into the result.
func (l *runner) step(ctx context.Context, cycle int, choice llm.Choice, specs []tool.Spec) (step.Output, error) {
	reminder := strings.Join(l.reminders, "\n")
	l.reminders = nil
	out, err := l.ask(ctx, reminder, choice, specs)
	if errors.Is(err, window.ErrTooLong) { // the model was not asked
		return out, err
	}
	l.reasoningOpen = out.ReasoningOpen
	l.turn = out.NextTurn
	if len(out.ServerTools) > 0 {
		l.taint.serve()
	}
	l.text.WriteString(out.Shown)
	l.addUsage(out.Usage)
	l.result.Steps = append(l.result.Steps, Step{Text: out.Text, Reasoning: out.Reasoning, Native: out.Native})
	if err != nil || choice == llm.ChoiceNone || len(out.Calls) == 0 {
		fact := stepFact(cycle, out)
		fact.Partial = err != nil
		l.record(fact)
	}
	return out, err
}

// ask asks the model with as much of the conversation as fits. Where the endpoint finds
// it too long before it says anything, the window is smaller than it was thought to be,
// and the model is asked again with less.
func (l *runner) ask(
	ctx context.Context, reminder string, choice llm.Choice, specs []tool.Spec,
) (out step.Output, err error) {
	for tighter := 0; ; tighter++ {
		request, fits := l.request(reminder, choice, specs)
		if fits != nil { // what the endpoint said, if it did, is more exact
			return step.Output{NextTurn: l.turn, ReasoningOpen: l.reasoningOpen},
				cmp.Or(err, error(llm.NewError(packet.CodeContextTooLong, "", fits)))
		}
		out, err = step.Decode(ctx, step.Input{
			Model: l.Model, Request: request, Emit: l.Emit, Turn: l.turn, Answer: l.answer, Now: l.Now,
			ReasoningOpen: l.reasoningOpen, Blocks: l.Runner,
			Continues: l.text.Len() > 0 || len(l.Held) > 0 || l.Said && l.owesAnswer(),
			Unbroken:  l.Continues && len(l.Held) == 0 && l.text.Len() == 0 && !l.owesAnswer(),
		})
		var known *llm.Error
		silent := out.NextTurn == l.turn && out.Text == "" && len(out.Calls)+len(out.ServerTools) == 0
		if !errors.As(err, &known) || known.Code != packet.CodeContextTooLong || !silent || tighter == maxTighter {
			return out, err
		}
		// Of a window of this size three quarters are for what is sent.
		l.learned = request.Tokens(l.Model.Info().Vision)
	}
}

// contextTokens is the size of the model's window as far as it is known, 0 where it is
// not.
func (l *runner) contextTokens() int {
	known := l.Model.Info().ContextTokens
	if l.learned > 0 && (known <= 0 || l.learned < known) {
		return l.learned
	}
	return known
}

// request is the next question to the model.
func (l *runner) request(reminder string, choice llm.Choice, specs []tool.Spec) (llm.Request, error) {
	defs, withheld := definitions(specs), []llm.ToolDef(nil)
	if choice != llm.ChoiceAuto {
		withheld = definitions(slices.DeleteFunc(l.offered(), func(s tool.Spec) bool {
			return slices.ContainsFunc(specs, func(o tool.Spec) bool { return o.Name == s.Name })
		}))
	}
	fitted, err := l.fit(reminder, choice, defs)
	if err != nil {
		return llm.Request{}, err
	}
	switch {
	case fitted.Partial() && choice == llm.ChoiceAuto:
		defs, l.recalls = append(defs, recallDef), true
	case l.recalls && choice != llm.ChoiceAuto:
		withheld = append(withheld, recallDef)
	}
	return llm.Request{
		Messages: fitted.Messages, Tools: defs, Choice: choice, Withheld: withheld, NoServerTools: l.NoServerTools ||
			l.searchWithdrawn(),
	}, nil
}

// fit fits the conversation into the model's window and tells the person what had to
// give way, once.
func (l *runner) fit(reminder string, choice llm.Choice, defs []llm.ToolDef) (window.Fitted, error) {
	ask := window.Ask{System: l.System, Reminder: reminder, History: l.history, Latest: l.latest, Tools: defs,
		ContextTokens: l.contextTokens(), Sees: l.Model.Info().Vision}
	if choice == llm.ChoiceAuto {
		ask.Recall = &recallDef
	}
	fitted, err := window.Fit(ask)
	if fitted.Dropped+fitted.Cut > 0 && !l.toldShorter {
		l.toldShorter = true
		message := ""
		if fitted.Dropped == 0 {
			message = "A long text in a tool call is no longer sent whole, so that the conversation fits the model."
		}
		l.notice(packet.CodeHistoryShortened, message)
	}
	if fitted.LeftOut > 0 && !l.toldLeftOut {
		l.toldLeftOut = true
		l.notice(packet.CodeResultsLeftOut, "")
	}
	return fitted, err
}

// definitions are tools as a model is told of them.
func definitions(specs []tool.Spec) []llm.ToolDef {
	defs := make([]llm.ToolDef, len(specs))
	for i, s := range specs {
		defs[i] = definition(s)
	}
	return defs
}

func definition(s tool.Spec) llm.ToolDef {
	return llm.ToolDef{Name: s.Name, Description: s.Description, Parameters: s.InputSchema}
}
