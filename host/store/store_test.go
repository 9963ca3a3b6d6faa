package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/migrate"
	"github.com/bulkhead-host/bulkhead/host/store/table"
	"go.uber.org/goleak"
)

// childMode names what this test binary does when it is started by a test as
// another process; the data file is its first argument.
const childMode = "BULKHEAD_STORE_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(runChild(mode, os.Args[1]))
	}
	goleak.VerifyTestMain(m)
}

// testClock is a clock that a test moves.
type testClock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *testClock { return &testClock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// openTest opens a store of its own, in a file, for a test.
func openTest(t *testing.T, opts Options) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "data", "bulkhead.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	return s
}

func closeAtEnd(t *testing.T, s *Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// eachEngine runs a test that needs no file on both engines, and on one that tries each
// transaction twice, as happens to what shares one with another that fails. open opens
// a store of its own for the test.
func eachEngine(t *testing.T, test func(t *testing.T, open func(Options) *Store)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		test(t, func(opts Options) *Store { t.Helper(); return openTest(t, opts) })
	})
	t.Run("memory", func(t *testing.T) {
		test(t, func(opts Options) *Store { t.Helper(); return openInMemory(t, opts) })
	})
	t.Run("twice", func(t *testing.T) {
		test(t, func(opts Options) *Store {
			t.Helper()
			s := openInMemory(t, opts)
			s.db = twice{s.db, func() {}}
			return s
		})
	})
}

func openInMemory(t *testing.T, opts Options) *Store {
	t.Helper()
	s, err := OpenMemory(opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	return s
}

// twice is a DB that undoes each Commit and runs between before it is tried again.
type twice struct {
	kv.DB
	between func()
}

var errUndone = errors.New("undone")

func (d twice) Commit(ctx context.Context, fn func(kv.Tx) error) error {
	err := d.Update(ctx, func(tx kv.Tx) error { return errors.Join(fn(tx), errUndone) })
	if !errors.Is(err, errUndone) {
		return err
	}
	d.between()
	return d.DB.Commit(ctx, fn)
}

// TestWhatIsTriedAgainIsTriedAnew changes what a transaction finds before it is tried
// again.
func TestWhatIsTriedAgainIsTriedAnew(t *testing.T) {
	s := openInMemory(t, Options{})
	ada := newUser(t, s, "ada")
	plain := s.db
	again := func(between func()) {
		s.db = twice{plain, func() { s.db = plain; between() }}
	}
	var first Memory
	again(func() { first = addMemory(t, s, ada, "I drink tea.") })
	if m, added, err := s.Memories().Add(t.Context(), ada, Memory{Text: "I drink tea."}); err != nil || added ||
		m.ID != first.ID {
		t.Errorf("%+v is new: %v, %v; it was there as %+v", m, added, err, first)
	}
	old, err := s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/a.md", AddedAt: time.Unix(1, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again(func() {
		if err := s.Documents().Delete(t.Context(), ada, old.ID); err != nil {
			t.Error(err)
		}
	})
	d, err := s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/a.md"}, nil)
	if err != nil || d.ID == old.ID || d.AddedAt.Equal(old.AddedAt) {
		t.Errorf("%+v keeps what another was, %+v, %v", d, old, err)
	}
	again(func() {
		if old, err = s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/b.md", AddedAt: time.Unix(1, 0)},
			nil); err != nil {
			t.Error(err)
		}
	})
	d, err = s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/b.md"}, nil)
	if err != nil || d.ID != old.ID || !d.AddedAt.Equal(old.AddedAt) {
		t.Errorf("%+v does not replace %+v, %v", d, old, err)
	}
	again(func() {
		if _, err := s.Users().Create(t.Context(), anOperator, "eve", false); err != nil {
			t.Error(err)
		}
	})
	_, err = s.Users().Create(t.Context(), anOperator, "eve", false)
	expectError(t, err, ErrExists)
	expectSound(t, s)
}

func expectSound(t interface {
	Helper()
	Errorf(string, ...any)
}, s *Store) {
	t.Helper()
	for _, p := range s.Check(context.Background()) {
		t.Errorf("%s/%s: %s", p.Table, p.Key, p.Message)
	}
}

// anOperator is an operator of no account, for what only operators may do.
var anOperator = identity.New(identity.Account{ID: "u_operator", Roles: []identity.Role{identity.Operator}},
	identity.Command)

func newUser(t *testing.T, s *Store, name string) identity.Principal {
	t.Helper()
	u, err := s.Users().Create(t.Context(), anOperator, name, false)
	if err != nil {
		t.Fatal(err)
	}
	return u.Principal(identity.Command)
}

// ask begins a run with one model in a session ("" for a new one).
func ask(t *testing.T, s *Store, p identity.Principal, session, text string) Begun {
	t.Helper()
	b, err := s.Runs().Begin(t.Context(), p, BeginRun{SessionID: session, Text: text, Models: []string{"m"}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// complete ends a run in which each model answered with text.
func complete(t *testing.T, s *Store, b Begun, text string) {
	t.Helper()
	f := Finish{StopReason: StatusCompleted}
	for _, id := range b.Run.Responses {
		f.Answers = append(f.Answers, AnswerState{ID: id, Status: StatusCompleted})
	}
	if err := s.Runs().Finish(t.Context(), b.Run.ID, withJournal(b.Run, f, text)); err != nil {
		t.Fatal(err)
	}
}

// withJournal lets a run end with a journal in which each model says words, each in a
// packet that nothing is joined with.
func withJournal(run Run, f Finish, words ...string) Finish {
	var records []journal.Record
	for i := range run.Responses {
		for turn, word := range words {
			records = append(records, journal.Packet(packet.At(turn, 0).ForModel(i),
				packet.MessageDelta{Content: word}))
		}
		records = append(records, journal.Of(journal.Outcome{Model: i, Reason: f.StopReason}))
	}
	records = append(records, journal.Of(journal.End{Reason: f.StopReason}))
	f.Epoch, f.LastSeq = run.Epoch, int64(len(words)*len(run.Responses))
	f.LiveSeq = f.LastSeq
	also := f.Also
	f.Also = func(tx kv.Tx) error {
		_, err := journal.Import(tx, run.ID, run.Epoch, false, 0, records)
		if err != nil || also == nil {
			return err
		}
		return also(tx)
	}
	return f
}

// sealed returns the journal of a run that has ended.
func sealed(t *testing.T, s *Store, run string) *journal.Log {
	t.Helper()
	log, err := readSealed(t.Context(), s, run)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func readSealed(ctx context.Context, s *Store, run string) (log *journal.Log, err error) {
	err = s.view(ctx, func(tx kv.Tx) (err error) {
		log, err = journal.Sealed(tx, run)
		return err
	})
	return log, err
}

// textOf returns what a message says: of an answer, what its runs say.
func textOf(t *testing.T, s *Store, m Message) string {
	t.Helper()
	if m.Role == RoleUser {
		return m.Text
	}
	text := journal.Answers(sealed(t, s, m.Run).Records(), m.ModelIndex+1)[m.ModelIndex].Text
	for _, run := range m.LaterRuns {
		text += journal.Answers(sealed(t, s, run).Records(), 1)[0].Text
	}
	return text
}

func expectError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// spoil overwrites a record with what is not JSON.
func spoil(t *testing.T, s *Store, tab table.Name, key string) {
	t.Helper()
	err := s.update(t.Context(), func(tx kv.Tx) error { return tab.PutRaw(tx, key, []byte("{spoiled")) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	s := openTest(t, Options{})
	for path, want := range map[string]os.FileMode{
		filepath.Dir(s.Path()): 0o700, s.Path(): 0o600, s.Path() + ".holder": 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestOpenRefusesNewerSchemaAndLeavesTheFile(t *testing.T) {
	s := openTest(t, Options{})
	p := newUser(t, s, "ada")
	if err := s.update(t.Context(), func(tx kv.Tx) error {
		return table.Meta.PutRaw(tx, "schema",
			[]byte("99"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(s.Path(), Options{})
	var newer *SchemaError
	if !errors.As(err, &newer) || newer.Have != 99 || newer.Want != migrate.Newest() {
		t.Fatalf("got %v, want a *SchemaError", err)
	}
	if _, err := os.Stat(s.Path() + ".holder"); !os.IsNotExist(err) {
		t.Errorf("the refused Open left its name behind: %v", err)
	}
	db, err := kv.OpenBolt(s.Path(), kv.BoltOptions{LockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.View(t.Context(), func(tx kv.Tx) error {
		if !table.Users.Has(tx, p.UserID()) {
			t.Error("the user is gone")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatIsNoDataFile(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := kv.OpenBolt(foreign, kv.BoltOptions{LockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		db.Update(t.Context(), func(tx kv.Tx) error { return tx.Put("pictures", "k", nil) }),
		db.Close())
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, text} {
		_, err := Open(path, Options{})
		expectError(t, err, ErrDamaged)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		p := newUser(t, s, "ada")
		b := ask(t, s, p, "", "hello")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Sessions().Get(t.Context(), p, b.Session.ID)
		expectError(t, err, ErrClosed)
		expectError(t, s.Runs().Finish(t.Context(), b.Run.ID, Finish{StopReason: StatusCompleted, Epoch: 1}), ErrClosed)
		expectError(t, s.Close(), ErrClosed)
	})
}

func TestCancelledContextChangesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Users().Create(ctx, anOperator, "ada", false)
		expectError(t, err, context.Canceled)
		_, err = s.Users().ByName(t.Context(), "ada")
		expectError(t, err, ErrNotFound)
	})
}

func TestSpoiledRecordIsNamedAndLosesNothingElse(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		p := newUser(t, s, "ada")
		first := ask(t, s, p, "", "one")
		complete(t, s, first, "1")
		second := ask(t, s, p, "", "two")
		spoil(t, s, table.Sessions, first.Session.ID)
		spoil(t, s, table.Messages, second.UserMessage.ID)

		sessions, err := s.Sessions().List(t.Context(), p, 0, "")
		var bad *RecordError
		if !errors.As(err, &bad) || bad.Table != "sessions" || bad.Key != first.Session.ID {
			t.Errorf("got error %v, want one that names the session", err)
		}
		if len(sessions) != 1 || sessions[0].ID != second.Session.ID {
			t.Errorf("got sessions %v, want the good one", sessions)
		}
		messages, err := s.Messages().List(t.Context(), p, second.Session.ID)
		if !errors.As(err, &bad) || bad.Key != second.UserMessage.ID {
			t.Errorf("got error %v, want one that names the message", err)
		}
		if len(messages) != 1 || messages[0].ID != second.Responses[0].ID {
			t.Errorf("got messages %v, want the good one", messages)
		}
		problems := s.Check(t.Context())
		if len(problems) != 2 {
			t.Errorf("Check found %v, want the two records", problems)
		}
	})
}

func TestSpoiledRunDoesNotKeepItsSessionBusy(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		p := newUser(t, s, "ada")
		b := ask(t, s, p, "", "one")
		spoil(t, s, table.Runs, b.Run.ID)
		_, err := s.Runs().Unfinished(t.Context(), identity.ForHost("a test"))
		var bad *RecordError
		if !errors.As(err, &bad) || bad.Key != b.Run.ID {
			t.Errorf("got %v, want a *RecordError that names the run", err)
		}
		ask(t, s, p, b.Session.ID, "two")
	})
}
