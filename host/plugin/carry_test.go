package plugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func met(labels ...string) func(*tool.Invocation) {
	return func(in *tool.Invocation) { in.Met = labels }
}

// has reports whether a tool has a label for a user now.
func (s *scene) has(t *testing.T, user, name, label string) bool {
	t.Helper()
	tools, err := s.manager.Tools(t.Context(), user, ownName)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Spec().Name == name {
			return slices.Contains(tl.Spec().Labels, label)
		}
	}
	t.Fatalf("there is no tool %q", name)
	return false
}

// TestWhatThePathMetComesBackWithAKeptFile writes by a tool of private data, in a
// conversation that has read what strangers wrote.
func TestWhatThePathMetComesBackWithAKeptFile(t *testing.T) {
	s := withKept(t)
	write := func(path string, change ...func(*tool.Invocation)) {
		t.Helper()
		if r := s.call(t, "write", fmt.Sprintf(`{"path":%q,"text":"x"}`, path), change...); r.Failure != nil {
			t.Fatal(r.Text)
		}
	}
	write("/workspace/a")
	if s.has(t, s.owner.UserID(), "read", tool.LabelUntrustedContent) {
		t.Fatal("nobody has read what strangers wrote yet")
	}
	if r := s.call(t, "read", `{"path":"/workspace/a"}`, met(tool.LabelUntrustedContent)); r.Failure != nil {
		t.Fatal(r.Text)
	}
	if s.has(t, s.owner.UserID(), "read", tool.LabelUntrustedContent) {
		t.Error("a call that wrote nothing has left a label")
	}
	write("/workspace/b", met(tool.LabelUntrustedContent))
	s.start(t)
	if !s.has(t, s.owner.UserID(), "read", tool.LabelUntrustedContent) {
		t.Error("the label of what the path had met is lost")
	}
	if s.has(t, "other", "read", tool.LabelUntrustedContent) || s.has(t, s.owner.UserID(), "read", tool.LabelEgress) {
		t.Error("a label is where it does not belong")
	}
}

// TestALabelThatAGrantBringsWithinATurnIsKept has a turn that began before its plugin was
// granted to read in addresses.
func TestALabelThatAGrantBringsWithinATurnIsKept(t *testing.T) {
	s := open(t)
	manifest := strings.Replace(guesttest.ProbeManifest, `"emit":{}`,
		`"emit":{},"http":{"allow":[{"host":"*","methods":["GET"]}]}`, 1)
	if err := s.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe, manifest)}); err != nil {
		t.Fatal(err)
	}
	set := func(mode capability.Mode) {
		t.Helper()
		web := capability.Grant{Capability: capability.HTTP, Mode: mode}
		if err := s.manager.SetGrant(t.Context(), anOperator, "probe", web); err != nil {
			t.Fatal(err)
		}
	}
	set(capability.Deny)
	early := s.tool(t, "put")
	if slices.Contains(early.Spec().Labels, tool.LabelUntrustedContent) {
		t.Fatal("the turn began with the label")
	}
	set(capability.Allow)
	r, err := early.Call(t.Context(), tool.Invocation{CallID: "c", User: s.owner.UserID(),
		Arguments: []byte(`{"key":"a","value":"v"}`), Report: &watcher{}})
	if err != nil || r.Failure != nil {
		t.Fatalf("%+v, %v", r.Failure, err)
	}
	set(capability.Deny)
	if !s.has(t, s.owner.UserID(), "get", tool.LabelUntrustedContent) {
		t.Error("the label of the moment is lost")
	}
}

// TestValuesOfKVBringTheirLabelsBack has them come back to their user's calls until the last
// value is deleted.
func TestValuesOfKVBringTheirLabelsBack(t *testing.T) {
	s := withProbe(t)
	do := func(name, arguments string, change ...func(*tool.Invocation)) {
		t.Helper()
		if r := s.call(t, name, arguments, change...); r.Failure != nil {
			t.Fatal(r.Text)
		}
	}
	private := func(user string) bool { return s.has(t, user, "get", tool.LabelPrivateData) }
	do("put", `{"key":"a","value":"v"}`)
	if private(s.owner.UserID()) {
		t.Fatal("nothing private was met yet")
	}
	do("put", `{"key":"b","value":"v"}`, met(tool.LabelPrivateData))
	s.start(t)
	if !private(s.owner.UserID()) || private("other") {
		t.Errorf("private for its user: %t, for another: %t", private(s.owner.UserID()), private("other"))
	}
	do("put", `{"key":"c","value":"v"}`, user("other"), met(tool.LabelPrivateData))
	do("delete", `{"key":"a"}`)
	if !private(s.owner.UserID()) {
		t.Error("one of two values is left, and the label is gone")
	}
	do("delete", `{"key":"b"}`)
	if private(s.owner.UserID()) || !private("other") {
		t.Error("the labels of nothing are left, or those of another user's value are gone")
	}
	if err := s.manager.ForgetUser(t.Context(), anOperator, "other"); err != nil {
		t.Fatal(err)
	}
	if private("other") {
		t.Error("a label of a user who was removed is left")
	}
}

// TestWhatIsRememberedOfStrangersSaysSo adds a memory after what strangers wrote was read. It
// is so until the person writes the text anew.
func TestWhatIsRememberedOfStrangersSaysSo(t *testing.T) {
	s := withMemory(t)
	strange := func() bool { return s.has(t, s.owner.UserID(), "list_memories", tool.LabelUntrustedContent) }
	add := func(text string, change ...func(*tool.Invocation)) {
		t.Helper()
		if r := s.call(t, "add_memory", fmt.Sprintf(`{"text":%q}`, text),
			append(change, s.conversation(t, store.BeginRun{}))...); r.Failure != nil {
			t.Fatal(r.Text)
		}
	}
	add("My favourite tea is Assam.", met(tool.LabelPrivateData))
	if strange() {
		t.Fatal("nobody has read what strangers wrote yet")
	}
	add("The best tea shop is at the harbour.", met(tool.LabelUntrustedContent))
	if !strange() {
		t.Fatal("the label is lost")
	}
	list, err := s.store.Memories().List(t.Context(), s.owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if want := m.Text != "My favourite tea is Assam."; (len(m.Labels) == 1) != want {
			t.Errorf("%q has the labels %v", m.Text, m.Labels)
		}
		if _, err := s.store.Memories().Update(t.Context(), s.owner, m.ID, m.Text, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if strange() {
		t.Error("what the person wrote has the label still")
	}
}
