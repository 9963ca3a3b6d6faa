package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// withKept installs the program with a folder that is kept. Its tools read and write are of
// strangers' text and of private data.
func withKept(t *testing.T) *scene {
	t.Helper()
	s := open(t)
	manifest := fmt.Sprintf(guesttest.CommandManifest, "")
	for old, with := range map[string]string{
		`{"quota_bytes":300000}`: `{"quota_bytes":300000,"persistent":true}`,
		`"write":{"wasi"`:        `"write":{"labels":["private_data","egress"],"wasi"`,
		`"version":"1"`:          `"version":"1","title":"Program"`,
	} {
		if !strings.Contains(manifest, old) {
			t.Fatalf("the manifest has no %s", old)
		}
		manifest = strings.Replace(manifest, old, with, 1)
	}
	if err := s.install(t, map[string][]byte{"prog.wasm": guesttest.Packed(t, built.Command, manifest)}); err != nil {
		t.Fatal(err)
	}
	return s
}

func user(id string) func(*tool.Invocation) { return func(in *tool.Invocation) { in.User = id } }

func TestAKeptWorkspaceLastsForItsUser(t *testing.T) {
	s := withKept(t)
	ok := func(r tool.Result, text string) {
		t.Helper()
		if r.Failure != nil || r.Text != text {
			t.Errorf("%q, %+v; want %q", r.Text, r.Failure, text)
		}
	}
	ok(s.call(t, "write", `{"path":"/workspace/a.txt","text":"mine"}`), "written")
	ok(s.call(t, "write", `{"path":"/workspace/a.txt","text":"theirs"}`, user("other")), "written")
	ok(s.call(t, "read", `{"path":"/workspace/a.txt"}`), "mine")
	s.start(t)
	ok(s.call(t, "read", `{"path":"/workspace/a.txt"}`), "mine")
	ok(s.call(t, "read", `{"path":"/workspace/a.txt"}`, user("other")), "theirs")

	if err := s.manager.ForgetUser(t.Context(), anOperator, "other"); err != nil {
		t.Fatal(err)
	}
	ok(s.call(t, "tree", `{"path":"/workspace"}`, user("other")), "/workspace true\n")
	ok(s.call(t, "read", `{"path":"/workspace/a.txt"}`), "mine")
	ok(s.call(t, "files", `{}`, user("third")), "done\n") // all that a program does with files

	perCall := capability.Grant{Capability: capability.Workspace, Mode: capability.Allow,
		Params: []byte(`{"persistent":false}`)}
	if err := s.manager.SetGrant(t.Context(), anOperator, "prog", perCall); err != nil {
		t.Fatal(err)
	}
	ok(s.call(t, "tree", `{"path":"/workspace"}`), "/workspace true\n")
}

func TestTheQuotaOfAKeptWorkspaceHoldsAcrossCalls(t *testing.T) {
	s := withKept(t)
	var written int
	if r := s.call(t, "fill", `{}`); r.Failure != nil {
		t.Fatal(r.Text)
	} else if _, err := fmt.Sscanf(r.Text, "%d", &written); err != nil || written < 200_000 || written > 300_000 {
		t.Errorf("%q, %v", r.Text, err)
	}
	r := s.call(t, "write", `{"path":"/workspace/more","text":"`+strings.Repeat("x", 40_000)+`"}`)
	if r.Failure == nil {
		t.Errorf("a later call wrote beyond the quota: %q", r.Text)
	}
	var size int64
	err := filepath.Walk(filepath.Join(s.dir, "workspaces"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > 300_000 {
		t.Errorf("%d bytes are on disk, %v", size, err)
	}
}

// TestCallsOfAKeptWorkspaceComeOneAfterAnother makes more calls at once than the plugin may
// run.
func TestCallsOfAKeptWorkspaceComeOneAfterAnother(t *testing.T) {
	s := withKept(t)
	write := s.tool(t, "write")
	var group sync.WaitGroup
	for n := range 12 {
		group.Go(func() {
			r, err := write.Call(t.Context(), tool.Invocation{
				CallID: fmt.Sprint(n), User: s.owner.UserID(),
				Arguments: fmt.Appendf(nil, `{"path":"/workspace/%d","text":"%d"}`, n, n), Report: &watcher{},
			})
			if err != nil || r.Failure != nil {
				t.Errorf("%d: %+v, %v", n, r.Failure, err)
			}
		})
	}
	group.Wait()
	if r := s.call(t, "tree", `{"path":"/workspace"}`); strings.Count(r.Text, "false") != 12 {
		t.Errorf("%q", r.Text)
	}
}

// TestWhatWasWrittenBringsItsLabelsBack writes by a tool of private data and reads by one
// that has none by itself, after a restart too.
func TestWhatWasWrittenBringsItsLabelsBack(t *testing.T) {
	s := withKept(t)
	before := s.tool(t, "read").Spec().Labels
	if slices.Contains(before, "private_data") {
		t.Fatalf("read has the labels %v", before)
	}
	if r := s.call(t, "read", `{"path":"/workspace/none"}`); r.Failure == nil {
		t.Fatal(r.Text)
	}
	if got := s.tool(t, "read").Spec().Labels; !slices.Equal(got, before) {
		t.Errorf("after a call that wrote nothing: %v", got)
	}
	if r := s.call(t, "write", `{"path":"/workspace/a","text":"x"}`); r.Failure != nil {
		t.Fatal(r.Text)
	}
	s.start(t)
	if got := s.tool(t, "read").Spec().Labels; !slices.Contains(got, "private_data") || slices.Contains(got, "egress") {
		t.Errorf("after a write of private data: %v", got)
	}
	others, err := s.manager.Tools(t.Context(), "other", ownName)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range others {
		if tl.Spec().Name == "read" && !slices.Equal(tl.Spec().Labels, before) {
			t.Errorf("for another user: %v", tl.Spec().Labels)
		}
	}
	if err := s.manager.ForgetUser(t.Context(), anOperator, s.owner.UserID()); err != nil {
		t.Fatal(err)
	}
	if got := s.tool(t, "read").Spec().Labels; !slices.Equal(got, before) {
		t.Errorf("after all was deleted: %v", got)
	}
}

func TestABrokenKeptWorkspaceIsRefusedWithASentence(t *testing.T) {
	s := withKept(t)
	if r := s.call(t, "write", `{"path":"/workspace/a","text":"x"}`); r.Failure != nil {
		t.Fatal(r.Text)
	}
	found, err := filepath.Glob(filepath.Join(s.dir, "workspaces", "prog", "*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	link := filepath.Join(found[0], "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "read", `{"path":"/workspace/link/passwd"}`)
	if r.Failure == nil || r.Failure.Kind != tool.FailureUnavailable || !strings.Contains(r.Failure.Message, `"link"`) {
		t.Errorf("%q, %+v", r.Text, r.Failure)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if r := s.call(t, "read", `{"path":"/workspace/a"}`); r.Text != "x" {
		t.Errorf("after it was mended: %q", r.Text)
	}
}

// TestForgettingAUserTakesTheirValuesOnly has values of kv of two users and two of a kind of
// name that a careless prefix would take too.
func TestForgettingAUserTakesTheirValuesOnly(t *testing.T) {
	s := withProbe(t)
	users := []string{"u1", "u2", "u1/", "u"}
	for _, id := range users {
		if r := s.call(t, "put", `{"key":"a","value":"one"}`, user(id)); r.Failure != nil {
			t.Fatal(r.Text)
		}
	}
	err := errors.Join(s.manager.ForgetUser(t.Context(), anOperator, "u1"),
		s.manager.ForgetUser(t.Context(), anOperator, "nobody"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range users {
		r := s.call(t, "get", `{"key":"a"}`, user(id))
		if found := strings.Contains(r.Text, `"found":true`); found != (id != "u1") {
			t.Errorf("%q: %s", id, r.Text)
		}
	}
}
