package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// addAgent adds an agent, if it has a name, and returns its id.
func (f *fixture) addAgent(a store.Agent) string {
	f.t.Helper()
	if a.Name == "" {
		return ""
	}
	a, err := f.store.Agents().Create(f.t.Context(), anOperator, a)
	if err != nil {
		f.t.Fatal(err)
	}
	return a.ID
}

func TestAMessageToAnUnknownAgentIsRefusedAndNotStored(t *testing.T) {
	f := newFixture(t)
	_, err := f.Send(t.Context(), f.owner, Send{Text: "x", AgentID: "ag_gone"})
	wantCode(t, err, CodeUnknownAgent)
	if sessions, err := f.store.Sessions().List(t.Context(), f.owner, 0, ""); err != nil || len(sessions) != 0 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}

func TestAForcedToolMustBeOneOfTheAgents(t *testing.T) {
	f := newFixture(t)
	agent := f.addAgent(store.Agent{Name: "Timekeeper", Tools: []string{"clock"}})
	_, err := f.Send(t.Context(), f.owner, Send{Text: "x", AgentID: agent, ForcedTool: "internal_search",
		Tools: []string{"internal_search"}})
	wantCode(t, err, CodeUnknownTool)
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "The agent Timekeeper") ||
		!strings.HasSuffix(refused.Message, "Tools: clock.") {
		t.Errorf("got %v", err)
	}
	f.server.Add(llmtest.Answer().Text("x"), llmtest.Answer().Text("Noon."))
	f.read(f.send(Send{Text: "x", AgentID: agent, ForcedTool: "clock"}).Run)
	if r := f.server.Requests()[0]; len(r.Body.Tools) != 1 || !r.Offers("clock") {
		t.Errorf("on offer: %+v", r.Body.Tools)
	}
}

// A tool that the person may not use is not there for their agent either.
func TestAnAgentGivesNobodyMoreTools(t *testing.T) {
	f := newFixture(t)
	f.cfg.Tools = func(_ context.Context, user string) ([]tool.Tool, error) {
		if user == f.owner.UserID() {
			return []tool.Tool{f.search, clockTool{}}, nil
		}
		return []tool.Tool{clockTool{}}, nil
	}
	eve, err := f.store.Users().Create(t.Context(), anOperator, "eve", false)
	if err != nil {
		t.Fatal(err)
	}
	agent := f.addAgent(store.Agent{Name: "Finder", Tools: []string{"internal_search"}})
	for i, p := range []identity.Principal{f.owner, eve.Principal(identity.Command)} {
		f.server.Add(llmtest.Answer().Text("x"))
		ack, err := f.Send(t.Context(), p, Send{Text: "x", AgentID: agent})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Wait(t.Context(), p, ack.Run); err != nil {
			t.Fatal(err)
		}
		if r := f.server.Requests()[i]; len(r.Body.Tools) != 1-i {
			t.Errorf("%s is offered %+v", p.UserID(), r.Body.Tools)
		}
	}
}

func TestTheAgentsModelAnswersUnlessTheRequestNamesOne(t *testing.T) {
	f := newFixture(t, "one", "two")
	near := f.addAgent(store.Agent{Name: "Near", Model: "two"})
	lost := f.addAgent(store.Agent{Name: "Lost", Model: "three"})
	for _, c := range []struct {
		in      Send
		model   string
		notices int
	}{
		{Send{Text: "x"}, "one", 0},
		{Send{Text: "x", AgentID: near}, "two", 0},
		{Send{Text: "x", AgentID: near, Models: []string{"one"}}, "one", 0},
		{Send{Text: "x", AgentID: lost}, "one", 1},
		{Send{Text: "x", AgentID: lost, Models: []string{"two"}}, "two", 0},
	} {
		f.server.Add(llmtest.Answer().Text("x"))
		ack := f.send(c.in)
		notices := find[packet.Notice](f.read(ack.Run))
		if m := f.message(ack, 0); m.Model != c.model || m.Agent != c.in.AgentID || len(notices) != c.notices {
			t.Errorf("%+v: %s by agent %q, %+v", c.in, m.Model, m.Agent, notices)
		}
		for _, n := range notices {
			if n.Code != packet.CodeAgentUnavailable ||
				!strings.HasPrefix(n.Message, "three, the model of the agent Lost, ") {
				t.Errorf("%+v", n)
			}
		}
	}
}

func TestAnAnswerIsWrittenAgainByTheAgentOfItsQuestion(t *testing.T) {
	f := newFixture(t)
	agent := f.addAgent(store.Agent{Name: "Timekeeper", Instructions: "Speak like a clock.", Tools: []string{"clock"}})
	f.server.Add(llmtest.Answer().Text("Noon."), llmtest.Answer().Text("Tick."), llmtest.Answer().Text("Tock."),
		llmtest.Answer().Text("Ding."))
	ack := f.send(Send{Text: "x", AgentID: agent})
	f.read(ack.Run)
	again := func(message string) Ack {
		t.Helper()
		ack, err := f.Regenerate(t.Context(), f.owner, Regenerate{MessageID: message})
		if err != nil {
			t.Fatal(err)
		}
		f.read(ack.Run)
		return ack
	}
	for _, message := range []string{ack.MessageIDs[0], ack.UserMessageID} {
		if m := f.message(again(message), 0); m.Agent != agent {
			t.Errorf("written again by agent %q", m.Agent)
		}
	}
	if err := f.store.Agents().Delete(t.Context(), anOperator, agent); err != nil {
		t.Fatal(err)
	}
	if m := f.message(again(ack.MessageIDs[0]), 0); m.Agent != "" {
		t.Errorf("an agent that is gone answered: %q", m.Agent)
	}
	var instructed []bool
	for _, r := range f.server.Requests() {
		instructed = append(instructed, strings.Contains(string(r.Raw), "Speak like a clock."))
	}
	if want := []bool{true, true, true, false}; !slices.Equal(instructed, want) {
		t.Errorf("instructed %v, want %v", instructed, want)
	}
}

// A client whose connection broke before the ack asks again. The message is on disk, so it
// must not hear that it was refused.
func TestARepeatedRequestIsAcknowledgedWhateverWasRemovedSince(t *testing.T) {
	f := newFixture(t, "one", "two")
	agent := f.addAgent(store.Agent{Name: "Timekeeper"})
	f.server.Add(llmtest.Answer().Text("Noon."), llmtest.Answer().Text("One."))
	in := Send{RequestID: "6a0c", Text: "x", AgentID: agent, Models: []string{"two"}}
	ack := f.send(in)
	f.read(ack.Run)
	once := Regenerate{RequestID: "6a0d", MessageID: ack.MessageIDs[0], Models: []string{"two"}}
	another, err := f.Regenerate(t.Context(), f.owner, once)
	if err != nil {
		t.Fatal(err)
	}
	f.read(another.Run)
	if err := f.store.Agents().Delete(t.Context(), anOperator, agent); err != nil {
		t.Fatal(err)
	}
	f.close()
	f.open("one") // the model is gone too
	if got := f.send(in); got.Run != ack.Run || got.UserMessageID != ack.UserMessageID || got.Text != "" {
		t.Errorf("%+v became %+v", ack, got)
	}
	if got, err := f.Regenerate(t.Context(), f.owner, once); err != nil || got.Run != another.Run {
		t.Errorf("%+v became %+v, %v", another, got, err)
	}
	in.Text = "y"
	var refused *Error
	if _, err := f.Send(t.Context(), f.owner, in); !errors.As(err, &refused) || refused.Code != CodeConflict {
		t.Errorf("another body: %v", err)
	}
}

// A host that is brought up to date in the middle of a conversation still knows a
// repeated request.
func TestARequestWithoutAnAgentHashesAsItAlwaysDid(t *testing.T) {
	before := struct {
		RequestID, SessionID, ParentMessageID, Text string
		Files, Models, Tools                        []string
		ForcedTool                                  string
		Private                                     bool
	}{RequestID: "r", Text: "x", Models: []string{"m"}}
	if got, want := hash(Send{RequestID: "r", Text: "x", Models: []string{"m"}}), hash(before); got != want {
		t.Error("the hash changed")
	}
	if hash(Send{Text: "x"}) == hash(Send{Text: "x", AgentID: "ag_1"}) {
		t.Error("the agent is no part of the hash")
	}
}

// Whatever the lists hold, a model gets no tool that one of them leaves out, and
// each tool that is missed is told once.
func TestOfferedToolsAreInEveryList(t *testing.T) {
	f := newFixture(t)
	lists := [][]string{nil, {}, {"clock"}, {"gone"}, {"clock", "internal_search", "gone"}}
	for i, agent := range lists {
		id := f.addAgent(store.Agent{Name: fmt.Sprint(i), Tools: agent})
		for _, allow := range lists {
			f.server.Add(llmtest.Answer().Text("x"))
			notices := find[packet.Notice](f.read(f.send(Send{Text: "x", AgentID: id, Tools: allow}).Run))
			requests := f.server.Requests()
			asked := requests[len(requests)-1]
			for _, name := range []string{"clock", "internal_search"} {
				want := (agent == nil || slices.Contains(agent, name)) && (allow == nil || slices.Contains(allow, name))
				if asked.Offers(name) != want {
					t.Errorf("agent %q, allowed %q: %s on offer is %v", agent, allow, name, !want)
				}
			}
			named := allow
			if allow == nil {
				named = agent
			}
			missed := 0
			for _, name := range named {
				if !asked.Offers(name) {
					missed++
				}
			}
			if len(notices) != missed {
				t.Errorf("agent %q, allowed %q: %+v, want %d notices", agent, allow, notices, missed)
			}
		}
	}
}
