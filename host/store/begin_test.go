package store

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"pgregory.net/rapid"
)

func TestBeginRunWritesAllOfIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada := newUser(t, s, "ada")
		b, err := s.Runs().Begin(t.Context(), ada,
			BeginRun{RequestID: "q1", BodyHash: "h", NewTitle: "Title", Private: true, Text: "a <b> & ü",
				Models: []string{"x", "y"}})
		if err != nil {
			t.Fatal(err)
		}
		if !b.SessionCreated || b.Replayed || b.Session.Title != "Title" || !b.Session.Private ||
			b.Session.Leaf != b.Responses[0].ID {
			t.Errorf("got session %+v", b.Session)
		}
		if b.Run.Epoch != 1 || !b.Run.Live() || b.Run.UserMessage != b.UserMessage.ID || len(b.Run.Responses) != 2 {
			t.Errorf("got run %+v", b.Run)
		}
		for i, m := range b.Responses {
			if m.ModelIndex != i || m.Status != StatusRunning || m.Parent != b.UserMessage.ID || m.Run != b.Run.ID ||
				m.Model != []string{"x", "y"}[i] {
				t.Errorf("response %d is %+v", i, m)
			}
		}
		stored, err := s.Messages().List(t.Context(), ada, b.Session.ID)
		if err != nil || !reflect.DeepEqual(stored, append([]Message{b.UserMessage}, b.Responses...)) {
			t.Errorf("stored are %+v, %v", stored, err)
		}
		session, err := s.Sessions().Get(t.Context(), ada, b.Session.ID)
		if err != nil || session != b.Session {
			t.Errorf("stored is %+v, %v", session, err)
		}
		live, err := s.Runs().Live(t.Context(), ada, b.Session.ID)
		if err != nil || !reflect.DeepEqual(live, b.Run) {
			t.Errorf("live is %+v, %v", live, err)
		}
		expectSound(t, s)
	})
}

func TestBeginRunRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
		b := ask(t, s, ada, "", "hello")
		models := []string{"m"}
		_, err := s.Runs().Begin(t.Context(), ada, BeginRun{SessionID: b.Session.ID, Text: "again", Models: models})
		var busy *BusyError
		if !errors.As(err, &busy) || busy.Run != b.Run.ID || !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want a *BusyError that names the run", err)
		}
		complete(t, s, b, "hi")
		other := ask(t, s, ada, "", "elsewhere")
		for name, c := range map[string]struct {
			p    identity.Principal
			in   BeginRun
			want error
		}{
			"no model": {ada, BeginRun{Text: "x"}, ErrInvalid},
			"long request id": {ada, BeginRun{RequestID: string(make([]byte, 257)), Models: models},
				ErrInvalid},
			"nobody":                  {identity.Principal{}, BeginRun{Models: models}, identity.ErrNobody},
			"unknown session":         {ada, BeginRun{SessionID: "s_x", Models: models}, ErrNotFound},
			"somebody else's session": {eve, BeginRun{SessionID: b.Session.ID, Models: models}, ErrNotFound},
			"unknown parent": {ada, BeginRun{SessionID: b.Session.ID, Parent: "m_x", Models: models},
				ErrNotFound},
			"parent of another session": {ada,
				BeginRun{SessionID: b.Session.ID, Parent: other.Responses[0].ID, Models: models}, ErrNotFound},
			"parent without a session": {ada, BeginRun{Parent: b.Responses[0].ID, Models: models}, ErrNotFound},
			"parent that is a question": {ada,
				BeginRun{SessionID: b.Session.ID, Parent: b.UserMessage.ID, Models: models}, ErrInvalid},
			"regenerate of somebody else": {eve, BeginRun{Regenerate: b.Responses[0].ID, Models: models},
				ErrNotFound},
			"regenerate in wrong session": {ada,
				BeginRun{SessionID: other.Session.ID, Regenerate: b.Responses[0].ID, Models: models}, ErrNotFound},
			"regenerate of what is live": {ada, BeginRun{Regenerate: other.Responses[0].ID, Models: models},
				ErrBusy},
			"operator in another's session": {identity.New(identity.Account{ID: eve.UserID(),
				Roles: []identity.Role{identity.Operator}}, identity.Command),
				BeginRun{SessionID: b.Session.ID, Models: models}, ErrNotFound},
		} {
			if _, err := s.Runs().Begin(t.Context(), c.p, c.in); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
		}
		if m, err := s.Messages().List(t.Context(), ada, b.Session.ID); err != nil || len(m) != 2 {
			t.Errorf("the refused left something behind: %v, %v", m, err)
		}
		expectSound(t, s)
	})
}

func TestRegenerateAnswersTheSameQuestionAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b := ask(t, s, ada, "", "hello")
		complete(t, s, b, "hi")
		for _, id := range []string{b.Responses[0].ID, b.UserMessage.ID} {
			again, err := s.Runs().Begin(t.Context(), ada, BeginRun{Regenerate: id, Models: []string{"other"}})
			if err != nil {
				t.Fatal(err)
			}
			if again.UserMessage.ID != b.UserMessage.ID || again.Responses[0].Parent != b.UserMessage.ID ||
				again.Session.Leaf != again.Responses[0].ID {
				t.Errorf("got %+v", again)
			}
			complete(t, s, again, "hello again")
		}
		if m, err := s.Messages().List(t.Context(), ada, b.Session.ID); err != nil || len(m) != 4 {
			t.Errorf("got %d messages, %v, want a question with three answers", len(m), err)
		}
		expectSound(t, s)
	})
}

func TestSameRequestAtOnceBeginsOneRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		var fresh atomic.Int32
		var runs sync.Map
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				b, err := s.Runs().Begin(t.Context(), ada,
					BeginRun{RequestID: "same", BodyHash: "h", Text: "hello", Models: []string{"m"}})
				if err != nil {
					t.Error(err)
				}
				if !b.Replayed {
					fresh.Add(1)
				}
				runs.Store(b.Run.ID, true)
			})
		}
		wg.Wait()
		n := 0
		runs.Range(func(any, any) bool { n++; return true })
		if fresh.Load() != 1 || n != 1 {
			t.Errorf("%d began, %d runs", fresh.Load(), n)
		}
	})
}

func TestRequestOfADeletedSessionIsNotRepeated(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		in := BeginRun{RequestID: "q", BodyHash: "h", Text: "hello", Models: []string{"m"}}
		b, err := s.Runs().Begin(t.Context(), ada, in)
		if err != nil {
			t.Fatal(err)
		}
		complete(t, s, b, "hi")
		if err := s.Sessions().Delete(t.Context(), ada, b.Session.ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.Runs().Begin(t.Context(), ada, in)
		expectError(t, err, ErrNotFound)
		if sessions, err := s.Sessions().List(t.Context(), ada, 0, ""); err != nil || len(sessions) != 0 {
			t.Errorf("got %v, %v", sessions, err)
		}
	})
}

// TestIdempotency holds the law of request ids against a model: per user and
// id, the first body within 24 hours wins; the same body gets the same run, any
// other a conflict.
func TestIdempotency(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			users := []identity.Principal{newUser(t, s, fmt.Sprintf("a%d", round)),
				newUser(t, s, fmt.Sprintf("b%d", round))}
			type known struct {
				hash string
				at   time.Time
				b    Begun
			}
			model := map[string]known{}
			for range rapid.IntRange(1, 12).Draw(rt, "requests") {
				clock.advance(time.Duration(rapid.IntRange(0, 10).Draw(rt, "hours")) * time.Hour)
				p := rapid.SampledFrom(users).Draw(rt, "user")
				in := BeginRun{
					RequestID: rapid.SampledFrom([]string{"q1", "q2"}).Draw(rt, "id"),
					BodyHash:  rapid.SampledFrom([]string{"h1", "h2"}).Draw(rt, "hash"),
					Text:      "hello", Models: []string{"m"},
				}
				key := p.UserID() + in.RequestID
				k, seen := model[key]
				seen = seen && clock.now().Before(k.at.Add(RequestLifetime))
				b, err := s.Runs().Begin(t.Context(), p, in)
				switch {
				case seen && k.hash != in.BodyHash:
					if !errors.Is(err, ErrConflict) {
						rt.Fatalf("got %+v, %v, want a conflict", b, err)
					}
				case seen:
					if err != nil || !b.Replayed || b.Run.ID != k.b.Run.ID || b.SessionCreated != k.b.SessionCreated ||
						!reflect.DeepEqual(b.UserMessage, k.b.UserMessage) ||
						!reflect.DeepEqual(b.Run.Responses, k.b.Run.Responses) {
						rt.Fatalf("got %+v, %v, want %+v again", b, err, k.b)
					}
				default:
					if err != nil || b.Replayed {
						rt.Fatalf("got %+v, %v, want a new run", b, err)
					}
					model[key] = known{in.BodyHash, clock.now(), b}
				}
			}
		})
		clock.advance(RequestLifetime)
		ask(t, s, newUser(t, s, "last"), "", "prunes")
		expectSound(t, s)
	})
}
