package turn

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

func TestToolsThatTheRequestAllowsAndAreNotThereAreNoticed(t *testing.T) {
	f := newFixture(t)
	remembers := scripted{tool.Spec{Name: "remember", Reaches: []string{tool.ReachesMemory}}, nil}
	f.cfg.Tools = func(context.Context, string) ([]tool.Tool, error) {
		return []tool.Tool{f.search, clockTool{}, remembers}, nil
	}
	f.server.Add(llmtest.Answer().Text("x"), llmtest.Answer().Text("y"))
	for i, in := range []Send{
		{Text: "x", Tools: []string{"clock", "gone"}},
		{Text: "x", Tools: []string{"clock", "remember"}, Private: true},
	} {
		ack := f.send(in)
		notices := find[packet.Notice](f.read(ack.Run))
		if len(notices) != 1 || notices[0].Code != packet.CodeToolUnavailable ||
			!strings.HasPrefix(notices[0].Message, in.Tools[1]+" ") {
			t.Errorf("got %+v", notices)
		}
		if r := f.server.Requests()[i]; len(r.Body.Tools) != 1 || !r.Offers("clock") {
			t.Errorf("on offer: %+v", r.Body.Tools)
		}
	}
}

func TestAMessageIsScreenedBeforeItIsStored(t *testing.T) {
	f := newFixture(t)
	f.cfg.Screen = func(_ context.Context, _ identity.Principal, text string) (Screened, error) {
		switch {
		case strings.Contains(text, "forbidden"):
			return Screened{}, &Error{Code: CodeRefused, Message: "Such messages are not taken here."}
		case strings.Contains(text, "broken"):
			return Screened{}, errors.New("a secret of the hook")
		case strings.Contains(text, "empty"):
			return Screened{Text: " "}, nil
		}
		return Screened{strings.ReplaceAll(text, "4711", "[number]"),
			[]packet.Notice{packet.NewNotice(packet.CodeMessageChanged, "")}}, nil
	}
	for text, code := range map[string]fault.Code{"forbidden": CodeRefused, "broken": CodeInternal,
		"empty": CodeInvalid} {
		_, err := f.Send(t.Context(), f.owner, Send{Text: text})
		wantCode(t, err, code)
	}
	if sessions, err := f.store.Sessions().List(t.Context(), f.owner, 0, ""); err != nil || len(sessions) != 0 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
	f.server.Add(llmtest.Answer().Text("Noted."))
	ack := f.send(Send{Text: "My card is 4711.", RequestID: "6a9d2b6e-3c0f-4d27-a4d5-0d2f10a0f5b1"})
	if told := find[packet.Notice](f.read(ack.Run)); len(told) != 1 || told[0].Code != packet.CodeMessageChanged ||
		ack.Text != "My card is [number]." {
		t.Errorf("told %+v, the ack has %q", told, ack.Text)
	}
	m, err := f.store.Messages().Get(t.Context(), f.owner, ack.UserMessageID)
	if err != nil || m.Text != "My card is [number]." {
		t.Errorf("stored %q, %v", m.Text, err)
	}
	if s, err := f.store.Sessions().Get(t.Context(), f.owner, ack.SessionID); err != nil ||
		strings.Contains(s.Title, "4711") {
		t.Errorf("title %q, %v", s.Title, err)
	}
	if asked := string(f.server.Requests()[0].Raw); strings.Contains(asked, "4711") ||
		!strings.Contains(asked, "[number]") {
		t.Errorf("the model was asked %s", asked)
	}
	if again := f.send(Send{Text: "My card is 4711.",
		RequestID: "6a9d2b6e-3c0f-4d27-a4d5-0d2f10a0f5b1"}); again.Run != ack.Run {
		t.Errorf("the same request began %s, not %s", again.Run, ack.Run)
	}
}

func TestTheProvidersSearchCannotBeForced(t *testing.T) {
	f := newFixture(t)
	m, err := adapters["anthropic-search"]("search", "http://127.0.0.1:1", 0)
	if err != nil {
		t.Fatal(err)
	}
	f.cfg.Models = models{m}
	_, err = f.Send(t.Context(), f.owner, Send{Text: "x", ForcedTool: "web_search", Models: []string{"search"}})
	wantCode(t, err, CodeUnknownTool)
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "run by the model's provider") {
		t.Errorf("got %v", err)
	}
}

func TestAnAllowListThatIsTooLargeIsRefused(t *testing.T) {
	f := newFixture(t)
	for _, tools := range [][]string{make([]string, store.MaxAgentTools+1), {strings.Repeat("x", 257)}} {
		_, err := f.Send(t.Context(), f.owner, Send{Text: "x", Tools: tools})
		wantCode(t, err, CodeInvalid)
	}
	if sessions, err := f.store.Sessions().List(t.Context(), f.owner, 0, ""); err != nil || len(sessions) != 0 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}
