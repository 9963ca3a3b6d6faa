package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// runChild is the main function of this binary as another process.
func runChild(mode, path string) int {
	s, err := Open(path, Options{Holder: "store child"})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	switch mode {
	case "hold":
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
	case "write":
		writeForever(s)
	}
	if err := s.Close(); err != nil {
		return 1
	}
	return 0
}

// writeForever asks, writes journals and finishes, and says so once each is durable,
// until it is killed.
func writeForever(s *Store) {
	ctx := context.Background()
	owner, _, err := s.Users().EnsureOwner(ctx)
	if err != nil {
		panic(err)
	}
	records, err := journal.Open(ctx, s.DB(), journal.Options{Tick: time.Millisecond})
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			for turn := 0; ; turn++ {
				text := fmt.Sprintf("question-%d-%d-%d", os.Getpid(), worker, turn)
				if err := writeRun(ctx, s, records, owner.Principal(identity.Command), text); err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
}

// writeRun writes one run from its begin to its end.
func writeRun(ctx context.Context, s *Store, records *journal.Local, p identity.Principal, text string) error {
	var beginning *journal.Beginning
	in := BeginRun{Text: text, Models: []string{"m"}, Also: func(tx kv.Tx, b Begun) (err error) {
		begun := journal.Of(journal.Begun{Text: text, Answers: b.Run.Responses})
		if beginning, err = records.Begin(b.Run.ID, b.Run.Epoch, "child", begun); err != nil {
			return err
		}
		return beginning.Write(tx)
	}}
	b, err := s.Runs().Begin(ctx, p, in)
	if err != nil {
		return err
	}
	say("begun", b.Run.ID, b.UserMessage.ID, text)
	lease := beginning.Lease()
	at := packet.At(0, 0).ForModel(0)
	for seq := 1; seq <= 12; seq += 3 {
		var more []journal.Record
		for i := range 3 {
			more = append(more, journal.Packet(at, packet.MessageDelta{Content: word(seq + i)}))
		}
		if err := lease.Record(more...).Durable(ctx); err != nil {
			return err
		}
		say("packets", b.Run.ID, fmt.Sprint(seq+2))
	}
	ending := lease.Seal(false, journal.Of(journal.Outcome{Reason: StatusCompleted}),
		journal.Of(journal.End{Reason: StatusCompleted}))
	if err := s.Runs().Finish(ctx, b.Run.ID, finishWith(ending, b.Run, StatusCompleted)); err != nil {
		return err
	}
	ending.Done()
	say("finished", b.Run.ID)
	return nil
}

func finishWith(ending *journal.Ending, run Run, reason string) Finish {
	return Finish{StopReason: reason, Epoch: ending.Log().Epoch(), LastSeq: ending.Log().Last(),
		LiveSeq: ending.LiveSeq(),
		Answers: []AnswerState{{ID: run.Responses[0], Status: reason}}, Also: ending.Write}
}

func word(seq int) string { return fmt.Sprintf("word-%d ", seq) }

// say writes one line with one system call.
func say(words ...string) { _, _ = os.Stdout.WriteString(strings.Join(words, " ") + "\n") }

// patience is how long a child may live: more than any machine needs. A child that is silent
// for so long is killed, which ends its output.
const patience = 2 * time.Minute

// startChild starts this binary as another process.
func startChild(t *testing.T, mode, path string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0], path)
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewScanner(pipe)
}

func TestLockedErrorNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	cmd, in, out := startChild(t, "hold", path)
	if !out.Scan() || out.Text() != "open" {
		t.Fatalf("the child said %q", out.Text())
	}
	_, err := Open(path, Options{LockTimeout: time.Millisecond})
	var locked *LockedError
	if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) || locked.PID != cmd.Process.Pid ||
		locked.Command != "store child" {
		t.Errorf("got %v, want a *LockedError that names process %d", err, cmd.Process.Pid)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestKilledHolderIsNotBlamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	cmd, _, out := startChild(t, "hold", path)
	if !out.Scan() {
		t.Fatal("the child said nothing")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if e := kv.LockedBy(path); e.PID != 0 || strings.Contains(e.Error(), "process 0") {
		t.Errorf("got %v", e)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if e := kv.LockedBy(path); e.PID != os.Getpid() {
		t.Errorf("got %v, want this process", e)
	}
}

// acknowledged is what a child said was on disk.
type acknowledged struct {
	texts    map[string]string // user message → text
	packets  map[string]int    // run → last seq
	finished map[string]bool
}

func (a *acknowledged) read(line string) {
	switch w := strings.Fields(line); w[0] {
	case "begun":
		a.texts[w[2]] = w[3]
		a.packets[w[1]] = 0
	case "packets":
		a.packets[w[1]], _ = strconv.Atoi(w[2]) // our own words
	case "finished":
		a.finished[w[1]] = true
	}
}

// TestKillLosesNothingAcknowledged kills a writing process at random moments
// and compares what it had said with what is there.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	all := &acknowledged{map[string]string{}, map[string]int{}, map[string]bool{}}
	for round := range 10 {
		cmd, _, out := startChild(t, "write", path)
		lines := 1 + rand.IntN(120)
		n := 0
		for ; out.Scan(); n++ {
			all.read(out.Text())
			if n == lines {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n < lines {
			t.Fatalf("round %d: the child said %d lines within %s, want %d", round, n, patience, lines)
		}
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("round %d: the child ended by itself: %v", round, err)
		}
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		records, err := journal.Open(t.Context(), s.DB(), journal.Options{Tick: -1})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		compareAcknowledged(t, s, records, all)
		recoverRuns(t, s, records, all)
		if err := records.Close(); err != nil {
			t.Fatal(err)
		}
		expectSound(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d messages, %d finished runs survived", len(all.texts), len(all.finished))
	if len(all.texts) < 10 || len(all.finished) == 0 {
		t.Error("the children wrote too little to compare")
	}
}

func compareAcknowledged(t *testing.T, s *Store, records *journal.Local, all *acknowledged) {
	t.Helper()
	owner, err := s.Users().ByName(t.Context(), OwnerName)
	if err != nil {
		t.Fatal(err)
	}
	p := owner.Principal(identity.Command)
	for id, text := range all.texts {
		if m, err := s.Messages().Get(t.Context(), p, id); err != nil || m.Text != text {
			t.Errorf("message %s is %q, %v, want %q", id, m.Text, err, text)
		}
	}
	for run, last := range all.packets {
		log, err := records.Open(t.Context(), run)
		if err != nil {
			t.Errorf("run %s: %v", run, err)
			continue
		}
		text, want := journal.Answers(log.Records(), 1)[0].Text, ""
		for seq := 1; seq <= 12 && len(want) < len(text); seq++ {
			want += word(seq)
		}
		if text != want || strings.Count(text, "word-") < last || log.Damage() != nil {
			t.Errorf("run %s says %q, want %q with at least %d words, %v", run, text, want, last, log.Damage())
		}
		r, err := s.Runs().Get(t.Context(), p, run)
		if err != nil || all.finished[run] && r.StopReason != StatusCompleted || r.Live() == log.Closed() {
			t.Errorf("run %s is %+v, %v; its journal has ended: %v", run, r, err, log.Closed())
		}
	}
}

// recoverRuns ends what the kill cut off, as the host does when it starts.
func recoverRuns(t *testing.T, s *Store, records *journal.Local, all *acknowledged) {
	t.Helper()
	runs, err := s.Runs().Unfinished(t.Context(), identity.ForHost("a test"))
	if err != nil {
		t.Fatal(err)
	}
	var live []string
	for _, run := range runs {
		live = append(live, run.ID)
	}
	slices.Sort(live)
	if unfinished := records.Unfinished(); !slices.Equal(unfinished, live) {
		t.Errorf("journals of %q are unfinished, and runs %q", unfinished, live)
	}
	for _, run := range runs {
		lease, err := records.Lease(t.Context(), run.ID, "recovery")
		if err != nil {
			t.Fatal(err)
		}
		ending := lease.Seal(true, journal.Closings(lease.Log(), 1)...)
		if err := s.Runs().Finish(t.Context(), run.ID, finishWith(ending, run, StatusInterrupted)); err != nil {
			t.Fatal(err)
		}
		ending.Done()
	}
	owner, err := s.Users().ByName(t.Context(), OwnerName)
	if err != nil {
		t.Fatal(err)
	}
	for run := range maps.Keys(all.packets) {
		if r, err := s.Runs().Get(t.Context(), owner.Principal(identity.Command), run); err != nil || r.Live() {
			t.Errorf("run %s is %+v, %v, want it ended", run, r, err)
		}
	}
}
