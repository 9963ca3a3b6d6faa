package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// unwilling is a host whose only model follows no instructions.
type unwilling struct{}

func (unwilling) Complete(context.Context, hostfunc.Question) (hostfunc.Answer, error) {
	return hostfunc.Answer{}, gate.Errorf(gate.Unavailable, "The built-in model follows no instructions.")
}

func (unwilling) Local([]string) bool { return true }

func withMemory(t *testing.T) *scene {
	t.Helper()
	s := open(t, func(s *scene) { s.models = unwilling{} })
	if err := s.install(t, map[string][]byte{"memory.wasm": built.Memory}); err != nil {
		t.Fatal(err)
	}
	return s
}

// conversation begins a run and returns what makes a call part of it.
func (s *scene) conversation(t *testing.T, in store.BeginRun) func(*tool.Invocation) {
	t.Helper()
	in.Text, in.Models = "hello", []string{"m"}
	b, err := s.store.Runs().Begin(t.Context(), s.owner, in)
	if err != nil {
		t.Fatal(err)
	}
	err = s.store.Runs().Finish(t.Context(), b.Run.ID, store.Finish{StopReason: store.StatusCompleted, Epoch: 1,
		Answers: []store.AnswerState{{ID: b.Responses[0].ID, Status: store.StatusCompleted}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(i *tool.Invocation) { i.Run, i.Session = b.Run.ID, b.Session.ID }
}

func TestMemoryIsKeptForItsPersonThroughTheSandbox(t *testing.T) {
	s := withMemory(t)
	shown := &watcher{}
	seen := func(in *tool.Invocation) { in.Report = shown }
	r := s.call(t, "add_memory", `{"text":"My favourite tea is Assam."}`, seen, s.conversation(t, store.BeginRun{}))
	if r.Failure != nil || !strings.HasPrefix(r.Text, "Remembered: My favourite tea is Assam.") {
		t.Fatalf("%+v", r)
	}
	s.call(t, "add_memory", `{"text":"My favourite tea is Ceylon."}`, seen)
	s.call(t, "add_memory", `{"text":"The user's favourite tea is Ceylon"}`, seen)
	list, err := s.store.Memories().List(t.Context(), s.owner)
	if err != nil || len(list) != 1 || list[0].Text != "My favourite tea is Ceylon." || list[0].Plugin != "memory" {
		t.Fatalf("%+v, %v", list, err)
	}
	r = s.call(t, "delete_memory", fmt.Sprintf(`{"id":%q}`, list[0].ID), seen)
	if r.Failure != nil || len(r.HostCalls) != 1 || r.HostCalls[0].Capability != "memory" ||
		r.HostCalls[0].Summary != "delete a memory" {
		t.Errorf("%+v", r)
	}
	want := []string{"memory add My favourite tea is Assam.", "memory update My favourite tea is Ceylon.",
		"memory delete My favourite tea is Ceylon."}
	if !slices.Equal(shown.shown, want) || !slices.Equal(s.changes, []string{"created", "updated", "removed"}) {
		t.Errorf("shown %q, told %q", shown.shown, s.changes)
	}
}

func TestMemoryToolsSayWhatTheyTouch(t *testing.T) {
	s := withMemory(t)
	spec := s.tool(t, "add_memory").Spec()
	if !reflect.DeepEqual(spec.Labels, []string{"private_data", "writes"}) ||
		!slices.Contains(spec.Reaches, tool.ReachesMemory) {
		t.Errorf("%+v", spec)
	}
	readOnly := capability.Grant{Capability: capability.Memory, Mode: capability.Allow,
		Params: json.RawMessage(`{"access":["read"]}`)}
	if err := s.manager.SetGrant(t.Context(), anOperator, "memory", readOnly); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "add_memory", `{"text":"x"}`)
	if r.Failure == nil || !strings.Contains(r.Text, "without write") {
		t.Errorf("%+v", r)
	}
	if r = s.call(t, "list_memories", `{}`); r.Failure != nil {
		t.Errorf("%+v", r)
	}
}

func TestNothingIsRememberedInAPrivateConversation(t *testing.T) {
	s := withMemory(t)
	s.call(t, "add_memory", `{"text":"I drink tea."}`)
	private := s.conversation(t, store.BeginRun{Private: true})
	for name, arguments := range map[string]string{"add_memory": `{"text":"I drink coffee."}`, "list_memories": `{}`} {
		r := s.call(t, name, arguments, private)
		if r.Failure == nil || !strings.Contains(r.Text, "private") || strings.Contains(r.Text, "tea") ||
			r.HostCalls[0].Decision != "deny" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if list, _ := s.store.Memories().List(t.Context(), s.owner); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

func TestNobodySeesAnothersMemories(t *testing.T) {
	s := withMemory(t)
	s.call(t, "add_memory", `{"text":"I drink tea."}`)
	mine, _ := s.store.Memories().List(t.Context(), s.owner)
	ada, err := s.store.Users().Create(t.Context(), anOperator, "ada", false)
	if err != nil {
		t.Fatal(err)
	}
	as := func(in *tool.Invocation) { in.User = ada.ID }
	if r := s.call(t, "list_memories", `{}`, as); r.Text != "Nothing is remembered about the person." {
		t.Errorf("%s", r.Text)
	}
	for name, arguments := range map[string]string{"update_memory": `{"id":%q,"text":"x"}`,
		"delete_memory": `{"id":%q}`} {
		if r := s.call(t, name, fmt.Sprintf(arguments, mine[0].ID), as); r.Failure == nil ||
			!strings.Contains(r.Text, "no memory with that id") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func (s *scene) attach(t *testing.T, name, text string) store.File {
	t.Helper()
	f, err := s.store.Files().Add(t.Context(), s.owner, store.File{Name: name, Bytes: int64(len(text))}, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFileIsReadInItsConversationOnly(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"files.wasm": built.Files}); err != nil {
		t.Fatal(err)
	}
	big := s.attach(t, "log.txt", strings.Repeat("a line of the log\n", 5000)+"the very end")
	other := s.attach(t, "other.txt", "secret")
	here := s.conversation(t, store.BeginRun{Files: []string{big.ID}})
	s.conversation(t, store.BeginRun{Files: []string{other.ID}})

	r := s.call(t, "read_file", `{"file":"log.txt","offset":89900}`, here)
	if r.Failure != nil || !strings.Contains(r.Text, "the very end") || len(r.Documents) != 1 ||
		r.Documents[0].ID != big.ID || r.Documents[0].Ref != 101 || r.Documents[0].Source != "file" {
		t.Fatalf("%+v", r)
	}
	if r.HostCalls[1].Summary != "read file "+big.ID {
		t.Errorf("%+v", r.HostCalls)
	}
	if r = s.call(t, "read_file", fmt.Sprintf(`{"file":%q}`, other.ID), here); r.Failure == nil ||
		strings.Contains(r.Text, "secret") || !strings.Contains(r.Text, "log.txt") {
		t.Errorf("a file of another conversation: %+v", r)
	}
	if r = s.call(t, "read_file", `{"file":"log.txt"}`); r.Failure == nil ||
		!strings.Contains(r.Text, "no conversation") {
		t.Errorf("without a conversation: %+v", r)
	}
	if err := s.store.Files().Delete(t.Context(), s.owner, big.ID); err != nil {
		t.Fatal(err)
	}
	if r = s.call(t, "read_file", `{"file":"log.txt"}`, here); r.Failure == nil ||
		!strings.Contains(r.Text, "No file is attached") {
		t.Errorf("a deleted file: %+v", r)
	}
	if spec := s.tool(t, "read_file").Spec(); !reflect.DeepEqual(spec.Labels, []string{"private_data"}) || !spec.Cites {
		t.Errorf("%+v", spec)
	}
}

func TestAFileOfAnotherBranchIsOutOfReach(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"files.wasm": built.Files}); err != nil {
		t.Fatal(err)
	}
	left, right := s.attach(t, "left.txt", "left"), s.attach(t, "right.txt", "right")
	first := s.conversation(t, store.BeginRun{})
	var in tool.Invocation
	first(&in)
	run, err := s.store.Runs().Get(t.Context(), s.owner, in.Run)
	if err != nil {
		t.Fatal(err)
	}
	onLeft := s.conversation(t, store.BeginRun{SessionID: in.Session, Parent: run.Responses[0],
		Files: []string{left.ID}})
	onRight := s.conversation(t, store.BeginRun{SessionID: in.Session, Parent: run.Responses[0],
		Files: []string{right.ID}})
	for _, c := range []struct {
		at   func(*tool.Invocation)
		has  string
		hasn string
	}{{onLeft, "left", "right"}, {onRight, "right", "left"}} {
		if r := s.call(t, "read_file", fmt.Sprintf(`{"file":"%s.txt"}`, c.has), c.at); r.Failure != nil ||
			!strings.Contains(r.Text, c.has) {
			t.Errorf("%+v", r)
		}
		if r := s.call(t, "read_file", fmt.Sprintf(`{"file":"%s.txt"}`, c.hasn), c.at); r.Failure == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestAPictureIsNamedAsOneWhereFilesAreRead(t *testing.T) {
	s := open(t)
	if err := s.install(t, map[string][]byte{"files.wasm": built.Files}); err != nil {
		t.Fatal(err)
	}
	boat, err := s.store.Files().AddPicture(t.Context(), s.owner,
		store.File{Name: "boat.png", MediaType: "image/png", Width: 6, Height: 4}, []byte("\x89PNG"))
	if err != nil {
		t.Fatal(err)
	}
	here := s.conversation(t, store.BeginRun{Files: []string{boat.ID}})
	if r := s.call(t, "read_file", `{"file":"boat.png"}`, here); r.Failure == nil ||
		!strings.Contains(r.Text, "boat.png is a picture (image/png") {
		t.Errorf("%+v", r)
	}
	if r := s.call(t, "read_file", `{"file":"none.txt"}`, here); r.Failure == nil ||
		!strings.Contains(r.Text, boat.ID) {
		t.Errorf("%+v", r)
	}
}
