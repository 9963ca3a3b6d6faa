package store

import (
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

func TestDocumentIsKnownByItsURI(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
		put := func(p identity.Principal, r DocumentRecord, text string) DocumentRecord {
			t.Helper()
			got, err := s.Documents().Put(t.Context(), p, r, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := put(ada, DocumentRecord{URI: "/docs/a.md", Title: "A", Owner: eve.UserID()}, "one")
		if first.Owner != ada.UserID() {
			t.Errorf("the owner is %s", first.Owner)
		}
		hers := put(eve, DocumentRecord{URI: "/docs/a.md"}, "eve's")
		clock.advance(time.Hour)
		second := put(ada, DocumentRecord{ID: "d_other", URI: "/docs/a.md", Title: "B"}, "two")
		if second.ID != first.ID || second.AddedAt != first.AddedAt || second.UpdatedAt == first.UpdatedAt {
			t.Errorf("got %+v after %+v", second, first)
		}
		put(ada, DocumentRecord{URI: "/docs/empty.md"}, "")
		if text, err := s.Documents().Text(t.Context(), ada, first.ID); err != nil || string(text) != "two" {
			t.Errorf("got %q, %v", text, err)
		}
		if text, err := s.Documents().Text(t.Context(), eve, hers.ID); err != nil || string(text) != "eve's" {
			t.Errorf("got %q, %v", text, err)
		}
		if list, err := s.Documents().List(t.Context(), ada); err != nil || len(list) != 2 || list[0] != second {
			t.Errorf("got %+v, %v", list, err)
		}
		if found, err := s.Documents().Find(t.Context(), ada, "/docs/a.md"); err != nil || found != second {
			t.Errorf("got %+v, %v", found, err)
		}
		_, err := s.Documents().Put(t.Context(), eve, DocumentRecord{ID: first.ID, URI: "/docs/stolen.md"}, nil)
		expectError(t, err, ErrNotFound)
		_, err = s.Documents().Put(t.Context(), eve, DocumentRecord{}, nil)
		expectError(t, err, ErrInvalid)
		expectSound(t, s)
		if err := s.Documents().Delete(t.Context(), ada, first.ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.Documents().Find(t.Context(), ada, "/docs/a.md")
		expectError(t, err, ErrNotFound)
		_, err = s.Documents().Text(t.Context(), ada, first.ID)
		expectError(t, err, ErrNotFound)
		expectSound(t, s)
	})
}
