//go:build unix

package turn

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// alone runs the test that calls it in a process of its own and tells whether this is
// that process: the limit of fullDisk would meet the files of go test too.
func alone(t *testing.T) bool {
	t.Helper()
	const key = "BULKHEAD_TEST_ALONE"
	if os.Getenv(key) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$",
		"-test.timeout="+(2*patience).String())
	cmd.Env = append(os.Environ(), key+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// fullDisk lets this process write no file beyond the data file's size of now,
// until the returned function is called.
func (f *fixture) fullDisk() (free func()) {
	f.t.Helper()
	info, err := os.Stat(f.path)
	if err != nil {
		f.t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // writes then fail with an error
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		f.t.Fatal(err)
	}
	full := before
	full.Cur = uint64(info.Size())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		f.t.Fatal(err)
	}
	free = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			f.t.Error(err)
		}
	}
	f.t.Cleanup(free)
	return free
}

// answerOnAFullDisk begins a run whose answer the disk does not take, and waits
// until the person is told.
func (f *fixture) answerOnAFullDisk(text string) (ack Ack, free func()) {
	f.t.Helper()
	gate := make(chan struct{})
	f.server.Add(llmtest.Answer().Text("begin ").Gate(gate).Text(text))
	ack = f.send(Send{Text: "go"})
	f.waitFor(ack.Run, isDelta)
	free = f.fullDisk()
	close(gate)
	f.waitFor(ack.Run, func(p packet.Packet) bool {
		n, ok := p.Obj.(packet.Notice)
		return ok && n.Code == packet.CodeNotSaved
	})
	return ack, free
}

func TestAnAnswerOutlivesAFullDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	f := newFixture(t)
	failed, again := make(chan struct{}), make(chan time.Time)
	f.cfg.After = func(time.Duration) <-chan time.Time {
		failed <- struct{}{}
		return again
	}
	fails := func() {
		t.Helper()
		select {
		case <-failed:
		case <-time.After(patience):
			t.Fatal("nothing that was to be saved has failed")
		}
	}
	text := strings.Repeat("many words ", 100_000)
	ack, free := f.answerOnAFullDisk(text)
	fails()
	again <- time.Time{}
	fails() // once more for nothing
	_, err := f.Send(t.Context(), f.owner, Send{SessionID: ack.SessionID, Text: "more"})
	wantCode(t, err, CodeBusy)
	free()
	again <- time.Time{}
	f.read(ack.Run)
	if m := f.message(ack, 0); m.Text != "begin "+text || m.Status != store.StatusCompleted {
		t.Errorf("got %d bytes, %s", len(m.Text), m.Status)
	}
	f.server.Add(llmtest.Answer().Text("on"))
	f.again(ack, "go on")
}

func TestCloseLeavesWhatTheDiskDoesNotTakeToTheNextStart(t *testing.T) {
	if !alone(t) {
		return
	}
	f := newFixture(t)
	f.cfg.After = func(time.Duration) <-chan time.Time { return nil }
	ack, free := f.answerOnAFullDisk(strings.Repeat("many words ", 100_000))
	cursor, err := f.Open(t.Context(), f.owner, ack.Run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Service.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for {
		entries, err := cursor.Next(t.Context())
		if err != nil {
			break // io.EOF, as the log was closed
		}
		for _, e := range entries {
			if _, stop := e.Packet.Obj.(packet.Stop); stop && e.Packet.Placement.ModelIndex == nil {
				t.Error("the run's stop went out, and its outcome is not on disk")
			}
		}
	}
	f.close()
	free()
	f.open()
	packets := f.read(ack.Run)
	if stops := find[packet.Stop](packets); stops[len(stops)-1].Reason != packet.StopInterrupted {
		t.Errorf("got:\n%s", packettest.Dump(packets))
	}
}

func TestAFullDiskIsNamedWhenAMessageIsNotTaken(t *testing.T) {
	if !alone(t) {
		return
	}
	f := newFixture(t)
	free := f.fullDisk()
	_, err := f.Send(t.Context(), f.owner, Send{Text: strings.Repeat("many words ", 20_000)})
	wantCode(t, err, CodeDiskFull)
	free()
	f.server.Add(llmtest.Answer().Text("yes"))
	f.send(Send{Text: "again"})
}
