package turn

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// TestTurnsRefuseByThemselves tries every method that takes a Principal on the owner's live
// run and on what it stands in, as nobody, as somebody else, as an operator and as the host.
func TestTurnsRefuseByThemselves(t *testing.T) {
	f := newFixture(t)
	eve, err := f.store.Users().Create(t.Context(), anOperator, "eve", false)
	if err != nil {
		t.Fatal(err)
	}
	op, err := f.store.Users().Create(t.Context(), anOperator, "op", true)
	if err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	f.server.Add(llmtest.Answer().Gate(hold).Text("yes"))
	ack := f.send(Send{Text: "Are you there?"})
	ctx, id := t.Context(), uuid.NewString()
	calls := map[string]func(identity.Principal) error{
		"Send": func(p identity.Principal) error {
			_, err := f.Send(ctx, p, Send{RequestID: id, Text: "x", SessionID: ack.SessionID})
			return err
		},
		"Regenerate": func(p identity.Principal) error {
			_, err := f.Regenerate(ctx, p, Regenerate{RequestID: id, MessageID: ack.UserMessageID})
			return err
		},
		"Continue": func(p identity.Principal) error {
			_, err := f.Continue(ctx, p, Continue{RequestID: id, MessageID: ack.MessageIDs[0]})
			return err
		},
		"Select": func(p identity.Principal) error {
			_, _, err := f.Select(ctx, p, Continue{RequestID: id, MessageID: ack.MessageIDs[0]})
			return err
		},
		"Stop": func(p identity.Principal) error { return f.Stop(ctx, p, ack.Run, nil) },
		"Open": func(p identity.Principal) error { _, err := f.Open(ctx, p, ack.Run, 0, 0); return err },
		"Live": func(p identity.Principal) error { _, _, err := f.Live(ctx, p, ack.SessionID); return err },
		"Wait": func(p identity.Principal) error { return f.Wait(ctx, p, ack.Run) },
		"Message": func(p identity.Principal) error {
			_, err := f.Message(ctx, p, ack.MessageIDs[0])
			return err
		},
		"Messages": func(p identity.Principal) error {
			_, err := f.Messages(ctx, p, ack.SessionID)
			return err
		},
	}
	kinds := reflect.TypeFor[*Service]()
	for i := range kinds.NumMethod() {
		m := kinds.Method(i)
		_, tried := calls[m.Name]
		asks := m.Type.NumIn() > 2 && m.Type.In(2) == reflect.TypeFor[identity.Principal]()
		if asks && !tried && m.Name != "StopAll" {
			t.Errorf("%s is not tried", m.Name)
		}
	}
	unknown := map[string]fault.Code{"Send": CodeUnknownSession, "Live": CodeUnknownSession,
		"Message": CodeUnknownMessage, "Regenerate": CodeUnknownMessage, "Continue": CodeUnknownMessage,
		"Select": CodeUnknownMessage}
	for name, call := range calls {
		for _, p := range []identity.Principal{eve.Principal(identity.Cookie), op.Principal(identity.Cookie)} {
			want := CodeUnknownRun
			if code, is := unknown[name]; is {
				want = code
			}
			var told *Error
			if name == "Messages" { // the store's own word
				if err := call(p); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s by %s: %v", name, p, err)
				}
				continue
			}
			if err := call(p); !errors.As(err, &told) || told.Code != want {
				t.Errorf("%s by %s: %v, want %s", name, p, err, want)
			}
		}
		if err := call(identity.Principal{}); !errors.Is(err, identity.ErrNobody) {
			t.Errorf("%s by nobody: %v", name, err)
		}
		if err := call(identity.ForHost("a test")); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("%s by the host: %v", name, err)
		}
	}
	for _, p := range []identity.Principal{{}, eve.Principal(identity.Cookie), identity.ForHost("a test")} {
		if err := f.StopAll(ctx, p, f.owner.UserID()); err == nil {
			t.Errorf("%s stopped all runs of the owner", p)
		}
	}
	close(hold)
	f.wait(ack.Run)
	if m := f.message(ack, 0); m.Text != "yes" || m.Status != "completed" {
		t.Errorf("the answer is %q, %s", m.Text, m.Status)
	}
}
