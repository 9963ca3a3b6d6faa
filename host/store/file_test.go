package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

func addFile(t *testing.T, s *Store, p identity.Principal, name, text string) File {
	t.Helper()
	f, err := s.Files().Add(t.Context(), p, File{Name: name, MediaType: "text/plain", Bytes: int64(len(text))},
		[]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func addPicture(t *testing.T, s *Store, p identity.Principal, name, data string) File {
	t.Helper()
	f, err := s.Files().AddPicture(t.Context(), p, File{Name: name, MediaType: "image/png", Width: 6, Height: 4},
		[]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sendFiles begins and ends a run whose message carries the files.
func sendFiles(t *testing.T, s *Store, p identity.Principal, session string, files ...string) Begun {
	t.Helper()
	b, err := s.Runs().Begin(t.Context(), p, BeginRun{SessionID: session, Text: "look", Files: files,
		Models: []string{"m"}})
	if err != nil {
		t.Fatal(err)
	}
	complete(t, s, b, "seen")
	return b
}

func TestAMessageCarriesItsFiles(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
		f := addFile(t, s, ada, "zahlen.csv", "a;b\nö;2\n")
		if f.Characters != 8 || f.TextBytes != 9 || f.Lines != 2 || f.Owner != ada.UserID() {
			t.Errorf("the record is %+v", f)
		}
		b := sendFiles(t, s, ada, "", f.ID)
		path, err := s.Messages().Branch(t.Context(), ada, b.Session.ID, "")
		if err != nil || len(path[0].Files) != 1 ||
			path[0].Files[0] != (FileRef{ID: f.ID, Name: "zahlen.csv", MediaType: "text/plain", Bytes: 9}) {
			t.Fatalf("%+v, %v", path, err)
		}
		if text, err := s.Files().Text(t.Context(), ada, f.ID); err != nil || string(text) != "a;b\nö;2\n" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := s.Files().Text(t.Context(), eve, f.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("somebody else's file: %v", err)
		}
		_, err = s.Runs().Begin(t.Context(), eve, BeginRun{Text: "x", Files: []string{f.ID}, Models: []string{"m"}})
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("sent somebody else's file: %v", err)
		}
		_, err = s.Runs().Begin(t.Context(), ada, BeginRun{Text: "x", Files: []string{f.ID, f.ID},
			Models: []string{"m"}})
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("sent a file twice: %v", err)
		}
		if err := s.Files().Delete(t.Context(), ada, f.ID); err != nil {
			t.Fatal(err)
		}
		if path, _ = s.Messages().Branch(t.Context(), ada, b.Session.ID, ""); len(path[0].Files) != 1 {
			t.Error("the message forgot the name of a deleted file")
		}
	})
}

func TestFilesGoWithTheLastSessionThatCarriesThem(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		only, both := addFile(t, s, ada, "only", "1"), addFile(t, s, ada, "both", "2")
		one := sendFiles(t, s, ada, "", only.ID, both.ID)
		two := sendFiles(t, s, ada, "", both.ID)
		sendFiles(t, s, ada, two.Session.ID, both.ID) // again in the same session
		if err := s.Sessions().Delete(t.Context(), ada, one.Session.ID); err != nil {
			t.Fatal(err)
		}
		if files, err := s.Files().List(t.Context(), ada); err != nil || len(files) != 1 || files[0].ID != both.ID {
			t.Fatalf("%+v, %v", files, err)
		}
		if err := s.Sessions().Delete(t.Context(), ada, two.Session.ID); err != nil {
			t.Fatal(err)
		}
		if files, err := s.Files().List(t.Context(), ada); err != nil || len(files) != 0 {
			t.Fatalf("%+v, %v", files, err)
		}
	})
}

func TestFilesThatWereNeverSentGoAfterAWhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada := newUser(t, s, "ada")
		addFile(t, s, ada, "unsent", "1")
		sent := addFile(t, s, ada, "sent", "2")
		sendFiles(t, s, ada, "", sent.ID)
		clock.advance(UnsentLifetime + time.Second)
		fresh := addFile(t, s, ada, "fresh", "3")
		files, err := s.Files().List(t.Context(), ada)
		if err != nil || len(files) != 2 || files[0].ID != fresh.ID || files[1].ID != sent.ID {
			t.Fatalf("%+v, %v", files, err)
		}
	})
}

func TestRemovingAUserLeavesNoRecordBehind(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		if _, _, err := s.Users().EnsureOwner(t.Context()); err != nil {
			t.Fatal(err)
		}
		ada := newUser(t, s, "ada")
		addMemory(t, s, ada, "I drink tea.")
		sendFiles(t, s, ada, "", addFile(t, s, ada, "a", "1").ID)
		addFile(t, s, ada, "unsent", "2")
		if err := s.Users().Remove(t.Context(), anOperator, ada.UserID()); err != nil {
			t.Fatal(err)
		}
		err := s.view(t.Context(), func(tx kv.Tx) error {
			for _, each := range tx.Tables() {
				if slices.Contains([]kv.Table{kv.Table(table.Meta), kv.Table(table.Users), kv.Table(table.UserNames)},
					each) {
					continue // the owner's
				}
				if key, _, found := tx.Last(each, ""); found {
					t.Errorf("%s still holds %s", each, key)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// An older file has no tables for memories, files and agents.
func TestAFileOfTheFirstVersionGetsTheNewTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ada := newUser(t, s, "ada")
	err = s.update(t.Context(), func(tx kv.Tx) error {
		for _, each := range []table.Name{
			table.Memories, table.OwnerMemories, table.Files, table.FileTexts, table.FilePictures, table.OwnerFiles,
			table.SessionFiles, table.Agents, table.AgentNames,
		} {
			if err := tx.DeleteTable(kv.Table(each)); err != nil {
				return err
			}
		}
		return table.Meta.PutRaw(tx, "schema", []byte("1"))
	})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addMemory(t, s, ada, "I drink tea.")
	addAgent(t, s, Agent{Name: "Tutor"})
	addPicture(t, s, ada, "a.png", "bytes")
	if problems := s.Check(t.Context()); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestAPictureIsKeptWithItsSizeAndHasNoText(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
		f, plain := addPicture(t, s, ada, "a.png", "\x89PNG"), addFile(t, s, ada, "a.txt", "words")
		if !f.Picture() || f.Bytes != 4 || f.Width != 6 || f.Height != 4 || f.TextBytes != 0 || plain.Picture() {
			t.Errorf("the records are %+v, %+v", f, plain)
		}
		if data, err := s.Files().Picture(t.Context(), ada, f.ID); err != nil || string(data) != "\x89PNG" {
			t.Errorf("%q, %v", data, err)
		}
		if text, err := s.Files().Text(t.Context(), ada, f.ID); err != nil || len(text) != 0 {
			t.Errorf("a picture's text: %q, %v", text, err)
		}
		for name, id := range map[string]string{"a text": plain.ID, "none": "f_0"} {
			if _, err := s.Files().Picture(t.Context(), ada, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s as a picture: %v", name, err)
			}
		}
		if _, err := s.Files().Picture(t.Context(), eve, f.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("somebody else's picture: %v", err)
		}
		if _, err := s.Files().AddPicture(t.Context(), ada, File{Name: "b.png"}, []byte("x")); !errors.Is(err,
			ErrInvalid) {
			t.Errorf("a picture without a size: %v", err)
		}
		if problems := s.Check(t.Context()); len(problems) > 0 {
			t.Error(problems)
		}
		if err := s.Files().Delete(t.Context(), ada, f.ID); err != nil {
			t.Fatal(err)
		}
		err := s.view(t.Context(), func(tx kv.Tx) error {
			if table.FilePictures.Has(tx, f.ID) {
				t.Error("the bytes outlive the file")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestPicturesCountTowardsWhatAPersonKeeps(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		f := addPicture(t, s, ada, "a.png", "bytes")
		f.Bytes = MaxFilesBytes - 2 // as if it were that large
		if err := s.update(t.Context(), func(tx kv.Tx) error { return table.Files.Put(tx, f.ID, f) }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Files().AddPicture(t.Context(), ada, File{Name: "b.png", Width: 1, Height: 1},
			[]byte("xyz")); !errors.Is(err, ErrFull) {
			t.Errorf("one too many: %v", err)
		}
		if _, err := s.Files().AddPicture(t.Context(), ada, File{Name: "b.png", Width: 1, Height: 1},
			[]byte("xy")); err != nil {
			t.Errorf("what still fits: %v", err)
		}
	})
}
