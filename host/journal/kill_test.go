package journal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// childFile is where a process that TestKillKeepsWhatWasDurable starts writes.
const childFile = "BULKHEAD_JOURNAL_CHILD"

// writeUntilKilled is the main function of such a process. It says what is durable,
// after it is.
func writeUntilKilled(path string) int {
	ctx := context.Background()
	db, err := kv.OpenBolt(path, kv.BoltOptions{LockTimeout: time.Minute})
	if err != nil {
		panic(err)
	}
	l, err := Open(ctx, db, Options{Tick: time.Millisecond})
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for turn := 0; ; turn++ {
				run := fmt.Sprintf("r_%d-%d-%d", os.Getpid(), worker, turn)
				writeRun(ctx, l, run, 5+worker*10)
			}
		})
	}
	wg.Wait()
	return 0
}

func writeRun(ctx context.Context, l *Local, run string, groups int) {
	b, err := l.Begin(run, 1, "child", group(run, 0)...)
	if err == nil {
		err = l.db.Commit(ctx, b.Write)
	}
	if err != nil {
		panic(err)
	}
	say("durable", run, 1)
	lease := b.Lease()
	for n := 1; n < groups; n++ {
		at := lease.Record(group(run, n)...)
		if n%5 != 0 {
			continue
		}
		if err := at.Durable(ctx); err != nil {
			panic(err)
		}
		say("durable", run, n+1)
	}
	e := lease.Seal(false, named("end"))
	if err := l.db.Commit(ctx, e.Write); err != nil {
		panic(err)
	}
	say("ended", run, groups)
	e.Done()
}

// say writes one line with one system call.
func say(what, run string, n int) { _, _ = os.Stdout.WriteString(fmt.Sprintln(what, run, n)) }

// TestKillKeepsWhatWasDurable kills a writing process at random moments, and opens what
// it left.
func TestKillKeepsWhatWasDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	promises := map[string]promise{}
	for round := range rounds {
		readChild(t, path, 1+rand.IntN(150), promises)
		db := openPath(t, path, nil)
		l := openJournal(t, db, Options{})
		for run, p := range promises {
			if broken := p.keeps(t.Context(), l, run); broken != "" {
				t.Errorf("round %d: %s", round, broken)
			}
		}
		recoverAll(t, l, promises)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		closeOnce(t, db)
	}
	t.Logf("%d runs survived", len(promises))
}

// readChild lets a child write until it has said some lines, and kills it.
func readChild(t *testing.T, path string, lines int, promises map[string]promise) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for out := bufio.NewScanner(pipe); out.Scan(); n++ {
		var run string
		var groups int
		what, rest, _ := strings.Cut(out.Text(), " ")
		if _, err := fmt.Sscan(rest, &run, &groups); err != nil {
			t.Fatalf("the child said %q", out.Text())
		}
		p := promise{begun: true, durable: groups, appended: 50, ended: what == "ended"}
		if promises[run] = p; n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); n < lines || err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child said %d lines of %d and ended with %v", n, lines, err)
	}
	for run, p := range promises {
		if p.stored == nil { // what it would be if it ended
			var worker int
			if _, err := fmt.Sscanf(run[strings.Index(run, "-"):], "-%d", &worker); err != nil {
				t.Fatal(err)
			}
			var records []Record
			for n := range 5 + worker*10 {
				records = append(records, group(run, n)...)
			}
			kept, _ := compact(append(records, named("end")))
			p.stored = words(kept)
			promises[run] = p
		}
	}
}

// recoverAll ends what is live, as the host does when it starts.
func recoverAll(t *testing.T, l *Local, promises map[string]promise) {
	t.Helper()
	for _, run := range l.Unfinished() {
		lease, err := l.Lease(t.Context(), run, "recovery")
		if err != nil {
			t.Fatal(err)
		}
		before := factsOf(lease.Log())
		e := seal(t, lease, true, Closings(lease.Log(), 2)...)
		if after := factsOf(e.Log()); !slices.Equal(after[:len(before)], before) {
			t.Errorf("%s: facts were %q, are %q", run, before, after)
		}
		promises[run] = promise{begun: true, ended: true, stored: said(e.Log())}
	}
}
