package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

type found struct {
	Results []struct {
		Ref                             int
		Title, Section, Source, Content string
	}
	Note string
}

func read(t *testing.T, r tool.Result) found {
	t.Helper()
	if r.Failure != nil {
		t.Fatalf("the call failed: %+v %s", r.Failure, r.Text)
	}
	var f found
	if err := json.Unmarshal([]byte(r.Text), &f); err != nil {
		t.Fatalf("%v in %s", err, r.Text)
	}
	return f
}

func withSearch(t *testing.T) (*scene, string) {
	t.Helper()
	s := open(t)
	id := s.add(t, "plugins.md", "# Plugins\n\n## How do I declare a capability?\n\nYou declare a capability in the "+
		"manifest of the plugin.\n")
	s.add(t, "bread.md", "# Bread\n\nFlour, water, salt and time make a loaf.\n")
	if err := s.install(t, map[string][]byte{"search.wasm": built.Search}); err != nil {
		t.Fatal(err)
	}
	return s, id
}

func TestTheNextStartPutsABuiltinFileBack(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":    os.Remove,
		"damaged": func(path string) error { return os.Truncate(path, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withSearch(t)
			files, err := filepath.Glob(filepath.Join(s.dir, "plugins", "*.wasm"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v, %v", files, err)
			}
			if err := harm(files[0]); err != nil {
				t.Fatal(err)
			}
			s.start(t)
			if err := s.install(t, map[string][]byte{"search.wasm": built.Search}); err != nil {
				t.Fatal(err)
			}
			if f := read(t, s.call(t, "internal_search", `{"queries":["bread loaf"]}`)); len(f.Results) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

func TestSearchFindsAndCitesThroughTheSandbox(t *testing.T) {
	s, id := withSearch(t)
	r := s.call(t, "internal_search", `{"queries":["declare a capability","bread loaf"]}`)
	f := read(t, r)
	if len(f.Results) < 2 || f.Results[0].Ref != 101 || f.Results[0].Source != "knowledge" {
		t.Fatalf("results are %s", r.Text)
	}
	if !strings.Contains(r.Text, "in the manifest of the plugin") || !strings.Contains(r.Text, "make a loaf") {
		t.Fatalf("a passage is missing in %s", r.Text)
	}
	if len(r.Documents) != 2 {
		t.Fatalf("documents are %+v", r.Documents)
	}
	for _, d := range r.Documents {
		if d.Title == "" || d.Snippet == "" || d.Source != "knowledge" || d.UpdatedAt != "2026-03-01T12:00:00Z" ||
			d.Ref < 101 {
			t.Errorf("document is %+v", d)
		}
	}
	if len(r.HostCalls) != 2 || r.HostCalls[0].Capability != "knowledge" || r.HostCalls[0].Decision != "allow" ||
		r.HostCalls[0].Bytes == 0 {
		t.Errorf("host calls are %+v", r.HostCalls)
	}
	again := s.call(t, "internal_search", `{"queries":["declare a capability"]}`, func(in *tool.Invocation) {
		in.Context.Citations = map[string]int{id: 7}
	})
	if f := read(t, again); f.Results[0].Ref != 7 {
		t.Errorf("a document that the path knows got another ref: %s", again.Text)
	}
}

func TestSearchIsListedWithItsManifest(t *testing.T) {
	s, _ := withSearch(t)
	got := s.tool(t, "internal_search").Spec()
	if !got.Cites || got.Merge != "queries" || got.Plugin != "search" || got.PluginVersion == "" ||
		got.Title != "Search documents" ||
		!reflect.DeepEqual(got.Labels, []string{"private_data"}) ||
		!strings.Contains(string(got.InputSchema), `"queries"`) {
		t.Fatalf("spec is %+v", got)
	}
	list, err := s.manager.List(t.Context(), anOperator)
	if err != nil || len(list) != 1 || !list[0].Builtin || !list[0].Enabled {
		t.Fatalf("list is %+v, %v", list, err)
	}
	g := list[0].Grants
	if len(g) != 2 || g[1].Capability != "knowledge" || g[1].Mode != capability.Allow ||
		g[1].Sentence != "search wants to read your documents." {
		t.Fatalf("grants are %+v", g)
	}
}

func TestRevokedKnowledgeIsSaidInWords(t *testing.T) {
	s, _ := withSearch(t)
	if err := s.manager.SetGrant(t.Context(), anOperator, "search", denyKnowledge); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "internal_search", `{"queries":["bread"]}`)
	if r.Failure == nil || r.Failure.Kind != tool.FailureFailed || !strings.Contains(r.Text, "may not be searched") ||
		strings.Contains(r.Text, "loaf") {
		t.Fatalf("result is %+v", r)
	}
	if len(r.HostCalls) != 1 || r.HostCalls[0].Decision != "deny" {
		t.Fatalf("host calls are %+v", r.HostCalls)
	}
	if _, err := s.log.Verify(); err != nil {
		t.Error(err)
	}
	entries, err := s.log.Tail(3)
	if err != nil || entries[0].Kind != audit.KindGrant || entries[1].Decision != "deny" ||
		entries[2].Outcome != "failed" {
		t.Fatalf("audit is %+v, %v", entries, err)
	}
}

func TestAnotherUserFindsNothing(t *testing.T) {
	s, _ := withSearch(t)
	user, err := s.store.Users().Create(t.Context(), anOperator, "ada", false)
	if err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "internal_search", `{"queries":["bread loaf"]}`, func(in *tool.Invocation) { in.User = user.ID })
	if f := read(t, r); len(f.Results) != 0 || !strings.Contains(f.Note, "No document matches") {
		t.Fatalf("result is %s", r.Text)
	}
}

func TestARestartKeepsToolsAndRevocations(t *testing.T) {
	s, _ := withSearch(t)
	if err := s.manager.SetGrant(t.Context(), anOperator, "search", denyKnowledge); err != nil {
		t.Fatal(err)
	}
	newer := guesttest.Packed(t, built.Search, strings.Replace(string(searchManifest(t)), `"0.1.0"`, `"0.2.0"`, 1))
	for _, wasm := range [][]byte{built.Search, newer} {
		if err := s.manager.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.start(t)
		s.tool(t, "internal_search") // there before anything is installed again
		if err := s.install(t, map[string][]byte{"search.wasm": wasm}); err != nil {
			t.Fatal(err)
		}
		if r := s.call(t, "internal_search", `{"queries":["bread"]}`); r.Failure == nil {
			t.Fatalf("what was taken back came back: %s", r.Text)
		}
	}
	if v := s.tool(t, "internal_search").Spec().PluginVersion; v != "0.2.0" {
		t.Errorf("the new version is not in force but %s", v)
	}
}

func TestAnUpgradeWhileToolsAreHeldIsFollowed(t *testing.T) {
	s, _ := withSearch(t)
	old := s.tool(t, "internal_search")
	newer := guesttest.Packed(t, built.Search, strings.Replace(string(searchManifest(t)), `"0.1.0"`, `"0.2.0"`, 1))
	if err := s.install(t, map[string][]byte{"search.wasm": newer}); err != nil {
		t.Fatal(err)
	}
	r, err := old.Call(t.Context(), tool.Invocation{User: s.owner.UserID(),
		Arguments: json.RawMessage(`{"queries":["bread"]}`),
		Refs:      tool.Refs{Start: 1, Count: 10}, Now: noon, Report: &watcher{}})
	if err != nil || r.Failure != nil {
		t.Fatalf("%+v, %v", r, err)
	}
}

func searchManifest(t *testing.T) json.RawMessage {
	t.Helper()
	_, raw, err := guest.ReadManifest(built.Search, "search")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
