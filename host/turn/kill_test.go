package turn

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// The environment of a process that is killed: its data folder and the address of the
// model. killRounds is how often the test kills one, which is more by hand.
const (
	killedDir   = "BULKHEAD_TEST_KILLED_DIR"
	killedModel = "BULKHEAD_TEST_KILLED_MODEL"
	killRounds  = "BULKHEAD_TEST_KILLS"
)

// poster is a tool that writes: a line in a file for each call.
type poster struct{ path string }

func (poster) Spec() tool.Spec { return writer{}.Spec() }

func (p poster) Call(context.Context, tool.Invocation) (tool.Result, error) {
	f, err := os.OpenFile(p.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return tool.Result{}, err
	}
	if _, err := f.WriteString("posted\n"); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: "posted 1"}, f.Close()
}

// TestTheProcessThatIsKilled is the other process of
// TestKilledAtRandomAnAnswerGoesOn: it asks and works until it is killed.
func TestTheProcessThatIsKilled(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		t.Skip("it runs in a process of its own")
	}
	f := &fixture{t: t, url: os.Getenv(killedModel), search: newSearch(), path: filepath.Join(dir, "bulkhead.db")}
	f.tools = func() []tool.Tool { return []tool.Tool{f.search, clockTool{}, poster{filepath.Join(dir, "posts")}} }
	f.open()
	ack := f.send(fourStepsAsked)
	fmt.Println("asked", ack.Run, ack.MessageIDs[0])
	f.wait(ack.Run)
	fmt.Println("done")
	select {} // until it is killed
}

// TestKilledAtRandomAnAnswerGoesOn kills a process at some moment of an answer, starts from
// what it left, and lets the answer go on: the model is asked as it would have been, and
// what writes has run once at most.
func TestKilledAtRandomAnAnswerGoesOn(t *testing.T) {
	f := newFixture(t)
	f.tools = func() []tool.Tool {
		return []tool.Tool{f.search, clockTool{}, poster{filepath.Join(t.TempDir(), "posts")}}
	}
	f.server.Add(fourSteps()...)
	began := time.Now()
	f.read(f.send(fourStepsAsked).Run)
	whole := withoutIDs(f.requested())
	most := 3 * time.Since(began) / 2
	rounds := 8
	if n, err := strconv.Atoi(os.Getenv(killRounds)); err == nil {
		rounds = n
	}
	ends := map[string]int{}
	for range rounds {
		ends[killed(t, rand.N(most), whole)]++
	}
	t.Logf("killed within %s of the question; then the answers were: %v", most, ends)
}

// killed kills a process once, that long after its question, and returns how the answer
// had ended.
func killed(t *testing.T, after time.Duration, whole [][]string) string {
	server, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }() // the client was killed
	var asked atomic.Int64
	var restarted atomic.Bool
	server.Answer(func(llmtest.Request) *llmtest.Reply {
		if n := int(asked.Add(1)) - 1; n < len(fourSteps()) && !restarted.Load() {
			return fourSteps()[n]
		}
		return llmtest.Answer().Text("on")
	})
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestTheProcessThatIsKilled$")
	cmd.Env = append(os.Environ(), killedDir+"="+dir, killedModel+"="+server.URL())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	var run, answer string
	if n, _ := fmt.Sscanf(lines.Text(), "asked %s %s", &run, &answer); n != 2 {
		t.Fatalf("the process said %q", lines.Text())
	}
	time.Sleep(after)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	f := &fixture{t: t, server: server, search: newSearch(), path: filepath.Join(dir, "bulkhead.db")}
	posts := filepath.Join(dir, "posts")
	f.tools = func() []tool.Tool { return []tool.Tool{f.search, clockTool{}, poster{posts}} }
	f.open()
	defer f.close()
	f.restarted = true
	if damage := f.store.Check(t.Context()); len(damage) != 0 {
		t.Errorf("the store: %v", damage)
	}
	m, err := f.store.Messages().Get(t.Context(), f.owner, answer)
	if err != nil {
		t.Fatalf("the question was acknowledged and is gone: %v", err)
	}
	if m.Status == store.StatusCompleted {
		return m.Status
	}
	had := posted(t, posts)
	restarted.Store(true)
	before := len(server.Requests())
	later, err := f.Continue(t.Context(), f.owner, Continue{MessageID: answer})
	if err != nil {
		t.Fatal(err)
	}
	f.read(later.Run)
	if now := posted(t, posts); now != had || now > 1 {
		t.Errorf("it wrote %d times before, and %d after", had, now)
	}
	asWouldHaveBeen(t, withoutIDs(f.requested())[before], whole)
	return m.Status
}

// posted is how often poster has run.
func posted(t *testing.T, path string) int {
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

var anID = regexp.MustCompile(`call_[0-9A-Z]+_`)

// withoutIDs are requests without what is of one run only.
func withoutIDs(requests [][]string) [][]string {
	for _, lines := range requests {
		for i := range lines {
			lines[i] = anID.ReplaceAllString(lines[i], "call_")
		}
	}
	return requests
}
