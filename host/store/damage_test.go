package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
)

// readAll reads everything that a person has, and returns the first error.
func readAll(t *testing.T, s *Store) error {
	users, err := s.Users().List(t.Context(), identity.ForHost("a test"))
	if err != nil {
		return err
	}
	for _, u := range users {
		sessions, err := s.Sessions().List(t.Context(), u.Principal(identity.Command), 0, "")
		if err != nil {
			return err
		}
		for _, session := range sessions {
			if _, err := s.Messages().List(t.Context(), u.Principal(identity.Command), session.ID); err != nil {
				return err
			}
			run, err := s.Runs().Latest(t.Context(), u.Principal(identity.Command), session.ID)
			if err != nil {
				return err
			}
			log, err := readSealed(t.Context(), s, run.ID)
			if err != nil {
				return err
			}
			if damage := log.Damage(); damage != nil {
				return errors.Join(damage...)
			}
		}
	}
	return nil
}

// wholeFile returns the bytes of a store with a few hundred packets.
func wholeFile(t *testing.T) []byte {
	t.Helper()
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	for i := range 20 {
		b := ask(t, s, ada, "", fmt.Sprint(i))
		f := withJournal(b.Run, Finish{StopReason: StatusCompleted}, strings.Fields(strings.Repeat("word ", 40))...)
		if err := s.Runs().Finish(t.Context(), b.Run.ID, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := readAll(t, s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFileCutShortIsAnErrorAndNoCrash(t *testing.T) {
	data := wholeFile(t)
	failed := 0
	for size := 0; size < len(data); size += len(data) / 16 {
		path := filepath.Join(t.TempDir(), "cut.db")
		if err := os.WriteFile(path, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err == nil {
			err = readAll(t, s)
			if problems := s.Check(t.Context()); err != nil && len(problems) == 0 {
				t.Errorf("Check found nothing in %d of %d bytes: %v", size, len(data), err)
			}
			_ = s.Close() // it may complain of the damage again
		}
		if err != nil {
			failed++
			expectError(t, err, ErrDamaged)
		}
	}
	if failed == 0 {
		t.Error("no cut was noticed")
	}
}

func TestOverwrittenPagesAreAnErrorAndNoCrash(t *testing.T) {
	data := wholeFile(t)
	failed := 0
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		broken := append([]byte(nil), data...)
		page := 2 + random.IntN(len(data)/os.Getpagesize()-2) // not the meta pages, which have a checksum
		for i := range 64 {
			broken[page*os.Getpagesize()+i] = byte(random.Uint32())
		}
		path := filepath.Join(t.TempDir(), "broken.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err == nil {
			err = readAll(t, s)
			_ = s.Close() // it may complain of the damage again
		}
		var record *RecordError
		known := errors.As(err, &record)
		for _, is := range []error{ErrDamaged, ErrNotFound, journal.ErrDamaged, journal.ErrNotFound} {
			known = known || errors.Is(err, is)
		}
		if err != nil && !known {
			t.Errorf("page %d: %v", page, err)
		}
		if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}
