package turn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// find returns the payloads of one type.
func find[T packet.Obj](packets []packet.Packet) []T {
	var out []T
	for _, p := range packets {
		if o, ok := p.Obj.(T); ok {
			out = append(out, o)
		}
	}
	return out
}

// waitFor reads a live run until a packet fulfils a condition.
func (f *fixture) waitFor(run string, enough func(packet.Packet) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	cursor, err := f.Open(ctx, f.owner, run, 0, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	var seen []packet.Packet
	for {
		entries, err := cursor.Next(ctx)
		if err != nil {
			f.t.Fatalf("what was waited for did not come: %v, after\n%s", err, packettest.Dump(seen))
		}
		for _, e := range entries {
			if enough(e.Packet) {
				return
			}
			seen = append(seen, e.Packet)
		}
	}
}

func isDelta(p packet.Packet) bool {
	_, ok := p.Obj.(packet.MessageDelta)
	return ok
}

func TestStopKeepsWhatWasWrittenAndEndsTheRequest(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Text("half an ").Gate(nil))
	ack := f.send(Send{Text: "go"})
	f.waitFor(ack.Run, isDelta)
	if err := f.Stop(t.Context(), f.owner, ack.Run, nil); err != nil {
		t.Fatal(err)
	}
	packets := f.read(ack.Run)
	if err := f.server.WaitEnded(t.Context(), 1); err != nil { // the provider saw its client leave
		t.Fatal(err)
	}
	if m := f.message(ack, 0); m.Text != "half an " || m.Status != store.StatusUserCancelled {
		t.Errorf("got %q, %s", m.Text, m.Status)
	}
	if stops := find[packet.Stop](packets); len(stops) != 2 || stops[1].Reason != packet.StopUserCancelled {
		t.Errorf("stops %v", stops)
	}
	f.server.Add(llmtest.Answer().Text("again"))
	if m := f.message(f.again(ack, "more"), 0); m.Text != "again" {
		t.Errorf("got %q", m.Text)
	}
}

// again sends into the same session and waits for the end.
func (f *fixture) again(ack Ack, text string) Ack {
	f.t.Helper()
	next := f.send(Send{SessionID: ack.SessionID, Text: text})
	f.read(next.Run)
	return next
}

func TestStopEndsARunningTool(t *testing.T) {
	f := newFixture(t)
	f.search.gate = make(chan struct{})
	f.server.Add(llmtest.Answer().ToolCall("a", "internal_search", `{"queries":["x"]}`))
	ack := f.send(Send{Text: "go"})
	f.waitFor(ack.Run, func(p packet.Packet) bool { _, ok := p.Obj.(packet.ToolArgs); return ok })
	if err := f.Stop(t.Context(), f.owner, ack.Run, nil); err != nil {
		t.Fatal(err)
	}
	if ends := find[packet.SectionEnd](f.read(ack.Run)); len(ends) != 1 || ends[0].Outcome != packet.OutcomeCancelled {
		t.Errorf("got %+v", ends)
	}
	if m := f.message(ack, 0); len(m.Steps) != 1 || len(m.Steps[0].Results) != 1 {
		t.Errorf("the call has no result: %+v", m.Steps)
	}
}

func TestCloseInterruptsAndKeeps(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Text("half").Gate(make(chan struct{})))
	ack := f.send(Send{Text: "go"})
	f.waitFor(ack.Run, isDelta)
	if err := f.Service.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := f.message(ack, 0); m.Text != "half" || m.Status != store.StatusInterrupted {
		t.Errorf("got %q, %s", m.Text, m.Status)
	}
	_, err := f.Send(t.Context(), f.owner, Send{Text: "late"})
	wantCode(t, err, CodeClosing)
}

func TestAStopBeforeTheFirstStepIsNoFault(t *testing.T) {
	for name, want := range map[string]packet.StopReason{"stop": packet.StopUserCancelled,
		"close": packet.StopInterrupted} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			var b *journal.Beginning
			begun, err := f.store.Runs().Begin(t.Context(), f.owner,
				store.BeginRun{Text: "q", Models: []string{"local"},
					Also: func(tx kv.Tx, begun store.Begun) (err error) {
						if b, err = f.records.Begin(begun.Run.ID, 1, owner,
							f.beginning(f.owner, store.BeginRun{}, setup{begun: begun})...); err != nil {
							return err
						}
						return b.Write(tx)
					}})
			if err != nil {
				t.Fatal(err)
			}
			w := f.register(begun, b.Lease(), 1)
			if name == "close" {
				err = f.Service.Close(t.Context())
			} else {
				err = f.Stop(t.Context(), f.owner, begun.Run.ID, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.work(f.owner, setup{models: f.cfg.Models.(models), begun: begun})
			packets := f.read(begun.Run.ID)
			if e := find[packet.Error](packets); len(e) != 0 {
				t.Errorf("errors %+v", e)
			}
			if stops := find[packet.Stop](packets); len(stops) != 2 || stops[0].Reason != want {
				t.Errorf("stops %+v", stops)
			}
		})
	}
}

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Message == "" {
		t.Errorf("got %v, want code %s with a sentence", err, code)
	}
}

func TestEndpointFailuresBecomeSentences(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply *llmtest.Reply
		code  packet.Code
	}{
		{"401", llmtest.Status(401, `{"error":{"message":"bad key sk-secret"}}`), packet.CodeModelAuth},
		{"429", llmtest.Status(429, `{"error":{"message":"slow down"}}`), packet.CodeModelRateLimited},
		{"500", llmtest.Status(500, `{"error":{"message":"boom"}}`), packet.CodeModelFailed},
		{"404", llmtest.Status(404, `{"error":{"message":"no such model"}}`), packet.CodeModelNotFound},
		{"html", llmtest.HTML(200), packet.CodeModelBadResponse},
		{"cut", llmtest.Answer().Text("half").Unfinished(), packet.CodeModelInterrupted},
		{"empty", llmtest.Answer(), packet.CodeEmptyAnswer},
		{"out of budget", llmtest.Answer().Reasoning("hm").Finish("length"), packet.CodeOutOfBudget},
		{"filtered", llmtest.Answer().Finish("content_filter"), packet.CodeRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.server.Answer(func(llmtest.Request) *llmtest.Reply { return c.reply })
			ack := f.send(Send{Text: "go"})
			packets := f.read(ack.Run)
			errs := find[packet.Error](packets)
			if len(errs) != 1 || errs[0].Code != c.code {
				t.Fatalf("got %+v, want %s", errs, c.code)
			}
			if all := packettest.Dump(packets); strings.Contains(all, "sk-secret") {
				t.Errorf("a key in a packet:\n%s", all)
			}
			if m := f.message(ack, 0); m.Status != store.StatusError || m.ErrorMessage != errs[0].Message {
				t.Errorf("stored %+v", m)
			}
			f.server.Answer(func(llmtest.Request) *llmtest.Reply { return llmtest.Answer().Text("fine") })
			if m := f.message(f.again(ack, "retry"), 0); m.Text != "fine" {
				t.Errorf("the conversation did not go on: %+v", m)
			}
		})
	}
}

func TestEndpointThatIsDown(t *testing.T) {
	f := newFixture(t)
	if err := f.server.Close(); err != nil {
		t.Fatal(err)
	}
	ack := f.send(Send{Text: "go"})
	errs := find[packet.Error](f.read(ack.Run))
	if len(errs) != 1 || errs[0].Code != packet.CodeModelUnreachable || !errs[0].Retryable ||
		!strings.Contains(errs[0].Message, f.server.Address()) {
		t.Errorf("got %+v", errs)
	}
}

func TestARefusalIsShownInTheModelsWords(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Refusal("I will ", "not."))
	ack := f.send(Send{Text: "go"})
	f.read(ack.Run)
	if m := f.message(ack, 0); m.Text != "I will not." || m.Status != store.StatusCompleted {
		t.Errorf("got %q, %s", m.Text, m.Status)
	}
}

func TestAForcedToolIsTheOnlyOneInTheFirstCycleOnly(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().ToolCall("a", "clock", "{}"), llmtest.Answer().Text("noon"))
	ack := f.send(Send{Text: "time?", ForcedTool: "clock"})
	f.read(ack.Run)
	requests := f.server.Requests()
	if requests[0].Offers("internal_search") || !requests[0].Offers("clock") ||
		!strings.Contains(string(requests[0].Body.ToolChoice), "required") {
		t.Errorf("first request: %s", requests[0].Raw)
	}
	if !requests[1].Offers("internal_search") || strings.Contains(string(requests[1].Body.ToolChoice), "required") {
		t.Errorf("second request: %s", requests[1].Raw)
	}
}

func TestAForcedToolThatIsNotUsedGivesOneNoticeThenAuto(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Reasoning("no"), llmtest.Answer().Text("It is noon."))
	ack := f.send(Send{Text: "time?", ForcedTool: "clock"})
	packets := f.read(ack.Run)
	if n := find[packet.Notice](packets); len(n) != 1 || n[0].Code != packet.CodeForcedToolUnused {
		t.Errorf("notices %+v", n)
	}
	if m := f.message(ack, 0); m.Text != "It is noon." {
		t.Errorf("got %q", m.Text)
	}
}

func TestTheLastCycleHasNoToolsAndRunsNone(t *testing.T) {
	f := newFixture(t)
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply {
		if len(r.Body.Tools) == 0 {
			return llmtest.Answer().Text(`Enough. <tool_call>{"name":"clock"}</tool_call>`)
		}
		return llmtest.Answer().ToolCall("a", "clock", "{}")
	})
	ack := f.send(Send{Text: "go"})
	packets := f.read(ack.Run)
	if starts := find[packet.ToolStart](packets); len(starts) != 5 {
		t.Errorf("%d calls, want 5 in 6 cycles", len(starts))
	}
	if n := find[packet.Notice](packets); len(n) != 1 || n[0].Code != packet.CodeCycleLimit {
		t.Errorf("notices %+v", n)
	}
	if m := f.message(ack, 0); m.Text != "Enough. " {
		t.Errorf("got %q", m.Text)
	}
}

func TestOnlyCallsUnderNoneAskOnceMoreThenCountAsEmpty(t *testing.T) {
	f := newFixture(t)
	f.cfg.MaxCycles = 1
	f.server.Answer(func(llmtest.Request) *llmtest.Reply {
		return llmtest.Answer().Text(`<tool_call>{"name":"clock"}</tool_call>`)
	})
	ack := f.send(Send{Text: "go"})
	packets := f.read(ack.Run)
	if n := len(f.server.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	if e := find[packet.Error](packets); len(e) != 1 || e[0].Code != packet.CodeEmptyAnswer {
		t.Errorf("errors %+v", e)
	}
}

func TestMalformedCallsAreRepairedAtMostTwice(t *testing.T) {
	f := newFixture(t)
	f.server.Answer(func(llmtest.Request) *llmtest.Reply {
		return llmtest.Answer().Text(`<tool_call>{"name": oops</tool_call>`)
	})
	ack := f.send(Send{Text: "go"})
	packets := f.read(ack.Run)
	if n := len(f.server.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if all := packettest.Dump(packets); strings.Contains(all, "oops") {
		t.Errorf("markup on the screen:\n%s", all)
	}
}

func TestUnknownToolIsToldWhichExist(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().ToolCall("a", "web_search", "{}"), llmtest.Answer().Text("ok"))
	ack := f.send(Send{Text: "go"})
	f.read(ack.Run)
	last := f.server.Requests()[1].Last()
	if last.Role != "tool" || !strings.Contains(last.Content, "internal_search, clock") {
		t.Errorf("the model was told %q", last.Content)
	}
}

func TestTwoModelsAnswerOnOnePath(t *testing.T) {
	f := newFixture(t, "one", "two")
	f.search.spec.Labels = []string{tool.LabelWrites}
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply {
		if r.Last().Role == "user" {
			return llmtest.Answer().ToolCall("same", "internal_search", `{"queries":["x"]}`)
		}
		return llmtest.Answer().Text("I am " + r.Body.Model)
	})
	ack := f.send(Send{Text: "who?", Models: []string{"one", "two"}})
	packets := f.read(ack.Run)
	for i, name := range []string{"one", "two"} {
		if m := f.message(ack, i); m.Text != "I am "+name || m.ModelIndex != i {
			t.Errorf("model %d: %+v", i, m)
		}
	}
	for _, e := range find[packet.SectionEnd](packets) {
		if e.Outcome != packet.OutcomeDenied {
			t.Errorf("a write ran while models were compared: %+v", e)
		}
	}
}

func TestStopOneModelOfTwo(t *testing.T) {
	f := newFixture(t, "one", "two")
	gate := make(chan struct{})
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply {
		return llmtest.Answer().Text("I am " + r.Body.Model).Gate(gate).Text("!")
	})
	ack := f.send(Send{Text: "who?", Models: []string{"one", "two"}})
	f.waitFor(ack.Run, func(p packet.Packet) bool { return isDelta(p) && *p.Placement.ModelIndex == 0 })
	first := 0
	if err := f.Stop(t.Context(), f.owner, ack.Run, &first); err != nil {
		t.Fatal(err)
	}
	f.waitFor(ack.Run, func(p packet.Packet) bool { _, ok := p.Obj.(packet.Stop); return ok })
	close(gate)
	f.read(ack.Run)
	if a, b := f.message(ack, 0), f.message(ack, 1); a.Status != store.StatusUserCancelled ||
		b.Status != store.StatusCompleted || b.Text != "I am two!" {
		t.Errorf("got %s, %s %q", a.Status, b.Status, b.Text)
	}
}

func TestBadRequestsAreRefusedAndStoreNothing(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		name string
		in   Send
		code fault.Code
	}{
		{"empty", Send{Text: " \n"}, CodeInvalid},
		{"1 MB", Send{Text: strings.Repeat("x", 1<<20)}, CodeTooLarge},
		{"not UTF-8", Send{Text: "a\xff"}, CodeInvalid},
		{"NUL", Send{Text: "a\x00"}, CodeInvalid},
		{"unknown session", Send{Text: "x", SessionID: "s_none"}, CodeUnknownSession},
		{"unknown model", Send{Text: "x", Models: []string{"none"}}, CodeUnknownModel},
		{"unknown forced tool", Send{Text: "x", ForcedTool: "none"}, CodeUnknownTool},
		{"too many models", Send{Text: "x", Models: make([]string, 5)}, CodeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.Send(t.Context(), f.owner, c.in)
			wantCode(t, err, c.code)
		})
	}
	if sessions, err := f.store.Sessions().List(t.Context(), f.owner, 0, ""); err != nil || len(sessions) != 0 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
	other, err := f.store.Users().Create(t.Context(), anOperator, "other", false)
	if err != nil {
		t.Fatal(err)
	}
	f.server.Add(llmtest.Answer().Text("hi"))
	ack := f.send(Send{Text: "mine"})
	f.read(ack.Run)
	_, err = f.Send(t.Context(), other.Principal(identity.Command), Send{Text: "x", SessionID: ack.SessionID})
	wantCode(t, err, CodeUnknownSession)
	_, err = f.Open(t.Context(), other.Principal(identity.Command), ack.Run, 0, 0)
	wantCode(t, err, CodeUnknownRun)
	wantCode(t, f.Stop(t.Context(), other.Principal(identity.Command), ack.Run, nil), CodeUnknownRun)
}

func TestARepeatedRequestIsTheSameRun(t *testing.T) {
	f := newFixture(t)
	gate := make(chan struct{})
	f.server.Add(llmtest.Answer().Text("one").Gate(gate))
	first := f.send(Send{RequestID: "6f2d", Text: "go"})
	second := f.send(Send{RequestID: "6f2d", Text: "go"})
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("got %+v and %+v", first, second)
	}
	_, err := f.Send(t.Context(), f.owner, Send{RequestID: "6f2d", Text: "other"})
	wantCode(t, err, CodeConflict)
	_, err = f.Send(t.Context(), f.owner, Send{SessionID: first.SessionID, Text: "more"})
	wantCode(t, err, CodeBusy)
	close(gate)
	f.read(first.Run)
	if n := len(f.server.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestRegenerateAndEditMakeSiblings(t *testing.T) {
	f := newFixture(t)
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply { return llmtest.Answer().Text("to " + r.Last().Content) })
	first := f.send(Send{Text: "a"})
	f.read(first.Run)
	again, err := f.Regenerate(t.Context(), f.owner, Regenerate{MessageID: first.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(again.Run)
	if again.UserMessageID != first.UserMessageID || again.MessageIDs[0] == first.MessageIDs[0] {
		t.Errorf("got %+v after %+v", again, first)
	}
	edited := f.send(Send{SessionID: first.SessionID, ParentMessageID: RootMessage, Text: "b"})
	f.read(edited.Run)
	if m := f.message(edited, 0); m.Text != "to b" {
		t.Errorf("got %q", m.Text)
	}
	if n := len(f.server.Requests()[2].Body.Messages); n != 2 {
		t.Errorf("the edited branch has %d messages, want system and user", n)
	}
}

func TestAWrongEpochResetsTheReader(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Text("hi"))
	ack := f.send(Send{Text: "go"})
	f.read(ack.Run)
	c, err := f.Open(t.Context(), f.owner, ack.Run, 9, 3)
	if err != nil || !c.Reset || c.Epoch != 1 || c.After != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = f.Open(t.Context(), f.owner, ack.Run, 1, 3)
	if err != nil || c.Reset {
		t.Fatalf("got %+v, %v", c, err)
	}
	if entries, err := c.Next(t.Context()); err != nil || entries[0].Seq != 4 {
		t.Errorf("got %v", err)
	}
}

func TestRecoverEndsWhatACrashCutOff(t *testing.T) {
	f := newFixture(t)
	at := func(turn int, obj packet.Obj) journal.Record {
		return journal.Packet(packet.At(turn, 0).ForModel(0), obj)
	}
	document := packet.Document{ID: "d", Ref: 5}
	begun := f.cutOff(store.BeginRun{Text: "q", Models: []string{"local"}}, func(b store.Begun) []journal.Record {
		return []journal.Record{
			journal.Packet(packet.At(0, 0), packet.RunStarted{UserMessageID: b.UserMessage.ID,
				Responses: []packet.Response{{MessageID: b.Responses[0].ID, Model: "local"}}}),
			journal.Of(journal.Step{Calls: []journal.Call{{ID: "c", Name: "internal_search",
				Arguments: `{"queries":["x"]}`}}}),
			at(0, packet.ToolStart{CallID: "c", Tool: "internal_search", Labels: []string{}}),
			at(0, packet.ToolArgs{CallID: "c", Arguments: []byte(`{"queries":["x"]}`)}),
			journal.Of(journal.CallStarted{CallID: "c"}),
			at(0, packet.ToolDocuments{CallID: "c", Documents: []packet.Document{document}}),
			at(0, packet.SectionEnd{Outcome: packet.OutcomeOK}),
			journal.Of(journal.CallDone{CallID: "c", Name: "internal_search", Outcome: "ok", Text: "found",
				Documents: []packet.Document{document}}),
			at(1, packet.MessageStart{}),
			at(1, packet.CitationInfo{CitationNumber: 1, Ref: 5, Document: document}),
			at(1, packet.MessageDelta{Content: "half [[1]] an"}),
		}
	})
	untouched, err := f.store.Runs().Begin(t.Context(), f.owner, store.BeginRun{Text: "q2", Models: []string{"local"}})
	if err != nil {
		t.Fatal(err)
	}
	f.reopen()
	for _, run := range []store.Run{begun.Run, untouched.Run} {
		packets := f.read(run.ID)
		if packets[0].Epoch != 2 || find[packet.Stop](packets)[1].Reason != packet.StopInterrupted {
			t.Errorf("got:\n%s", packettest.Dump(packets))
		}
	}
	m, err := f.Message(t.Context(), f.owner, begun.Responses[0].ID)
	if err != nil || m.Text != "half [[1]] an" || m.Status != store.StatusInterrupted ||
		m.Steps[1].Text != "half [5] an" {
		t.Errorf("got %+v, %v", m, err)
	}
	f.server.Add(llmtest.Answer().Text("on"))
	f.again(Ack{SessionID: begun.Session.ID}, "go on")
	f.wantHistory(1, "system", "user", "assistant+1", "tool", "assistant", "user")
}

func TestTitleIsTheFirstLineCutAtAWord(t *testing.T) {
	for in, want := range map[string]string{
		"  Hello  there \nmore":     "Hello there",
		strings.Repeat("word ", 20): strings.TrimSpace(strings.Repeat("word ", 12)) + "…",
		strings.Repeat("漢", 100):    strings.Repeat("漢", 59) + "…",
	} {
		if got := Title(in); got != want {
			t.Errorf("Title(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAPanickingModelEndsAlone(t *testing.T) {
	f := newFixture(t)
	f.cfg.Models = models{panics{}, f.cfg.Models.(models)[0]}
	f.server.Add(llmtest.Answer().Text("fine"))
	ack := f.send(Send{Text: "go", Models: []string{"panics", "local"}})
	packets := f.read(ack.Run)
	if e := find[packet.Error](packets); len(e) != 1 || e[0].Code != packet.CodeInternal {
		t.Errorf("got %+v", e)
	}
	if m := f.message(ack, 1); m.Text != "fine" {
		t.Errorf("the other model: %+v", m)
	}
}

// panics is a model that panics in the middle of its answer.
type panics struct{}

func (panics) Info() llm.Info { return llm.Info{Name: "panics"} }
func (panics) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		yield(llm.Text{Delta: "half"}, nil)
		panic("boom")
	}
}
