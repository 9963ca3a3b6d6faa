package turn

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// noteTool takes a text, which is shown as the model writes it.
type noteTool struct{}

func (noteTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "note", Title: "Note", StreamArgs: true, Labels: []string{tool.LabelWrites},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}
}

func (noteTool) Call(_ context.Context, in tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: "Noted."}, nil
}

// withNote lets the tools be the clock and the note.
func withNote(t *testing.T, names ...string) *fixture {
	f := newFixture(t, names...)
	f.cfg.Tools = func(context.Context, string) ([]tool.Tool, error) {
		return []tool.Tool{clockTool{}, noteTool{}},
			nil
	}
	return f
}

func TestArgumentsAreShownAsTheModelWritesThemAndReplayTheSame(t *testing.T) {
	for name, reply := range map[string]*llmtest.Reply{
		"native": llmtest.Answer().Text("I note it.").ToolCall("a", "note", `{"te`, `xt":"He said \"n`, `oon\" \ud83d`,
			`\ude00`, `"}`).Usage(5, 6),
		"text": llmtest.Answer().Text("I note it.", "<tool_call>\n<function=no", "te>\n<parameter=text>\nHe said \"n",
			"oon\" ", "😀", "\n</parameter>\n</function>\n</tool_call>").Usage(5, 6),
	} {
		f := withNote(t)
		f.server.Add(reply, llmtest.Answer().Text("Done."))
		ack := f.send(Send{Text: "note it"})
		packets := f.read(ack.Run) // checks the protocol, and that the store replays the same
		var deltas, between []string
		open := false
		for _, p := range packets {
			switch o := p.Obj.(type) {
			case packet.ToolStart:
				open = true
			case packet.ToolArgsDelta:
				deltas = append(deltas, o.Delta)
			case packet.ToolArgs:
				open = false
			}
			if open {
				between = append(between, p.Obj.Type())
			}
		}
		if strings.Join(deltas, "") != `He said "noon" 😀` || len(deltas) < 3 {
			t.Errorf("%s: pieces %q", name, deltas)
		}
		if !strings.HasPrefix(strings.Join(between, " "),
			"tool_start tool_args_delta tool_args_delta tool_args_delta") ||
			between[len(between)-1] != "top_level_branching" {
			t.Errorf("%s: between start and arguments: %v", name, between)
		}
		if args := find[packet.ToolArgs](packets); len(args) != 1 ||
			string(args[0].Arguments) != `{"text":"He said \"noon\" 😀"}` {
			t.Errorf("%s: arguments %s", name, args)
		}
		if m := f.message(ack, 0); m.Text != "I note it.\n\nDone." || len(m.Steps) != 2 || len(m.Steps[0].Calls) != 1 ||
			m.Steps[0].Results[0].Text != "Noted." {
			t.Errorf("%s: stored %+v", name, m)
		}
	}
}

func TestAStopInTheMiddleOfAnArgumentClosesItsBlock(t *testing.T) {
	f := withNote(t)
	f.server.Add(llmtest.Answer().ToolCall("a", "note", `{"text":"half`).Gate(make(chan struct{})))
	ack := f.send(Send{Text: "go"})
	f.waitFor(ack.Run, func(p packet.Packet) bool { _, ok := p.Obj.(packet.ToolArgsDelta); return ok })
	if err := f.Stop(t.Context(), f.owner, ack.Run, nil); err != nil {
		t.Fatal(err)
	}
	if ends := find[packet.SectionEnd](f.read(ack.Run)); len(ends) != 1 || ends[0].Outcome != packet.OutcomeCancelled {
		t.Errorf("got %+v", ends)
	}
	if m := f.message(ack, 0); m.Status != store.StatusUserCancelled || len(m.Steps) != 1 ||
		len(m.Steps[0].Calls) != 0 {
		t.Errorf("stored %+v", m)
	}
}

func TestAHeldCallIsShownWithItsArgumentsAndDenied(t *testing.T) {
	f := withNote(t, "one", "two")
	f.server.Answer(func(r llmtest.Request) *llmtest.Reply {
		if strings.Contains(string(r.Raw), "denied: comparing") {
			return llmtest.Answer().Text("It was held.")
		}
		return llmtest.Answer().ToolCall("a", "note", `{"text":"x`, `y"}`)
	})
	ack := f.send(Send{Text: "go", Models: []string{"one", "two"}})
	packets := f.read(ack.Run)
	ends := find[packet.SectionEnd](packets)
	if len(ends) != 2 || ends[0].Outcome != packet.OutcomeDenied || ends[1].Outcome != packet.OutcomeDenied ||
		len(find[packet.ToolArgsDelta](packets)) != 4 {
		t.Errorf("got %s", packettest.Dump(packets))
	}
}
