package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// keeper is a tool in Go that reaches memory and says what it changed.
type keeper struct{ store *store.Store }

func (keeper) Spec() tool.Spec {
	return tool.Spec{Name: "add_memory", Title: "Remember", Labels: []string{tool.LabelPrivateData, tool.LabelWrites},
		Reaches: []string{tool.ReachesMemory}}
}

func (k keeper) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	var args struct{ Text string }
	if err := json.Unmarshal(in.Arguments, &args); err != nil {
		return tool.Result{}, err
	}
	m, _, err := k.store.Memories().Add(ctx, identity.ForUser(in.User, "a tool call"), store.Memory{Text: args.Text})
	if err != nil {
		return tool.Result{}, err
	}
	in.Report.(tool.MemoryReporter).Memory("add", m.ID, m.Text)
	return tool.Result{Text: "Remembered."}, nil
}

// reader is a tool that reads files and does nothing else.
type reader struct{}

func (reader) Spec() tool.Spec {
	return tool.Spec{Name: "read_file", Cites: true, Reaches: []string{"context", tool.ReachesFiles},
		Labels: []string{tool.LabelPrivateData}}
}

func (reader) Call(_ context.Context, in tool.Invocation) (tool.Result, error) {
	for id, ref := range in.Context.Citations {
		if strings.HasPrefix(id, "f_") {
			return tool.Result{Text: "part", Documents: []tool.Document{{ID: id, Ref: ref, Title: "long.txt",
				Source: "file"}}}, nil
		}
	}
	return tool.Result{Text: "no file"}, nil
}

func withPersonalTools(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.cfg.Tools = func(context.Context, string) ([]tool.Tool, error) {
		return []tool.Tool{f.search, keeper{f.store}, reader{}}, nil
	}
	return f
}

func (f *fixture) attach(name, text string) store.File {
	f.t.Helper()
	file, err := f.store.Files().Add(f.t.Context(), f.owner,
		store.File{Name: name, MediaType: "text/csv", Bytes: int64(len(text))}, []byte(text))
	if err != nil {
		f.t.Fatal(err)
	}
	return file
}

// asked sends and returns what the model was asked last.
func (f *fixture) asked(in Send) (Ack, llmtest.Request) {
	f.t.Helper()
	ack := f.send(in)
	f.read(ack.Run)
	requests := f.server.Requests()
	return ack, requests[len(requests)-1]
}

func TestWhatIsRememberedReachesTheModelAndNoPrivateOne(t *testing.T) {
	f := withPersonalTools(t)
	f.server.Add(llmtest.Answer().ToolCall("x", "add_memory", `{"text":"I drink tea."}`),
		llmtest.Answer().Text("Noted."),
		llmtest.Answer().Text("Tea."), llmtest.Answer().Text("I do not know."), llmtest.Answer().Text("Still not."))
	ack := f.send(Send{Text: "Remember that I drink tea."})
	var changed packet.MemoryChanged
	for _, p := range f.read(ack.Run) {
		if m, ok := p.Obj.(packet.MemoryChanged); ok {
			changed = m
		}
	}
	if changed.Operation != "add" || changed.Text != "I drink tea." || changed.MemoryID == "" || changed.CallID == "" {
		t.Errorf("memory_changed is %+v", changed)
	}
	_, request := f.asked(Send{Text: "What do I drink?"})
	system := request.Body.Messages[0].Content
	if !strings.Contains(system, llm.RememberedHeading+"\n- I drink tea.\n") || !request.Offers("add_memory") {
		t.Errorf("the model got %q", system)
	}
	private, request := f.asked(Send{Text: "What do I drink?", Private: true})
	if strings.Contains(string(request.Raw), "tea") || request.Offers("add_memory") ||
		!request.Offers("internal_search") {
		t.Errorf("a private conversation got %s", request.Raw)
	}
	// Later messages and other answers of it stay private, whatever they say.
	if _, request = f.asked(Send{Text: "And now?", SessionID: private.SessionID}); strings.Contains(string(request.Raw),
		"tea") || request.Offers("add_memory") {
		t.Errorf("its next message got %s", request.Raw)
	}
	f.server.Add(llmtest.Answer().Text("No."))
	again, err := f.Regenerate(t.Context(), f.owner, Regenerate{MessageID: private.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(again.Run)
	requests := f.server.Requests()
	if last := requests[len(requests)-1]; strings.Contains(string(last.Raw), "tea") || last.Offers("add_memory") {
		t.Errorf("another answer got %s", last.Raw)
	}
	_, err = f.Send(t.Context(), f.owner, Send{Text: "x", Private: true, ForcedTool: "add_memory"})
	var fault *Error
	if !errors.As(err, &fault) || fault.Code != CodeUnknownTool {
		t.Errorf("a forced tool: %v", err)
	}
}

func TestAttachedFilesStandBeforeTheModelAndStayOnTheirBranch(t *testing.T) {
	f := withPersonalTools(t)
	f.server.Answer(func(llmtest.Request) *llmtest.Reply { return llmtest.Answer().Text("Twelve [1].") })
	first, request := f.asked(Send{Text: "Hello."})
	if request.Offers("read_file") {
		t.Error("a tool that only reads files is offered where there are none")
	}
	csv := f.attach("depths.csv", "name;depth\nÅlesund;12\n")
	sent, request := f.asked(Send{Text: "How deep?", SessionID: first.SessionID, Files: []string{csv.ID}})
	last := request.Last().Content
	if !strings.HasPrefix(last, "How deep?\n\n=== attached file \"depths.csv\", id "+csv.ID+
		", ref 1, text/csv, 23 bytes, 22 characters, 2 lines, whole ===\nname;depth\n") ||
		!request.Offers("read_file") || !strings.Contains(request.Body.Messages[0].Content,
		"Files that the person attached") {
		t.Errorf("the model got %q", last)
	}
	if c := f.message(sent, 0).Citations; len(c) != 1 || c[0].Document.ID != csv.ID || c[0].Document.Source != "file" ||
		c[0].Document.Snippet != "name;depth Ålesund;12" {
		t.Errorf("citations are %+v", c)
	}
	// The next message of the branch has it, another branch has not.
	if _, request = f.asked(Send{Text: "And wide?", SessionID: first.SessionID}); !strings.Contains(string(request.Raw),
		"Ålesund;12") {
		t.Error("the branch lost its file")
	}
	if _, request = f.asked(Send{Text: "Else?", SessionID: first.SessionID,
		ParentMessageID: first.MessageIDs[0]}); strings.Contains(string(request.Raw), "Ålesund") ||
		request.Offers("read_file") {
		t.Error("another branch has the file")
	}
	if err := f.store.Files().Delete(t.Context(), f.owner, csv.ID); err != nil {
		t.Fatal(err)
	}
	_, request = f.asked(Send{Text: "Still?", SessionID: first.SessionID, ParentMessageID: sent.MessageIDs[0]})
	if strings.Contains(string(request.Raw), "Ålesund") || !strings.Contains(string(request.Raw), "was deleted") {
		t.Errorf("after deletion the model got %s", request.Raw)
	}
}

func TestALongFileIsListedAndReadByATool(t *testing.T) {
	f := withPersonalTools(t)
	f.server.Add(llmtest.Answer().ToolCall("x", "read_file", `{}`), llmtest.Answer().Text("Read [1]."))
	long := f.attach("long.txt", strings.Repeat("one line of many\n", 20_000)+"the end")
	ack, request := f.asked(Send{Text: "What stands there?", Files: []string{long.ID}})
	content := ""
	for _, m := range request.Body.Messages {
		if m.Role == "user" {
			content = m.Content
		}
	}
	if len(content) > 2000 || !strings.Contains(content, "too long to stand here") ||
		!strings.Contains(content, "one line of many\none line") || strings.Contains(content, "the end") {
		t.Errorf("the model got %d bytes: %.300s", len(content), content)
	}
	if c := f.message(ack, 0).Citations; len(c) != 1 || c[0].Document.ID != long.ID || c[0].Ref != 1 {
		t.Errorf("citations are %+v", c)
	}
}

func TestFilesThatAreNotThereAreRefusedBeforeAnythingIsStored(t *testing.T) {
	f := withPersonalTools(t)
	file := f.attach("a.txt", "a")
	other, err := f.store.Users().Create(t.Context(), anOperator, "eve", false)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p     identity.Principal
		files []string
		code  fault.Code
	}{
		"unknown":   {f.owner, []string{"f_0"}, CodeUnknownFile},
		"another's": {other.Principal(identity.Command), []string{file.ID}, CodeUnknownFile},
		"twice":     {f.owner, []string{file.ID, file.ID}, CodeInvalid},
		"too many":  {f.owner, make([]string, store.MaxMessageFiles+1), CodeInvalid},
	} {
		_, err := f.Send(t.Context(), c.p, Send{Text: "x", Files: c.files})
		var fault *Error
		if !errors.As(err, &fault) || fault.Code != c.code || fault.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := f.store.Sessions().List(t.Context(), f.owner, 0, ""); err != nil || len(list) != 0 {
		t.Errorf("stored %+v, %v", list, err)
	}
}
