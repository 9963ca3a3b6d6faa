package journal

import (
	"iter"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Answer is what a journal says of one model's answer in one run: what a person
// reads, and what the model is shown later.
type Answer struct {
	// Text is what a person reads: the answer's message_delta packets joined.
	Text string
	// Steps are what the model said and what its calls yielded; each call has
	// exactly one result.
	Steps     []Taken
	Citations []packet.CitationInfo
	// Reason is why it ended, "" where the journal broke off before.
	Reason packet.StopReason
	Error  *packet.Error
	// Labels are the taint of the path with this answer.
	Labels []string
	// Held are the calls that wait until the answer is selected.
	Held []Call
	// ended tells that the journal has its outcome.
	ended bool
}

// Taken is a step with the results of its calls, in the order of the calls; or, where
// Note is not "", what the host told the model between two steps.
type Taken struct {
	Step
	Note    string
	Results []Result
	// open tells that the journal broke off before it said what the step was.
	open bool
}

// Result is what the model was told of a call.
type Result struct {
	CallDone
	// Held tells that the call waits until its answer is selected.
	Held bool
	// Lost tells that the journal broke off before the result: nobody knows more.
	Lost bool
}

// Failed tells whether the call did not do what was asked.
func (r Result) Failed() bool { return r.Outcome != string(packet.OutcomeOK) }

// The results of calls that were cut off.
const (
	lostWrite = "The host stopped while this call ran. It writes, so it may have happened: " +
		"look before you do it again. It was not repeated."
	lostRead = "The host stopped while this call ran, and its result is lost. " +
		"It changes nothing: call it again where you need it."
	notBegun = "The host stopped before this call began. Nothing was done."
)

// Answers folds the records of a run into the answers of its models, by model
// index. It is right at any place at which a journal may break off: what a step
// had said by then is a partial step, and calls that have no result get one that
// says whether they may have happened.
func Answers(records iter.Seq[Record], models int) []Answer {
	f := &fold{}
	if models > 0 {
		f.model(models - 1)
	}
	for r := range records {
		f.see(r)
	}
	out := make([]Answer, len(f.models))
	for i := range f.models {
		out[i] = f.models[i].answer()
	}
	return out
}

// fold is what a reading of a journal has come to.
type fold struct {
	models []*model
	before []string
}

// model is one answer on the way.
type model struct {
	Answer
	labels  []string
	shown   strings.Builder
	started map[string]CallStarted
	done    map[string]CallDone
	held    map[string]bool
	// text and reasoning are those of the step that has not ended; text is as it
	// was shown.
	text, reasoning strings.Builder
}

func (f *fold) model(i int) *model {
	if i < 0 || i > maxModels {
		return newModel(nil) // of which nobody hears
	}
	for len(f.models) <= i {
		f.models = append(f.models, newModel(f.before))
	}
	return f.models[i]
}

func newModel(labels []string) *model {
	return &model{labels: labels, started: map[string]CallStarted{}, done: map[string]CallDone{},
		held: map[string]bool{}}
}

// maxModels bounds the model index of a record that is believed.
const maxModels = 64

func (f *fold) see(r Record) {
	switch fact := r.Fact.(type) {
	case nil:
		f.packet(r)
	case Begun:
		f.before = fact.Labels
		for i := range f.models {
			f.models[i].labels = fact.Labels
		}
	case Step:
		m := f.model(fact.Model)
		m.Steps = append(m.Steps, Taken{Step: fact})
		m.text.Reset()
		m.reasoning.Reset()
	case Note:
		m := f.model(fact.Model)
		m.Steps = append(m.Steps, Taken{Note: fact.Text})
	case CallStarted:
		if fact.Parent == "" {
			f.model(fact.Model).started[fact.CallID] = fact
		}
	case CallDone:
		m := f.model(fact.Model)
		m.labels = Join(m.labels, fact.Labels)
		if fact.Parent == "" {
			m.done[fact.CallID] = fact
		}
	case Held:
		f.model(fact.Model).held[fact.CallID] = true
	case Outcome:
		m := f.model(fact.Model)
		m.ended, m.Reason, m.Error, m.Citations = true, packet.StopReason(fact.Reason), fact.Error, fact.Citations
		m.labels = Join(m.labels, fact.Labels)
	}
}

func (f *fold) packet(r Record) {
	key := r.Place.Key()
	if key.Model < 0 || key.SubTurn >= 0 { // a nested agent's blocks are not the answer
		return
	}
	m := f.model(key.Model)
	switch o := r.Obj.(type) {
	case packet.MessageDelta:
		m.shown.WriteString(o.Content)
		m.text.WriteString(o.Content)
	case packet.ReasoningDelta:
		m.reasoning.WriteString(o.Reasoning)
	case packet.CitationInfo:
		if !m.ended {
			m.Citations = append(m.Citations, o)
		}
	case packet.Error:
		m.Error = &o
	case packet.Stop:
		if m.Reason == "" {
			m.Reason = o.Reason
		}
	}
}

// answer is what the fold says once the records end.
func (m *model) answer() Answer {
	a := m.Answer
	a.Text, a.Labels = m.shown.String(), m.labels
	if !m.ended && m.text.Len()+m.reasoning.Len() > 0 {
		a.Steps = append(slices.Clip(a.Steps), Taken{open: true, Step: Step{
			Text: toRefs(m.text.String(), a.Citations), Reasoning: m.reasoning.String(), Partial: true,
		}})
	}
	for i := range a.Steps {
		a.Steps[i].Results = nil
		for _, c := range a.Steps[i].Calls {
			r := m.result(c)
			a.Steps[i].Results = append(a.Steps[i].Results, r)
			if r.Lost {
				a.Labels = Join(a.Labels, r.Labels)
			}
			if r.Held {
				a.Held = append(a.Held, c)
			}
		}
	}
	return a
}

// result is what is known of a call.
func (m *model) result(c Call) Result {
	if done, ok := m.done[c.ID]; ok {
		return Result{CallDone: done, Held: m.held[c.ID]}
	}
	r := Result{Lost: true, CallDone: CallDone{
		CallID: c.ID, Name: c.Name, Tool: c.Tool, Outcome: string(packet.OutcomeInterrupted), Text: notBegun,
	}}
	if started, ok := m.started[c.ID]; ok {
		if r.Text = lostRead; started.Writes {
			r.Text = lostWrite
		}
		r.Labels = started.Labels
	}
	return r
}

// toRefs writes text as it was shown for the model.
func toRefs(text string, citations []packet.CitationInfo) string {
	refs := map[int]int{}
	for _, c := range citations {
		refs[c.CitationNumber] = c.Ref
	}
	return cite.ToRefs(text, refs)
}

// Join returns the labels of both lists, each once, in a fixed order. It changes
// neither.
func Join(labels, more []string) []string {
	if len(more) == 0 && slices.IsSorted(labels) && len(slices.Compact(slices.Clone(labels))) == len(labels) {
		return labels
	}
	all := slices.Concat(labels, more)
	slices.Sort(all)
	return slices.Compact(all)
}
