package store

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

func message(t *testing.T, s *Store, p identity.Principal, id string) Message {
	t.Helper()
	m, err := s.Messages().Get(t.Context(), p, id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestARunEndsOnceAndSaysHowItsAnswersEnded(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada := newUser(t, s, "ada")
		allowed := []string{"clock", "mail"}
		b, err := s.Runs().Begin(t.Context(), ada,
			BeginRun{Text: "hello", Models: []string{"x", "y", "z"}, Agent: "ag_1",
				Allowed: allowed})
		if err != nil {
			t.Fatal(err)
		}
		clock.advance(RequestLifetime)
		held := []Call{{ID: "c", Name: "mail", Arguments: "{"}}
		f := withJournal(b.Run, Finish{StopReason: StatusCompleted, Answers: []AnswerState{
			{ID: b.Responses[0].ID, Status: StatusCompleted, Held: held, Labels: []string{"private_data"}},
			{ID: b.Responses[1].ID, Status: StatusError, ErrorCode: "model_failed", ErrorMessage: "It failed."},
		}}, "hi")
		if err := s.Runs().Finish(t.Context(), b.Run.ID, f); err != nil {
			t.Fatal(err)
		}
		expectError(t, s.Runs().Finish(t.Context(), b.Run.ID, Finish{StopReason: StatusError, Epoch: 1}), ErrFinished)

		want := slices.Clone(b.Responses) // all else of them stays as it was
		for i := range want {
			want[i].EndedAt = clock.now()
		}
		want[0].Status, want[0].Held, want[0].Labels = StatusCompleted, held, []string{"private_data"}
		want[1].Status, want[1].ErrorCode, want[1].ErrorMessage = StatusError, "model_failed", "It failed."
		want[2].Status = StatusInterrupted // nothing was said of it
		for i, w := range want {
			if got := message(t, s, ada, w.ID); !reflect.DeepEqual(got, w) {
				t.Errorf("answer %d is %+v, want %+v", i, got, w)
			}
		}
		if want[0].Agent != "ag_1" || !slices.Equal(want[0].Allowed, allowed) {
			t.Errorf("the answer began as %+v", want[0])
		}
		run, err := s.Runs().Get(t.Context(), ada, b.Run.ID)
		if err != nil || run.StopReason != StatusCompleted || !run.EndedAt.Equal(clock.now()) ||
			!reflect.DeepEqual(run.Ends, map[int64]int64{1: 3}) {
			t.Errorf("got %+v, %v", run, err)
		}
		if session, err := s.Sessions().Get(t.Context(), ada, b.Session.ID); err != nil ||
			!session.UpdatedAt.Equal(clock.now()) {
			t.Errorf("got %+v, %v", session, err)
		}
		_, err = s.Runs().Live(t.Context(), ada, b.Session.ID)
		expectError(t, err, ErrNotFound)
		if latest, err := s.Runs().Latest(t.Context(), ada, b.Session.ID); err != nil || latest.ID != b.Run.ID {
			t.Errorf("the latest run is %+v, %v", latest, err)
		}
		expectSound(t, s)
	})
}

func TestARunDoesNotEndInAWayThatIsNone(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b := ask(t, s, ada, "", "hello")
		answer := b.Responses[0].ID
		for name, c := range map[string]struct {
			f    Finish
			want error
		}{
			"no reason":       {Finish{Epoch: 1}, ErrInvalid},
			"no final reason": {Finish{Epoch: 1, StopReason: StatusRunning}, ErrInvalid},
			"another's answer": {Finish{Epoch: 1, StopReason: StatusCompleted, Answers: []AnswerState{{ID: "m_x",
				Status: StatusCompleted}}}, ErrInvalid},
			"no final status": {Finish{Epoch: 1, StopReason: StatusCompleted, Answers: []AnswerState{{ID: answer,
				Status: StatusRunning}}}, ErrInvalid},
			"an earlier epoch": {Finish{Epoch: 0, StopReason: StatusCompleted}, ErrEpoch},
			"the question's id": {Finish{Epoch: 1, StopReason: StatusCompleted,
				Answers: []AnswerState{{ID: b.UserMessage.ID,
					Status: StatusCompleted}}}, ErrInvalid},
		} {
			c.f.Also = func(kv.Tx) error { t.Errorf("%s: Also ran", name); return nil }
			if err := s.Runs().Finish(t.Context(), b.Run.ID, c.f); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
		}
		expectError(t, s.Runs().Finish(t.Context(), "r_x", Finish{StopReason: StatusCompleted, Epoch: 1}), ErrNotFound)
		if run, err := s.Runs().Live(t.Context(), ada, b.Session.ID); err != nil || !reflect.DeepEqual(run, b.Run) {
			t.Errorf("the run is %+v, %v", run, err)
		}
		if m := message(t, s, ada, answer); m.Status != StatusRunning {
			t.Errorf("the answer is %+v", m)
		}
	})
}

func TestAnAnswerOfWhichNothingIsSaidEndsAsItsRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		for reason, want := range map[string]string{
			StatusCompleted: StatusInterrupted, StatusUserCancelled: StatusUserCancelled, StatusError: StatusError,
			StatusInterrupted: StatusInterrupted, StatusAwaitingUser: StatusAwaitingUser,
		} {
			b := ask(t, s, ada, "", "hello")
			if err := s.Runs().Finish(t.Context(), b.Run.ID,
				withJournal(b.Run, Finish{StopReason: reason})); err != nil {
				t.Fatal(err)
			}
			if m := message(t, s, ada, b.Responses[0].ID); m.Status != want || m.EndedAt.IsZero() {
				t.Errorf("a run that stopped as %s leaves %+v", reason, m)
			}
		}
	})
}

func TestARunThatGoesOnInAnotherEpochKeepsBothEnds(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b := ask(t, s, ada, "", "hello")
		unfinished, err := s.Runs().Unfinished(t.Context(), identity.ForHost("a test"))
		if err != nil || len(unfinished) != 1 || unfinished[0].ID != b.Run.ID {
			t.Fatalf("unfinished are %+v, %v", unfinished, err)
		}
		if err := s.Runs().Finish(t.Context(), b.Run.ID, Finish{StopReason: StatusInterrupted, Epoch: 2, LastSeq: 3,
			LiveSeq: 9}); err != nil {
			t.Fatal(err)
		}
		run, err := s.Runs().Get(t.Context(), ada, b.Run.ID)
		if err != nil || run.Epoch != 2 {
			t.Fatalf("%+v, %v", run, err)
		}
		for _, c := range []struct {
			epoch, seq int64
			told       bool
		}{{1, 8, false}, {1, 9, true}, {2, 2, false}, {2, 3, true}, {3, 9, false}} {
			if run.Told(c.epoch, c.seq) != c.told {
				t.Errorf("who read up to %d/%d was told: %v", c.epoch, c.seq, !c.told)
			}
		}
		if unfinished, err := s.Runs().Unfinished(t.Context(), identity.ForHost("a test")); err != nil ||
			len(unfinished) != 0 {
			t.Errorf("unfinished are %+v, %v", unfinished, err)
		}
	})
}

func TestWhatRunsAlsoIsInTheSameTransaction(t *testing.T) {
	refused := errors.New("refused")
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		in := BeginRun{RequestID: "q", BodyHash: "h", Text: "hello", Models: []string{"m"}}
		in.Also = func(tx kv.Tx, b Begun) error {
			if got, err := table.Get[Run](tx, table.Runs, b.Run.ID); err != nil || !reflect.DeepEqual(got, b.Run) {
				t.Errorf("inside, the run is %+v, %v", got, err)
			}
			return errors.Join(tx.Put("also", "begun", []byte(b.Run.ID)), refused)
		}
		_, err := s.Runs().Begin(t.Context(), ada, in)
		expectError(t, err, refused)
		if sessions, err := s.Sessions().List(t.Context(), ada, 0, ""); err != nil || len(sessions) != 0 {
			t.Errorf("the refused left %v, %v", sessions, err)
		}
		if _, found, err := s.Runs().Repeated(t.Context(), ada, in); found || err != nil {
			t.Errorf("the refused request is remembered: %v, %v", found, err)
		}
		in.Also = func(tx kv.Tx, b Begun) error { return tx.Put("also", "begun", []byte(b.Run.ID)) }
		b, err := s.Runs().Begin(t.Context(), ada, in)
		if err != nil {
			t.Fatal(err)
		}
		in.Also = func(kv.Tx, Begun) error { t.Error("it ran for a repeated request"); return nil }
		if again, err := s.Runs().Begin(t.Context(), ada, in); err != nil || !again.Replayed ||
			again.Run.ID != b.Run.ID {
			t.Errorf("%+v, %v", again, err)
		}

		f := Finish{StopReason: StatusCompleted, Also: func(tx kv.Tx) error {
			if got, err := table.Get[Run](tx, table.Runs, b.Run.ID); err != nil || got.Live() {
				t.Errorf("inside, the run is %+v, %v", got, err)
			}
			return errors.Join(tx.Put("also", "ended", nil), refused)
		}}
		expectError(t, s.Runs().Finish(t.Context(), b.Run.ID, withJournal(b.Run, f)), refused)
		if run, err := s.Runs().Live(t.Context(), ada, b.Session.ID); err != nil || run.ID != b.Run.ID {
			t.Errorf("the run is %+v, %v", run, err)
		}
		_, err = readSealed(t.Context(), s, b.Run.ID)
		if err == nil {
			t.Error("the journal of the refused end is there")
		}
		f.Also = func(tx kv.Tx) error { return tx.Put("also", "ended", nil) }
		if err := s.Runs().Finish(t.Context(), b.Run.ID, withJournal(b.Run, f)); err != nil {
			t.Fatal(err)
		}
		err = s.view(t.Context(), func(tx kv.Tx) error {
			begun, _ := tx.Get("also", "begun")
			if _, ended := tx.Get("also", "ended"); string(begun) != b.Run.ID || !ended {
				t.Errorf("%q began, ended: %v", begun, ended)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		expectSound(t, s)
	})
}

func TestOneEndWins(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		for range 8 {
			b := ask(t, s, ada, "", "hello")
			var wg sync.WaitGroup
			var won atomic.Value
			var wins atomic.Int32
			for _, reason := range []string{StatusCompleted, StatusUserCancelled, StatusError} {
				wg.Go(func() {
					err := s.Runs().Finish(t.Context(), b.Run.ID,
						withJournal(b.Run, Finish{StopReason: reason}, reason))
					if err == nil {
						wins.Add(1)
						won.Store(reason)
					} else if !errors.Is(err, ErrFinished) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			run, err := s.Runs().Get(t.Context(), ada, b.Run.ID)
			text := textOf(t, s, message(t, s, ada, b.Responses[0].ID))
			if err != nil || wins.Load() != 1 || run.StopReason != won.Load() || text != won.Load() {
				t.Errorf("%d ends won, the last was %v; the run is %+v, its journal says %q, %v", wins.Load(),
					won.Load(), run,
					text, err)
			}
		}
		expectSound(t, s)
	})
}

// TestADamagedRecordKeepsNoRunFromEnding spoils what else the end of a run writes.
func TestADamagedRecordKeepsNoRunFromEnding(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b, err := s.Runs().Begin(t.Context(), ada, BeginRun{Text: "hello", Models: []string{"x", "y"}})
		if err != nil {
			t.Fatal(err)
		}
		spoil(t, s, table.Messages, b.Responses[0].ID)
		spoil(t, s, table.Sessions, b.Session.ID)
		complete(t, s, b, "hi")
		if run, err := s.Runs().Get(t.Context(), ada, b.Run.ID); err != nil || run.StopReason != StatusCompleted {
			t.Errorf("the run is %+v, %v", run, err)
		}
		if m := message(t, s, ada, b.Responses[1].ID); m.Status != StatusCompleted {
			t.Errorf("the other answer is %+v", m)
		}
		if problems := s.Check(t.Context()); len(problems) != 2 {
			t.Errorf("Check found %+v, want the two records", problems)
		}
	})
}

func TestARunKnowsItsPathAndWhatThatMet(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		end := func(b Begun, labels ...string) {
			t.Helper()
			f := Finish{StopReason: StatusCompleted}
			for _, id := range b.Run.Responses {
				f.Answers = append(f.Answers, AnswerState{ID: id, Status: StatusCompleted, Labels: labels})
			}
			if err := s.Runs().Finish(t.Context(), b.Run.ID, withJournal(b.Run, f, "ok")); err != nil {
				t.Fatal(err)
			}
		}
		begin := func(in BeginRun) Begun {
			t.Helper()
			in.Models = []string{"m"}
			b, err := s.Runs().Begin(t.Context(), ada, in)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		expect := func(b Begun, labels []string, path ...string) {
			t.Helper()
			if !slices.Equal(b.Path, path) || !slices.Equal(b.Labels, labels) {
				t.Errorf("the path is %v with %v, want %v with %v", b.Path, b.Labels, path, labels)
			}
		}
		first := begin(BeginRun{Text: "one"})
		q1, a1 := first.UserMessage.ID, first.Responses[0].ID
		expect(first, nil, q1)
		end(first, "private_data")
		second := begin(BeginRun{SessionID: first.Session.ID, Text: "two"})
		q2, a2 := second.UserMessage.ID, second.Responses[0].ID
		expect(second, []string{"private_data"}, q1, a1, q2)
		end(second, "private_data", "untrusted_content")
		again := begin(BeginRun{Regenerate: a2})
		expect(again, []string{"private_data"}, q1, a1, q2)
		end(again, "private_data")
		on := begin(BeginRun{Continue: a2})
		expect(on, []string{"private_data", "untrusted_content"}, q1, a1, q2, a2)
		end(on, "private_data", "untrusted_content")
		expect(begin(BeginRun{SessionID: first.Session.ID, Root: true, Text: "anew"}), nil, mustNewest(t, s, ada,
			first.Session.ID, RoleUser))
		expectSound(t, s)
	})
}

// mustNewest returns the id of the newest message of a role.
func mustNewest(t *testing.T, s *Store, p identity.Principal, session, role string) (id string) {
	t.Helper()
	messages, err := s.Messages().List(t.Context(), p, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if m.Role == role {
			id = m.ID
		}
	}
	return id
}

func TestHeldCallsAreHandedOutOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b, err := s.Runs().Begin(t.Context(), ada, BeginRun{Text: "hello", Models: []string{"x", "y"}, Agent: "ag_1",
			Allowed: []string{"mail"}})
		if err != nil {
			t.Fatal(err)
		}
		answer := b.Responses[0].ID
		held := []Call{{ID: "c1", Name: "mail", Arguments: "{}"}, {ID: "c2", Name: "mail"}}
		f := Finish{StopReason: StatusCompleted, Answers: []AnswerState{{ID: answer, Status: StatusCompleted,
			Held: held}}}
		if err := s.Runs().Finish(t.Context(), b.Run.ID, withJournal(b.Run, f, "held")); err != nil {
			t.Fatal(err)
		}
		goOn := BeginRun{Continue: answer, OnlyHeld: true, Models: []string{"x"}, Agent: "ag_other",
			Allowed: []string{}}
		on, err := s.Runs().Begin(t.Context(), ada, goOn)
		if err != nil || !reflect.DeepEqual(on.Held, held) || !on.Run.Continues || on.Session.Leaf != answer {
			t.Fatalf("%+v, %v", on, err)
		}
		m := message(t, s, ada, answer)
		if m.Held != nil || m.Status != StatusRunning || !slices.Equal(m.LaterRuns, []string{on.Run.ID}) ||
			m.Run != b.Run.ID {
			t.Errorf("the answer that goes on is %+v", m)
		}
		complete(t, s, on, " and done")
		m = message(t, s, ada, answer)
		if m.Held != nil || m.Status != StatusCompleted || m.Agent != "ag_1" ||
			!slices.Equal(m.Allowed, []string{"mail"}) {
			t.Errorf("the answer is %+v", m)
		}
		if text := textOf(t, s, m); text != "held and done" {
			t.Errorf("it says %q", text)
		}
		_, err = s.Runs().Begin(t.Context(), ada, goOn)
		expectError(t, err, ErrNothingHeld)
		expectSound(t, s)
	})
}
