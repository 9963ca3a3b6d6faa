package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"go.etcd.io/bbolt"
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

// openTest opens a store of its own for a test, and at the end expects that
// nothing in it is wrong.
func openTest(t *testing.T, opts Options) *Store {
	t.Helper()
	if opts.CommitInterval == 0 {
		opts.CommitInterval = -1
	}
	s, err := Open(filepath.Join(t.TempDir(), "data", "bulkhead.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return s
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

func newUser(t *testing.T, s *Store, name string) identity.Principal {
	t.Helper()
	u, err := s.CreateUser(t.Context(), name, false)
	if err != nil {
		t.Fatal(err)
	}
	return u.Principal(identity.Command)
}

// ask begins a run with one model in a session ("" for a new one).
func ask(t *testing.T, s *Store, p identity.Principal, session, text string) Begun {
	t.Helper()
	b, err := s.BeginRun(t.Context(), p, BeginRun{SessionID: session, Text: text, Models: []string{"m"}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func complete(t *testing.T, s *Store, b Begun, text string) {
	t.Helper()
	m := b.Responses[0]
	m.Text, m.Status = text, StatusCompleted
	if err := s.FinishRun(t.Context(), b.Run.ID, Finish{StopReason: StatusCompleted, Messages: []Message{m}}); err != nil {
		t.Fatal(err)
	}
}

// packetsFrom returns n entries from seq on.
func packetsFrom(run string, seq int64, n int) []PacketEntry {
	var out []PacketEntry
	for i := range int64(n) {
		out = append(out, PacketEntry{Seq: seq + i, JSON: packetJSON(run, seq+i)})
	}
	return out
}

func packetJSON(run string, seq int64) []byte {
	return fmt.Appendf(nil, `{"run":%q,"epoch":1,"seq":%d,"obj":{"type":"message_delta","content":"word "}}`, run, seq)
}

func expectError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// spoil overwrites a record with what is not JSON.
func spoil(t *testing.T, s *Store, tab table, key string) {
	t.Helper()
	err := s.update(t.Context(), func(tx kv.Tx) error { return tab.putRaw(tx, key, []byte("{spoiled")) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	s := openTest(t, Options{})
	for path, want := range map[string]os.FileMode{
		filepath.Dir(s.Path()): 0o700, s.Path(): 0o600, holderPath(s.Path()): 0o600,
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
	if err := s.update(t.Context(), func(tx kv.Tx) error { return tableMeta.putRaw(tx, schemaKey, []byte("99")) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(s.Path(), Options{})
	var newer *SchemaError
	if !errors.As(err, &newer) || newer.Have != 99 || newer.Want != len(migrations) {
		t.Fatalf("got %v, want a *SchemaError", err)
	}
	if _, err := os.Stat(holderPath(s.Path())); !os.IsNotExist(err) {
		t.Errorf("the refused Open left its name behind: %v", err)
	}
	db, err := bbolt.Open(s.Path(), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.View(func(tx kv.Tx) error {
		if !tableUsers.has(tx, p.UserID()) {
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
	db, err := bbolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Update(func(tx kv.Tx) error {
		_, err := tx.CreateBucket([]byte("pictures"))
		return err
	}), db.Close())
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
	s := openTest(t, Options{})
	p := newUser(t, s, "ada")
	b := ask(t, s, p, "", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Session(t.Context(), p, b.Session.ID)
	expectError(t, err, ErrClosed)
	expectError(t, s.AppendPackets(t.Context(), b.Run.ID, 1, packetsFrom(b.Run.ID, 1, 1)), ErrClosed)
	expectError(t, s.Close(), ErrClosed)
}

func TestCancelledContextChangesNothing(t *testing.T) {
	s := openTest(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.CreateUser(ctx, "ada", false)
	expectError(t, err, context.Canceled)
	_, err = s.UserByName(t.Context(), "ada")
	expectError(t, err, ErrNotFound)
}

func TestSpoiledRecordIsNamedAndLosesNothingElse(t *testing.T) {
	s := openTest(t, Options{})
	p := newUser(t, s, "ada")
	first := ask(t, s, p, "", "one")
	complete(t, s, first, "1")
	second := ask(t, s, p, "", "two")
	spoil(t, s, tableSessions, first.Session.ID)
	spoil(t, s, tableMessages, second.UserMessage.ID)

	sessions, err := s.Sessions(t.Context(), p, 0, "")
	var bad *RecordError
	if !errors.As(err, &bad) || bad.Table != "sessions" || bad.Key != first.Session.ID {
		t.Errorf("got error %v, want one that names the session", err)
	}
	if len(sessions) != 1 || sessions[0].ID != second.Session.ID {
		t.Errorf("got sessions %v, want the good one", sessions)
	}
	messages, err := s.Messages(t.Context(), p, second.Session.ID)
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
}

func TestSpoiledRunDoesNotKeepItsSessionBusy(t *testing.T) {
	s := openTest(t, Options{})
	p := newUser(t, s, "ada")
	b := ask(t, s, p, "", "one")
	spoil(t, s, tableRuns, b.Run.ID)
	_, err := s.UnfinishedRuns(t.Context())
	var bad *RecordError
	if !errors.As(err, &bad) || bad.Key != b.Run.ID {
		t.Errorf("got %v, want a *RecordError that names the run", err)
	}
	ask(t, s, p, b.Session.ID, "two")
}
