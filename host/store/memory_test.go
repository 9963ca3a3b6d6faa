package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

func addMemory(t *testing.T, s *Store, p identity.Principal, text string) Memory {
	t.Helper()
	m, _, err := s.Memories().Add(t.Context(), p, Memory{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemoriesAreListedNewestFirstAndToTheirOwnerOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
		tea := addMemory(t, s, ada, "  I drink tea.\n")
		clock.advance(time.Hour)
		addMemory(t, s, ada, "My dog is Rex.")
		addMemory(t, s, eve, "I am Eve.")
		clock.advance(time.Hour)
		changed, err := s.Memories().Update(t.Context(), ada, tea.ID, "I drink coffee.", "memory", nil)
		if err != nil || changed.CreatedAt != tea.CreatedAt || !changed.UpdatedAt.After(tea.UpdatedAt) ||
			changed.Plugin != "memory" {
			t.Fatalf("%+v, %v", changed, err)
		}
		list, err := s.Memories().List(t.Context(), ada)
		if err != nil || len(list) != 2 || list[0].Text != "I drink coffee." || list[1].Text != "My dog is Rex." {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, err := range []error{
			func() error { _, err := s.Memories().Update(t.Context(), eve, tea.ID, "mine", "", nil); return err }(),
			func() error { _, err := s.Memories().Delete(t.Context(), eve, tea.ID); return err }(),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
		}
		if was, err := s.Memories().Delete(t.Context(), ada, tea.ID); err != nil || was.Text != "I drink coffee." {
			t.Errorf("%+v, %v", was, err)
		}
		if list, _ = s.Memories().List(t.Context(), ada); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}

func TestTheSameMemoryIsKeptOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		first := addMemory(t, s, ada, "I drink tea.")
		again, added, err := s.Memories().Add(t.Context(), ada, Memory{Text: " I drink tea. "})
		if err != nil || added || again.ID != first.ID {
			t.Fatalf("%+v, %v, %v", again, added, err)
		}
	})
}

func TestAMemoryThatCannotBeKeptIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		for _, text := range []string{"", " \n", "a\x00b", "\xff", strings.Repeat("ä", MaxMemoryRunes+1)} {
			if _, _, err := s.Memories().Add(t.Context(), ada, Memory{Text: text}); !errors.Is(err, ErrInvalid) {
				t.Errorf("%.10q: %v", text, err)
			}
		}
		addMemory(t, s, ada, strings.Repeat("ä", MaxMemoryRunes))
	})
}

func TestMemoriesHaveALimit(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		err := s.update(t.Context(), func(tx kv.Tx) error {
			for range MaxMemories {
				m := Memory{ID: s.newID("mem"), Owner: ada.UserID(), Text: s.newID("text")}
				if err := errors.Join(table.Memories.Put(tx, m.ID, m),
					table.OwnerMemories.PutRaw(tx, table.Join(ada.UserID(), m.ID), nil)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Memories().Add(t.Context(), ada, Memory{Text: "one more"}); !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
	})
}
