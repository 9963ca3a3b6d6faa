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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

// runChild is the main function of this binary as another process.
func runChild(mode, path string) int {
	s, err := Open(path, Options{Holder: "store child", CommitInterval: time.Millisecond})
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

// writeForever asks, appends and finishes, and says so after each
// acknowledgement, until it is killed.
func writeForever(s *Store) {
	ctx := context.Background()
	owner, _, err := s.EnsureOwner(ctx)
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			for turn := 0; ; turn++ {
				text := fmt.Sprintf("question-%d-%d-%d", os.Getpid(), worker, turn)
				b, err := s.BeginRun(ctx, owner.Principal(identity.Command), BeginRun{Text: text, Models: []string{"m"}})
				if err != nil {
					panic(err)
				}
				say("begun", b.Run.ID, b.UserMessage.ID, text)
				for seq := int64(1); seq <= 12; seq += 3 {
					if err := s.AppendPackets(ctx, b.Run.ID, 1, packetsFrom(b.Run.ID, seq, 3)); err != nil {
						panic(err)
					}
					say("packets", b.Run.ID, fmt.Sprint(seq+2))
				}
				if err := s.FinishRun(ctx, b.Run.ID, Finish{StopReason: StatusCompleted, LastSeq: 12}); err != nil {
					panic(err)
				}
				say("finished", b.Run.ID)
			}
		})
	}
	wg.Wait()
}

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
	if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) || locked.PID != cmd.Process.Pid || locked.Command != "store child" {
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
	if e := lockedBy(path); e.PID != 0 || strings.Contains(e.Error(), "process 0") {
		t.Errorf("got %v", e)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if e := lockedBy(path); e.PID != os.Getpid() {
		t.Errorf("got %v, want this process", e)
	}
}

// acknowledged is what a child said was on disk.
type acknowledged struct {
	texts    map[string]string // user message → text
	packets  map[string]string // run → last seq
	finished map[string]bool
}

func (a *acknowledged) read(line string) {
	switch w := strings.Fields(line); w[0] {
	case "begun":
		a.texts[w[2]] = w[3]
		a.packets[w[1]] = "0"
	case "packets":
		a.packets[w[1]] = w[2]
	case "finished":
		a.finished[w[1]] = true
	}
}

// TestKillLosesNothingAcknowledged kills a writing process at random moments
// and compares what it had said with what is there.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	all := &acknowledged{map[string]string{}, map[string]string{}, map[string]bool{}}
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
		compareAcknowledged(t, s, all)
		recoverRuns(t, s, all)
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

func compareAcknowledged(t *testing.T, s *Store, all *acknowledged) {
	t.Helper()
	owner, err := s.UserByName(t.Context(), OwnerName)
	if err != nil {
		t.Fatal(err)
	}
	for id, text := range all.texts {
		if m, err := s.Message(t.Context(), owner.Principal(identity.Command), id); err != nil || m.Text != text {
			t.Errorf("message %s is %q, %v, want %q", id, m.Text, err, text)
		}
	}
	for run, last := range all.packets {
		_, entries, err := s.Packets(t.Context(), owner.Principal(identity.Command), run, 0, 0)
		var want int
		if _, err := fmt.Sscan(last, &want); err != nil {
			t.Fatal(err)
		}
		if err != nil || len(entries) < want {
			t.Errorf("run %s has %d packets, %v, want %d", run, len(entries), err, want)
		}
		for i, e := range entries {
			if e.Seq != int64(i+1) || string(e.JSON) != string(packetJSON(run, e.Seq)) {
				t.Errorf("run %s, packet %d: %d %s", run, i+1, e.Seq, e.JSON)
			}
		}
		if r, err := s.Run(t.Context(), owner.Principal(identity.Command), run); err != nil || all.finished[run] && r.StopReason != StatusCompleted {
			t.Errorf("run %s is %+v, %v", run, r, err)
		}
	}
}

// recoverRuns ends what the kill cut off, as the host does when it starts.
func recoverRuns(t *testing.T, s *Store, all *acknowledged) {
	t.Helper()
	runs, err := s.UnfinishedRuns(t.Context(), identity.ForHost("a test"))
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		p := identity.ForUser(run.Owner, "a test")
		_, entries, err := s.Packets(t.Context(), p, run.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ReplaceRun(t.Context(), run.ID, run.Epoch+1, entries, Finish{StopReason: StatusInterrupted}); err != nil {
			t.Fatal(err)
		}
	}
	for run := range maps.Keys(all.packets) {
		owner, err := s.UserByName(t.Context(), OwnerName)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Run(t.Context(), owner.Principal(identity.Command), run); err != nil || r.Live() {
			t.Errorf("run %s is %+v, %v, want it ended", run, r, err)
		}
	}
}
