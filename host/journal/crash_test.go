package journal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// group are the records of one Record call: which they are follows from the run and a
// number.
func group(run string, n int) (records []Record) {
	for i := range n%3 + 1 {
		name := fmt.Sprintf("%s-%d-%d", run, n, i)
		if (n+i)%2 == 0 {
			records = append(records, named(name))
		} else {
			records = append(records, text(n%2, name))
		}
	}
	return records
}

// promise is what of a run must be there after a crash.
type promise struct {
	// begun and ended tell that the transactions were committed.
	begun, ended bool
	// durable is how many groups are, of those that were appended.
	durable, appended int
	// stored is the log as it is when the run ended.
	stored []string
	gone   bool
}

// keeps tells what of a promise a journal breaks, "" for nothing.
func (p promise) keeps(ctx context.Context, l *Local, run string) string {
	log, err := l.Open(ctx, run)
	switch {
	case p.gone:
		return ""
	case err != nil && p.begun:
		return fmt.Sprintf("%s is gone: %v", run, err)
	case err != nil:
		return ""
	case log.Damage() != nil:
		return fmt.Sprintf("%s is damaged: %v", run, log.Damage())
	case log.Closed():
		if got := said(log); !slices.Equal(got, p.stored) {
			return fmt.Sprintf("%s is stored as %q, should be %q", run, got, p.stored)
		}
		return ""
	case p.ended:
		return run + " had ended and is live"
	}
	got, whole := said(log), 0
	for n := 0; n < p.appended && len(got) > 0; n++ {
		want := words(group(run, n))
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			return fmt.Sprintf("%s, group %d: got %q, want %q", run, n, got, want)
		}
		got = got[len(want):]
		whole++
	}
	if whole < p.durable || len(got) > 0 {
		return fmt.Sprintf("%s has %d groups and %q, of which %d are durable", run, whole, got, p.durable)
	}
	return ""
}

// crashes are copies of the data file, each with what had been promised by then.
type crashes struct {
	path string
	// mu guards what follows.
	mu     sync.Mutex
	runs   map[string]promise
	copies []crash
}

type crash struct {
	file []byte
	runs map[string]promise
}

// take is a failpoint that copies the file before and after each commit.
func (c *crashes) take(bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	file, err := os.ReadFile(c.path)
	if err != nil {
		return err
	}
	c.copies = append(c.copies, crash{file, maps.Clone(c.runs)})
	return nil
}

func (c *crashes) set(run string, change func(*promise)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.runs[run]
	change(&p)
	c.runs[run] = p
}

// TestAnyCrashKeepsWhatWasDurable works on several runs in random order, and opens what
// was on disk before and after each commit.
func TestAnyCrashKeepsWhatWasDurable(t *testing.T) {
	copies := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := &crashes{path: filepath.Join(t.TempDir(), "journal.db"), runs: map[string]promise{}}
		s := schedule{t: rt, ctx: t.Context(), crashes: c, db: openPath(t, c.path, c.take), leases: map[string]*Lease{}}
		s.work()
		closeOnce(t, s.db)
		path := filepath.Join(t.TempDir(), "copy.db")
		for i, one := range c.copies {
			if err := os.WriteFile(path, one.file, 0o600); err != nil {
				rt.Fatal(err)
			}
			db := openPath(t, path, nil)
			l, err := Open(t.Context(), db, Options{})
			if err != nil {
				rt.Fatal(err)
			}
			for run, p := range one.runs {
				if broken := p.keeps(t.Context(), l, run); broken != "" {
					rt.Fatalf("copy %d of %d: %s", i, len(c.copies), broken)
				}
			}
			if err := l.Close(); err != nil {
				rt.Fatal(err)
			}
			closeOnce(t, db)
		}
		copies += len(c.copies)
		if err := os.Remove(path); err != nil {
			rt.Fatal(err)
		}
	})
	t.Logf("%d crashes", copies)
}

// someSteps are what a schedule draws from.
var someSteps = []string{"append", "append", "append", "append", "durable", "seal", "abandon"}

// schedule is a random one.
type schedule struct {
	t       *rapid.T
	ctx     context.Context
	crashes *crashes
	db      kv.DB
	leases  map[string]*Lease
	at      map[string]Position
}

func (s *schedule) work() {
	l, err := Open(s.ctx, s.db, Options{Tick: -1})
	if err != nil {
		s.t.Fatal(err)
	}
	s.at = map[string]Position{}
	for range rapid.IntRange(5, 30).Draw(s.t, "steps") {
		run := fmt.Sprintf("r_%d", rapid.IntRange(1, 3).Draw(s.t, "run"))
		lease := s.leases[run]
		if lease == nil {
			if !s.crashes.runs[run].ended {
				s.begin(l, run)
			}
			continue
		}
		switch rapid.SampledFrom(someSteps).Draw(s.t, "do") {
		case "append":
			s.crashes.set(run, func(p *promise) { p.appended++ })
			s.at[run] = lease.Record(group(run, s.crashes.runs[run].appended-1)...)
		case "durable":
			if err := s.at[run].Durable(s.ctx); err != nil {
				s.t.Fatal(err)
			}
			s.crashes.set(run, func(p *promise) { p.durable = p.appended })
		case "seal":
			e := lease.Seal(false, named("end"))
			s.crashes.set(run, func(p *promise) { p.stored = said(e.Log()) })
			if err := s.db.Commit(s.ctx, e.Write); err != nil {
				s.t.Fatal(err)
			}
			s.crashes.set(run, func(p *promise) { p.ended = true })
			e.Done()
			delete(s.leases, run)
		case "abandon":
			s.crashes.set(run, func(p *promise) { p.gone, p.ended = true, true })
			lease.Abandon()
			delete(s.leases, run)
		}
	}
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *schedule) begin(l *Local, run string) {
	b, err := l.Begin(run, 1, "test", group(run, 0)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.crashes.set(run, func(p *promise) { p.appended = 1 })
	if err := s.db.Commit(s.ctx, b.Write); err != nil {
		s.t.Fatal(err)
	}
	s.crashes.set(run, func(p *promise) { p.begun, p.durable = true, 1 })
	s.leases[run] = b.Lease()
	s.at[run] = s.leases[run].Record()
}
