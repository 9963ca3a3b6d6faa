package journal

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// tool are the records of a call: its block, its start and its end.
func tool(model, turn int, id string, writes bool) (opens, ends []Record) {
	at := packet.At(turn, 0).ForModel(model)
	start := packet.ToolStart{CallID: id, Tool: "t", Plugin: "p", Title: "T", Labels: []string{}}
	opens = []Record{
		Packet(at, start), Of(CallStarted{Model: model, CallID: id, Tool: "p/t", Writes: writes,
			Labels: []string{"met"}}),
		Packet(at, packet.ToolArgs{CallID: id, Arguments: json.RawMessage(`{}`)}),
	}
	ends = []Record{
		Packet(at, packet.SectionEnd{Outcome: packet.OutcomeOK}),
		Of(CallDone{
			Model: model, CallID: id, Name: "t", Tool: "p/t", Outcome: "ok", Text: "result of " + id,
			Labels: []string{"brought"},
		}),
	}
	return opens, ends
}

// block are the packets of a text, in two deltas.
func block(model, turn int, text string) []Record {
	at := packet.At(turn, 0).ForModel(model)
	half := len(text) / 2
	return []Record{
		Packet(at, packet.MessageStart{}), Packet(at, packet.MessageDelta{Content: text[:half]}),
		Packet(at, packet.MessageDelta{Content: text[half:]}), Packet(at, packet.MessageEnd{}),
	}
}

// longRun is a whole run of two models that interleave: narration, a write, a read in
// which an agent makes a call of its own, a held call, and cited text.
func longRun() []Record {
	started := packet.RunStarted{Responses: []packet.Response{{MessageID: "m_0"}, {ModelIndex: 1, MessageID: "m_1"}}}
	one := []Record{Packet(packet.At(0, 0).ForModel(0), packet.ReasoningStart{}),
		Packet(packet.At(0, 0).ForModel(0), packet.ReasoningDelta{Reasoning: "thought"}),
		Packet(packet.At(0, 0).ForModel(0), packet.ReasoningDone{})}
	one = append(one, block(0, 1, "I look. ")...)
	one = append(one, Of(Step{Text: "I look. ", Reasoning: "thought", Calls: []Call{
		{ID: "w", Name: "t", Tool: "p/t"}, {ID: "r", Name: "t", Tool: "p/t"}}}))
	opens, ends := tool(0, 2, "w", true)
	one = append(append(one, opens...), ends...)
	opens, ends = tool(0, 3, "r", false)
	inner := packet.At(3, 0).ForModel(0).Nested(0, 0)
	opens = append(opens, Packet(packet.At(3, 0).ForModel(0), packet.ResearchAgentStart{ResearchTask: "look"}),
		Packet(inner, packet.MessageStart{}), Packet(inner, packet.MessageDelta{Content: "not the answer"}),
		Packet(inner, packet.MessageEnd{}),
		Of(CallStarted{CallID: "r.1", Parent: "r", Writes: true, Labels: []string{"inside"}}),
		Of(CallDone{CallID: "r.1", Parent: "r", Name: "t", Outcome: "ok", Text: "not a result",
			Labels: []string{"nested"}}))
	one = append(append(one, opens...), ends...)
	at := packet.At(4, 0).ForModel(0)
	one = append(one, Packet(at, packet.MessageStart{}),
		Packet(at, packet.CitationInfo{CitationNumber: 1, Ref: 107, Document: packet.Document{ID: "d"}}),
		Packet(at, packet.MessageDelta{Content: "So it is [[1]]"}),
		Packet(at, packet.MessageDelta{Content: ", again [[1]]."}),
		Packet(at, packet.MessageEnd{}), Of(Step{Text: "So it is [107], again [107]."}))
	two := append(block(1, 0, "I write. "), Of(Step{Model: 1, Text: "I write. ", Calls: []Call{{ID: "h", Name: "t"}}}))
	opens, ends = tool(1, 1, "h", true)
	ends[0].Obj = packet.SectionEnd{Outcome: packet.OutcomeDenied}
	later := packet.Unknown{Name: "later", Raw: json.RawMessage(`{"type":"later"}`)}
	two = append(two, opens[0], ends[0], ends[1], Of(Held{Model: 1, CallID: "h"}))
	two = append(two, Packet(packet.At(2, 0).ForModel(1), later))
	begun := Begun{User: "u", Models: []string{"a", "b"}, Labels: []string{"before"}}
	all := []Record{Of(begun), Packet(packet.At(0, 0), started)}
	for i := range max(len(one), len(two)) {
		all = append(all, one[min(i, len(one)):min(i+1, len(one))]...)
		all = append(all, two[min(i, len(two)):min(i+1, len(two))]...)
	}
	for m := range 2 {
		all = append(all, Packet(packet.At(9, 0).ForModel(m), packet.Stop{Reason: packet.StopCompleted}),
			Of(Outcome{Model: m, Reason: "completed", Labels: []string{"whole"}}))
	}
	return append(all, Packet(packet.At(0, 0), packet.Stop{Reason: packet.StopCompleted}), Of(End{Reason: "completed"}))
}

// TestAnswersAreRightWhereverAJournalBreaksOff cuts a run off after each record.
func TestAnswersAreRightWhereverAJournalBreaksOff(t *testing.T) {
	all := longRun()
	for cut := range len(all) + 1 {
		log := New("r_1", 1)
		log.add(all[:cut]...)
		answers := Answers(log.Records(), 2)
		for m, a := range answers {
			expectSound(t, cut, m, a, log)
		}
		closings := Closings(log, 2)
		if cut == len(all) && len(closings) != 0 {
			t.Errorf("a whole run lacks %q", words(closings))
		}
		closed := New("r_1", 1)
		closed.add(append(slices.Clone(all[:cut]), closings...)...)
		if cut >= 2 {
			packettest.Require(t, packetsOf(closed))
		}
		for m, a := range Answers(closed.Records(), 2) {
			expectClosed(t, cut, answers[m], a)
		}
		if again := Closings(closed, 2); len(again) != 0 {
			t.Errorf("cut at %d: what is closed lacks %q", cut, words(again))
		}
	}
}

// expectSound holds an answer of a log that broke off to what holds everywhere.
func expectSound(t *testing.T, cut, m int, a Answer, log *Log) {
	t.Helper()
	if want := packettest.Text(packetsOf(log), m); a.Text != want {
		t.Errorf("cut at %d: the text of model %d is %q, want %q", cut, m, a.Text, want)
	}
	said := ""
	for _, s := range a.Steps {
		said += s.Text
		if len(s.Results) != len(s.Calls) {
			t.Errorf("cut at %d: %d results of %d calls", cut, len(s.Results), len(s.Calls))
		}
		for i, r := range s.Results {
			if r.CallID != s.Calls[i].ID || r.Text == "" || strings.Contains(r.Text, "not a result") {
				t.Errorf("cut at %d: the result of %s is %+v", cut, s.Calls[i].ID, r)
			}
			started, writes := callStarted(log, r.CallID)
			if want := map[bool]string{true: lostWrite, false: lostRead}[writes]; r.Lost && started && r.Text != want {
				t.Errorf("cut at %d: what began and was lost says %q", cut, r.Text)
			}
			if r.Lost && !started && r.Text != notBegun {
				t.Errorf("cut at %d: what never began says %q", cut, r.Text)
			}
		}
	}
	if refs := strings.ReplaceAll(a.Text, "[[1]]", "[107]"); said != refs {
		t.Errorf("cut at %d: the steps of model %d say %q, the text is %q", cut, m, said, refs)
	}
	if cut > 0 && !slices.Contains(a.Labels, "before") {
		t.Errorf("cut at %d: labels are %q", cut, a.Labels)
	}
	nested := slices.ContainsFunc(factsOf(log), func(f string) bool { return strings.Contains(f, `"nested"`) })
	if m == 0 && nested != slices.Contains(a.Labels, "nested") {
		t.Errorf("cut at %d: labels are %q", cut, a.Labels)
	}
}

func callStarted(log *Log, id string) (started, writes bool) {
	for r := range log.Records() {
		if f, ok := r.Fact.(CallStarted); ok && f.CallID == id {
			return true, f.Writes
		}
	}
	return false, false
}

// expectClosed holds an answer of a closed log to what it was before.
func expectClosed(t *testing.T, cut int, before, after Answer) {
	t.Helper()
	if after.Reason == "" || before.Reason != "" && before.Reason != after.Reason {
		t.Errorf("cut at %d: the reason was %q, is %q", cut, before.Reason, after.Reason)
	}
	before.Reason, before.ended, after.ended = after.Reason, false, false
	for _, a := range []*Answer{&before, &after} {
		for i := range a.Steps {
			a.Steps[i].open, a.Steps[i].Model = false, 0
			for j := range a.Steps[i].Results {
				r := &a.Steps[i].Results[j]
				r.Lost, r.Model = false, 0
			}
		}
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("cut at %d: closed it is\n%+v, was\n%+v", cut, after, before)
	}
}

func TestHeldCallsAndCitationsOfAWholeRun(t *testing.T) {
	log := New("r_1", 1)
	log.add(longRun()...)
	a := Answers(log.Records(), 2)
	if h := a[1].Held; len(h) != 1 || h[0].ID != "h" || !a[1].Steps[0].Results[0].Held || len(a[0].Held) != 0 {
		t.Errorf("held are %+v and %+v", a[0].Held, a[1].Held)
	}
	if want := []string{"before", "brought", "nested", "whole"}; !slices.Equal(a[0].Labels, want) {
		t.Errorf("labels are %q, want %q", a[0].Labels, want)
	}
	if a[0].Steps[0].Results[1].Failed() || a[0].Steps[0].Results[1].Text != "result of r" {
		t.Errorf("got %+v", a[0].Steps[0].Results)
	}
	if b, ok := First[Begun](log); !ok || b.User != "u" {
		t.Errorf("the first Begun is %+v, %v", b, ok)
	}
	if s, ok := First[Step](log); !ok || s.Text != "I write. " { // the shorter one
		t.Errorf("the first Step is %+v, %v", s, ok)
	}
	if _, ok := First[Unknown](log); ok {
		t.Error("there is no unknown fact")
	}
}

// TestFoldsAreTheSameOfAStoredRun: also what compaction and JSON make of it.
func TestFoldsAreTheSameOfAStoredRun(t *testing.T) {
	l := openJournal(t, kv.NewMemory(nil), Options{})
	all := longRun()
	seal(t, begin(t, l, "r_1", all...), false)
	live := New("r_1", 1)
	live.add(all...)
	got, want := Answers(openLog(t, l, "r_1").Records(), 2), Answers(live.Records(), 2)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored it is\n%+v, live\n%+v", got, want)
	}
}

func TestStrangeIndexesAreNobodys(t *testing.T) {
	for _, m := range []int{-1, maxModels + 1, 1 << 40} {
		log := New("r_1", 1)
		log.add(Of(Step{Model: m, Text: "a"}), Of(CallDone{Model: m, Labels: []string{"l"}}), text(m, "b"))
		if a := Answers(log.Records(), 1); len(a) != 1 || a[0].Text != "" || a[0].Steps != nil {
			t.Errorf("model %d: got %+v", m, a)
		}
		_ = Closings(log, 1)
	}
}

func TestFailedModelKeepsItsErrorWhenClosed(t *testing.T) {
	log := New("r_1", 1)
	log.add(Packet(packet.At(0, 0), packet.RunStarted{Responses: []packet.Response{{}}}),
		Packet(packet.At(0, 0).ForModel(0), packet.NewError(packet.CodeModelFailed, "")))
	log.add(Closings(log, 1)...)
	a := Answers(log.Records(), 1)[0]
	end, _ := First[End](log)
	if a.Reason != packet.StopError || a.Error == nil || a.Error.Code != packet.CodeModelFailed ||
		end.Reason != "error" {
		t.Errorf("got %+v, the run ends with %+v", a, end)
	}
}

func TestJoinedLabelsAreASet(t *testing.T) {
	for _, c := range [][3][]string{
		{nil, nil, nil},
		{{"a"}, nil, {"a"}},
		{{"b", "a", "b"}, nil, {"a", "b"}},
		{{"c", "a"}, {"b", "a"}, {"a", "b", "c"}},
		{nil, {"b", "a"}, {"a", "b"}},
	} {
		labels := slices.Clone(c[0])
		if got := Join(labels, c[1]); !slices.Equal(got, c[2]) || !slices.Equal(labels, c[0]) {
			t.Errorf("Join(%q, %q) is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
