package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"pgregory.net/rapid"
)

// treeModel is what the store's tree of messages is compared with.
type treeModel struct {
	parent map[string]string
	text   map[string]string
	order  []string // ids, oldest first
	leaf   string
}

// path returns the ids from the root to id.
func (m *treeModel) path(id string) []string {
	var out []string
	for ; id != ""; id = m.parent[id] {
		out = append(out, id)
	}
	slices.Reverse(out)
	return out
}

func (m *treeModel) add(msg Message) {
	if _, ok := m.parent[msg.ID]; ok {
		return
	}
	m.parent[msg.ID], m.text[msg.ID] = msg.Parent, msg.Text
	m.order = append(m.order, msg.ID)
}

// newestEnd follows the newest child to the end.
func (m *treeModel) newestEnd(id string) string {
	for i := len(m.order) - 1; i >= 0; i-- {
		if m.parent[m.order[i]] == id {
			return m.newestEnd(m.order[i])
		}
	}
	return id
}

func ids(messages []Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.ID)
	}
	return out
}

// TestMessageTree holds sending, editing, regenerating and selecting against a
// model of the tree.
func TestMessageTree(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			p := newUser(t, s, fmt.Sprintf("u%d", round))
			m := &treeModel{parent: map[string]string{}, text: map[string]string{}}
			session := ""
			for step := range rapid.IntRange(1, 10).Draw(rt, "steps") {
				in := BeginRun{SessionID: session, Text: fmt.Sprintf("text %d", step),
					Models: []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(rt, "models")]}
				wantParent := m.leaf
				if session != "" {
					some := rapid.SampledFrom(m.order).Draw(rt, "message")
					switch rapid.SampledFrom([]string{"go on", "edit", "root", "regenerate", "select"}).Draw(rt, "do") {
					case "edit":
						in.Parent, wantParent = some, some
					case "root":
						in.Root, wantParent = true, ""
					case "regenerate":
						in.Regenerate = some
					case "select":
						got, err := s.Sessions().SelectLeaf(t.Context(), p, session, some)
						if m.leaf = m.newestEnd(some); err != nil || got.Leaf != m.leaf {
							rt.Fatalf("leaf is %s, %v, want %s", got.Leaf, err, m.leaf)
						}
						continue
					}
				}
				b, err := s.Runs().Begin(t.Context(), p, in)
				if isQuestion := in.Parent != "" && !answer(m, in.Parent); isQuestion {
					if !errors.Is(err, ErrInvalid) {
						rt.Fatalf("a question followed a question: %v", err)
					}
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				session = b.Session.ID
				if in.Regenerate == "" && b.UserMessage.Parent != wantParent {
					rt.Fatalf("the parent is %q, want %q", b.UserMessage.Parent, wantParent)
				}
				for _, msg := range append([]Message{b.UserMessage}, b.Responses...) {
					m.add(msg)
				}
				m.leaf = b.Responses[0].ID
				complete(t, s, b, "answer")
				for _, r := range b.Responses {
					m.text[r.ID] = "answer"
				}
			}
			compareTree(t, rt, s, p, session, m)
		})
		expectSound(t, s)
	})
}

// answer tells whether a message of the model is an answer: those stand at
// every other level.
func answer(m *treeModel, id string) bool { return len(m.path(id))%2 == 0 }

func compareTree(t *testing.T, rt *rapid.T, s *Store, p identity.Principal, session string, m *treeModel) {
	all, err := s.Messages().List(t.Context(), p, session)
	if err != nil || !reflect.DeepEqual(ids(all), m.order) {
		rt.Fatalf("messages are %v, %v, want %v", ids(all), err, m.order)
	}
	for _, msg := range all {
		if text := textOf(t, s, msg); text != m.text[msg.ID] || msg.Status == StatusRunning {
			rt.Fatalf("message %+v says %q, want %q", msg, text, m.text[msg.ID])
		}
		path, err := s.Messages().Branch(t.Context(), p, session, msg.ID)
		if err != nil || !reflect.DeepEqual(ids(path), m.path(msg.ID)) {
			rt.Fatalf("the path to %s is %v, %v, want %v", msg.ID, ids(path), err, m.path(msg.ID))
		}
	}
	path, err := s.Messages().Branch(t.Context(), p, session, "")
	if err != nil || !reflect.DeepEqual(ids(path), m.path(m.leaf)) {
		rt.Fatalf("the session's path is %v, %v, want %v", ids(path), err, m.path(m.leaf))
	}
}

func TestBranchOfACircleIsAnError(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		b := ask(t, s, ada, "", "hello")
		m := b.UserMessage
		m.Parent = b.Responses[0].ID
		if err := s.update(t.Context(), func(tx kv.Tx) error { return putMessage(tx, m) }); err != nil {
			t.Fatal(err)
		}
		_, err := s.Messages().Branch(t.Context(), ada, b.Session.ID, "")
		var bad *RecordError
		if !errors.As(err, &bad) {
			t.Errorf("got %v, want a *RecordError", err)
		}
		if _, err := s.Sessions().SelectLeaf(t.Context(), ada, b.Session.ID, m.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionsComeLastUpdatedFirstInPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
		var want []string
		for i := range 7 {
			clock.advance(time.Minute)
			b := ask(t, s, ada, "", fmt.Sprint(i))
			complete(t, s, b, "ok")
			want = append([]string{b.Session.ID}, want...)
			complete(t, s, ask(t, s, eve, "", fmt.Sprint(i)), "ok")
		}
		clock.advance(time.Minute)
		complete(t, s, ask(t, s, ada, want[4], "again"), "ok")
		want = slices.Concat(want[4:5], want[:4], want[5:])
		if _, err := s.Sessions().Rename(t.Context(), ada, want[3], "New"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for before := ""; ; {
			page, err := s.Sessions().List(t.Context(), ada, 3, before)
			if err != nil {
				t.Fatal(err)
			}
			for _, session := range page {
				got = append(got, session.ID)
				if (session.ID == want[3]) != (session.Title == "New") {
					t.Errorf("%s has title %q", session.ID, session.Title)
				}
			}
			if len(page) < 3 {
				break
			}
			before = got[len(got)-1]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		_, err := s.Sessions().List(t.Context(), eve, 3, want[0])
		expectError(t, err, ErrNotFound)
	})
}

func TestPinnedSessionsComeFirstUntilTheyAreNot(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada := newUser(t, s, "ada")
		var ids []string
		for i := range 4 {
			clock.advance(time.Minute)
			b := ask(t, s, ada, "", fmt.Sprint(i))
			complete(t, s, b, "ok")
			ids = append(ids, b.Session.ID)
		}
		pin := func(i int, on bool) {
			t.Helper()
			if got, err := s.Sessions().Pin(t.Context(), ada, ids[i], on); err != nil || got.Pinned != on {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		expect := func(order ...int) {
			t.Helper()
			var want, got []string
			for _, i := range order {
				want = append(want, ids[i])
			}
			for before := ""; len(got) < len(want); before = got[len(got)-1] {
				page, err := s.Sessions().List(t.Context(), ada, 1, before)
				if err != nil || len(page) != 1 {
					t.Fatalf("after %v: %v, %v", got, page, err)
				}
				got = append(got, page[0].ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if damage := s.Check(t.Context()); len(damage) != 0 {
				t.Errorf("the store: %v", damage)
			}
		}
		pin(1, true)
		pin(0, true)
		pin(0, true)
		expect(1, 0, 3, 2)
		clock.advance(time.Minute)
		complete(t, s, ask(t, s, ada, ids[0], "again"), "ok")
		expect(0, 1, 3, 2)
		pin(0, false)
		expect(1, 0, 3, 2)
		if err := s.Sessions().Delete(t.Context(), ada, ids[1]); err != nil {
			t.Fatal(err)
		}
		expect(0, 3, 2)
	})
}

func second[T any](_ T, err error) error { return err }
