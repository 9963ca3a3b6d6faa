package turn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// stored is a data file as it stood when a crash could have come.
type stored struct {
	name string
	data []byte
}

// crashes keeps a copy of the data file before and after each transaction.
type crashes struct {
	path string
	on   atomic.Bool

	mu     sync.Mutex
	copies []stored
}

// stop is the store's failpoint.
func (c *crashes) stop(before bool) error {
	if !c.on.Load() {
		return nil
	}
	data, err := os.ReadFile(c.path)
	if err != nil {
		return nil // there is no file yet
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies = append(c.copies, stored{fmt.Sprintf("%d before=%v", len(c.copies), before), data})
	return nil
}

// writer is a tool that writes; each run of it is counted.
type writer struct{ ran *atomic.Int64 }

func (writer) Spec() tool.Spec {
	return tool.Spec{Name: "post", Title: "Post", Labels: []string{tool.LabelWrites, tool.LabelPrivateData}}
}

func (w writer) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: fmt.Sprintf("posted %d", w.ran.Add(1))}, nil
}

// fourStepsAsked is answered with fourSteps: a call that cannot be read, of which the host
// tells the model, one that reads, one that writes, and the answer.
var fourStepsAsked = Send{Text: "How is fuel counted?", Tools: []string{"internal_search", "post"}}

func fourSteps() []*llmtest.Reply {
	return []*llmtest.Reply{
		llmtest.Answer().Text("Let me see. <tool_call>{\"name\": \"internal_search\", \"arguments\": {\"queries\": " +
			"</tool_call>"),
		llmtest.Answer().ReasoningContent("Where is it?").Text("I look.").ToolCall("a", "internal_search", `{"queries":["fuel"]}`),
		llmtest.Answer().ReasoningContent("Now it can be posted.").ToolCall("b", "post", `{}`),
		llmtest.Answer().Text("Done [1]."),
	}
}

// TestAfterACrashAnywhereAnAnswerGoesOnWithAllItHad copies the data file before and
// after every transaction of an answer with four cycles, starts from each copy, and
// lets the answer go on. What the model is asked then is what it would have been
// asked, or, where a step or a call was under way, that with what is known of it:
// result texts, signatures, labels and the allow-list are there, and no write runs
// twice.
func TestAfterACrashAnywhereAnAnswerGoesOnWithAllItHad(t *testing.T) {
	f := newFixture(t)
	f.close()
	c := &crashes{path: f.path}
	f.stop = c.stop
	var ran atomic.Int64
	f.tools = func() []tool.Tool { return []tool.Tool{f.search, clockTool{}, writer{&ran}} }
	f.open()
	allowed := fourStepsAsked.Tools
	f.server.Add(fourSteps()...)
	c.on.Store(true)
	ack := f.send(fourStepsAsked)
	f.read(ack.Run)
	c.on.Store(false)
	whole := f.requested()
	labels := f.message(ack, 0).Labels
	if len(whole) != 4 || ran.Load() != 1 || !slices.Equal(labels, []string{tool.LabelPrivateData}) {
		t.Fatalf("%d requests, %d writes, labels %q", len(whole), ran.Load(), labels)
	}
	natives := signatures(f.message(ack, 0))
	if len(natives) != 2 || !strings.Contains(natives[1], "Now it can be posted.") {
		t.Fatalf("the provider wants to see %q again", natives)
	}
	f.close()
	c.mu.Lock()
	copies := c.copies
	c.mu.Unlock()
	if len(copies) < 6 {
		t.Fatalf("%d copies of the data file", len(copies))
	}
	for _, at := range copies {
		t.Run(at.name, func(t *testing.T) { goesOn(t, f, at, ack, whole, natives, allowed) })
	}
	f.open()
}

// signatures are what a provider wants to see again of the steps with calls.
func signatures(m Message) (natives []string) {
	for _, s := range m.Steps {
		if len(s.Calls) > 0 {
			natives = append(natives, string(s.Native))
		}
	}
	return natives
}

// goesOn starts from a copy and lets the answer go on.
func goesOn(
	t *testing.T, whole *fixture, at stored, ack Ack, asked [][]string, natives, allowed []string,
) {
	f := &fixture{t: t, server: whole.server, search: whole.search, path: filepath.Join(t.TempDir(), "bulkhead.db")}
	var ran atomic.Int64
	f.tools = func() []tool.Tool { return []tool.Tool{f.search, clockTool{}, writer{&ran}} }
	if err := os.WriteFile(f.path, at.data, 0o600); err != nil {
		t.Fatal(err)
	}
	f.open()
	f.restarted = true
	defer f.close()
	m, err := f.store.Messages().Get(t.Context(), f.owner, ack.MessageIDs[0])
	if err != nil { // the run had not begun: nobody has an ack of it
		return
	}
	f.read(ack.Run) // it ended, within the protocol
	if !slices.Equal(m.Allowed, allowed) {
		t.Errorf("the allow-list is %q", m.Allowed)
	}
	if damage := f.store.Check(t.Context()); len(damage) != 0 {
		t.Errorf("the store: %v", damage)
	}
	kept := signatures(f.message(ack, 0))
	if len(kept) > len(natives) || !slices.Equal(kept, natives[:len(kept)]) {
		t.Errorf("the provider sees %q again, and would have seen %q", kept, natives)
	}
	if m.Status == store.StatusCompleted {
		return
	}
	before := len(f.requested())
	f.server.Add(llmtest.Answer().Text("on"))
	later, err := f.Continue(t.Context(), f.owner, Continue{MessageID: ack.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(later.Run)
	if ran.Load() != 0 {
		t.Errorf("a write ran again")
	}
	asWouldHaveBeen(t, f.requested()[before], asked)
	if packets := f.drain(later.Run); packets[0].Obj.Type() != (packet.RunStarted{}).Type() {
		t.Errorf("the run begins with %s", packets[0].Obj.Type())
	}
}

// asWouldHaveBeen wants a request to be one of those of the whole answer, or, where a step
// or a call was under way, all but its end to be as it would have been.
func asWouldHaveBeen(t *testing.T, now []string, asked [][]string) {
	t.Helper()
	for _, would := range asked {
		if slices.Equal(now, would) {
			return
		}
	}
	last := asked[len(asked)-1]
	same := 0
	for same < min(len(now), len(last)) && now[same] == last[same] {
		same++
	}
	lost := same > 0 && same < len(now)
	for i, line := range now[same:] {
		switch {
		case strings.Contains(line, "The host stopped"): // of a call whose result is lost
		case strings.Contains(line, window.GoOn):
		case strings.HasPrefix(line, "assistant") && i == 0: // a part of a step
		case strings.HasPrefix(line, "tool {") && slices.Contains(last, line): // what is on offer
		default:
			lost = false
		}
	}
	if lost {
		return
	}
	t.Errorf("the model was asked with\n%s\nand would have been with\n%s", strings.Join(now, "\n"),
		strings.Join(last, "\n"))
}
