package turn

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// sending is a fixture with a tool that writes, and the number of its calls.
func sending(t *testing.T) (*fixture, *atomic.Int64) {
	f, ran := newFixture(t, "one", "two"), new(atomic.Int64)
	sends := scripted{tool.Spec{Name: "sends", Labels: []string{tool.LabelWrites}},
		func(context.Context, tool.Invocation) (tool.Result, error) {
			ran.Add(1)
			return tool.Result{Text: "Sent."}, nil
		}}
	f.cfg.Tools = func(context.Context, string) ([]tool.Tool, error) { return []tool.Tool{sends}, nil }
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply {
		switch last := r.Last(); {
		case last.Role == "user":
			return llmtest.Answer().ToolCall("a", "sends", `{"to":"Ada"}`)
		case strings.HasPrefix(last.Content, "denied"):
			return llmtest.Answer().Text("Held.")
		}
		return llmtest.Answer().Text("Gone out.")
	})
	return f, ran
}

func TestHeldWritesRunOnceWhenTheirAnswerIsSelected(t *testing.T) {
	f, ran := sending(t)
	ack := f.send(Send{Text: "go", Models: []string{"one", "two"}})
	first := f.read(ack.Run)
	if ran.Load() != 0 {
		t.Fatal("a call that writes ran while models were compared")
	}
	if held := f.message(ack, 1).Held; len(held) != 1 || held[0].Name != "sends" {
		t.Errorf("held before it is selected: %+v", held)
	}
	id := uuid.NewString()
	select1 := Continue{RequestID: id, MessageID: ack.MessageIDs[1]}
	later, runs, err := f.Select(t.Context(), f.owner, select1)
	if err != nil || !runs {
		t.Fatalf("got %v, %v", runs, err)
	}
	second := f.read(later.Run)
	if ran.Load() != 1 {
		t.Errorf("the held call ran %d times", ran.Load())
	}
	m := f.message(ack, 1)
	if want := packettest.Text(first, 1) + packettest.Text(second, 0); m.Text != want ||
		m.Text != "Held.\n\nGone out." || m.Status != store.StatusCompleted {
		t.Errorf("stored %q, shown %q", m.Text, want)
	}
	if held := m.Held; len(held) != 0 {
		t.Errorf("held after it ran: %+v", held)
	}
	if s, err := f.store.Sessions().Get(t.Context(), f.owner, ack.SessionID); err != nil || s.Leaf != m.ID {
		t.Errorf("the conversation goes on at %s, %v", s.Leaf, err)
	}
	// The same request is the same run; another one has nothing left to run.
	if again, runs, err := f.Select(t.Context(), f.owner, select1); err != nil || !runs || again.Run != later.Run {
		t.Errorf("the same request again: %+v %v %v", again, runs, err)
	}
	if _, runs, err := f.Select(t.Context(), f.owner, Continue{MessageID: m.ID}); err != nil || runs ||
		ran.Load() != 1 {
		t.Errorf("selected once more: %v %v, %d calls", runs, err, ran.Load())
	}
	// The other answer still holds its call until something follows it.
	f.server.Add(llmtest.Answer().Text("On."))
	f.read(f.send(Send{SessionID: ack.SessionID, ParentMessageID: ack.MessageIDs[0], Text: "more"}).Run)
	if _, runs, err := f.Select(t.Context(), f.owner, Continue{MessageID: ack.MessageIDs[0]}); err != nil || runs ||
		ran.Load() != 1 {
		t.Errorf("an answer that the conversation left behind: %v %v, %d calls", runs, err, ran.Load())
	}
	if damage := f.store.Check(t.Context()); len(damage) != 0 {
		t.Errorf("the store: %v", damage)
	}
}

func TestHeldWritesDoNotRunAgainAfterACrash(t *testing.T) {
	f, ran := sending(t)
	ack := f.send(Send{Text: "go", Models: []string{"one", "two"}})
	f.read(ack.Run)
	begun, err := f.store.Runs().Begin(t.Context(), f.owner,
		store.BeginRun{Continue: ack.MessageIDs[0], OnlyHeld: true, Models: []string{"one"}})
	if err != nil || len(begun.Held) != 1 {
		t.Fatalf("got %+v, %v", begun.Held, err)
	}
	f.close() // the process ended here
	f.open("one", "two")
	f.cfg.Tools = func(context.Context, string) ([]tool.Tool, error) { return nil, nil }
	packets := f.read(begun.Run.ID)
	if stops := find[packet.Stop](packets); stops[len(stops)-1].Reason != packet.StopInterrupted {
		t.Errorf("got %s", packettest.Dump(packets))
	}
	if m := f.message(ack, 0); m.Text != "Held." || m.Status != store.StatusInterrupted || len(m.Steps) != 2 {
		t.Errorf("stored %+v", m)
	}
	if _, runs, err := f.Select(t.Context(), f.owner, Continue{MessageID: ack.MessageIDs[0]}); err != nil || runs ||
		ran.Load() != 0 {
		t.Errorf("selected: %v %v, %d calls", runs, err, ran.Load())
	}
}

func TestOnlyTheLastAnswerOfABranchGoesOn(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Text("One").Finish("length"), llmtest.Answer().Text(" and a half."),
		llmtest.Answer().Text("Two."))
	ack := f.send(Send{Text: "first"})
	f.read(ack.Run)
	later, err := f.Continue(t.Context(), f.owner, Continue{MessageID: ack.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(later.Run)
	if m := f.message(ack, 0); m.Text != "One and a half." || len(m.LaterRuns) != 1 || m.Run != ack.Run {
		t.Errorf("stored %+v", m)
	}
	next := f.again(ack, "second")
	for _, c := range []struct {
		id   string
		code fault.Code
	}{
		{ack.MessageIDs[0], CodeInvalid}, {next.UserMessageID, CodeInvalid}, {"m_none", CodeUnknownMessage},
		{"", CodeInvalid},
	} {
		_, err := f.Continue(t.Context(), f.owner, Continue{MessageID: c.id})
		wantCode(t, err, c.code)
	}
	gate := make(chan struct{})
	f.server.Add(llmtest.Answer().Text("x").Gate(gate))
	live := f.send(Send{SessionID: ack.SessionID, Text: "third"})
	_, err = f.Continue(t.Context(), f.owner, Continue{MessageID: next.MessageIDs[0]})
	wantCode(t, err, CodeBusy)
	close(gate)
	f.read(live.Run)
}
