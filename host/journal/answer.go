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
}

// Taken is a step with the results of its calls, in the order of the calls.
type Taken struct {
	Step
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
	lostWrite = "The host stopped while this call ran. It writes, so it may have happened: look before you do it again. It was not repeated."
	lostRead  = "The host stopped while this call ran, and its result is lost. It changes nothing: call it again where you need it."
	notBegun  = "The host stopped before this call began. Nothing was done."
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
	ended           bool
}

func (f *fold) model(i int) *model {
	if i < 0 || i > maxModels {
		return &model{started: map[string]CallStarted{}, done: map[string]CallDone{}, held: map[string]bool{}}
	}
	for len(f.models) <= i {
		f.models = append(f.models, &model{
			labels: f.before, started: map[string]CallStarted{}, done: map[string]CallDone{}, held: map[string]bool{},
		})
	}
	return f.models[i]
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
	r := Result{Lost: true, CallDone: CallDone{CallID: c.ID, Name: c.Name, Tool: c.Tool, Outcome: string(packet.OutcomeInterrupted), Text: notBegun}}
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

// Join returns the labels of both lists, each once, in a fixed order.
func Join(labels, more []string) []string {
	if len(more) == 0 {
		return labels
	}
	all := slices.Concat(labels, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// First returns the first fact of a type in a log, false where there is none.
func First[F Fact](log *Log) (F, bool) {
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, p := range log.facts {
		if f, ok := p.fact.(F); ok {
			return f, true
		}
	}
	var none F
	return none, false
}

// Closings are the records that a journal which broke off lacks, before its End:
// the packets that close what is open, the results of calls that have none, and
// an outcome for each model. Appended in one, they end the run as interrupted.
func Closings(log *Log, models int) []Record {
	var packets []packet.Packet
	for r := range log.Records() {
		if r.Obj != nil {
			packets = append(packets, packet.Packet{Placement: r.Place, Obj: r.Obj})
		}
	}
	answers := Answers(log.Records(), models)
	var out []Record
	for i, a := range answers {
		out = append(out, closeAnswer(i, a)...)
	}
	reasons := map[int]packet.StopReason{}
	var end *Closing
	for _, c := range Unfinished(packets, len(answers)) {
		if stop, ok := c.Obj.(packet.Stop); ok {
			if c.Place.ModelIndex == nil {
				end = &c
				continue
			}
			reasons[*c.Place.ModelIndex] = stop.Reason
		}
		out = append(out, Packet(c.Place, c.Obj))
	}
	for i, a := range answers {
		reason := a.Reason
		if reason == "" {
			reason = reasons[i]
		}
		out = append(out, Of(Outcome{Model: i, Reason: string(reason), Citations: a.Citations, Error: a.Error, Labels: a.Labels}))
	}
	if end != nil {
		out = append(out, Packet(end.Place, end.Obj), Of(End{Reason: string(end.Obj.(packet.Stop).Reason)}))
	} else if _, ended := First[End](log); !ended && len(packets) > 0 { // the run's stop stands there
		if stop, ok := packets[len(packets)-1].Obj.(packet.Stop); ok {
			out = append(out, Of(End{Reason: string(stop.Reason)}))
		}
	}
	return out
}

// closeAnswer are the facts that a broken answer lacks: its partial step and the
// results of its calls.
func closeAnswer(model int, a Answer) (out []Record) {
	for _, s := range a.Steps {
		if s.open {
			step := s.Step
			step.Model = model
			out = append(out, Of(step))
		}
		for _, r := range s.Results {
			if r.Lost {
				done := r.CallDone
				done.Model = model
				out = append(out, Of(done))
			}
		}
	}
	return out
}
