package toolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// space is a Storage in memory.
type space struct {
	kept map[string]string
	full bool
}

var errFull = errors.New("no space")

func (s *space) View(f func(Tx) error) error { return f(spaceTx{s.kept}) }

func (s *space) Update(f func(Tx) error) error {
	if s.full {
		return errFull
	}
	next := maps.Clone(s.kept)
	if next == nil {
		next = map[string]string{}
	}
	err := f(spaceTx{next})
	if err == nil {
		s.kept = next
	}
	return err
}

type spaceTx struct{ kept map[string]string }

func (t spaceTx) Get(key string) ([]byte, bool) {
	v, ok := t.kept[key]
	return []byte(v), ok
}

func (t spaceTx) Put(key string, value []byte) error {
	t.kept[key] = string(value)
	return nil
}

func (t spaceTx) Delete(key string) error {
	delete(t.kept, key)
	return nil
}

func (t spaceTx) Scan(prefix string, visit func(string, []byte) bool) error {
	for _, key := range slices.Sorted(maps.Keys(t.kept)) {
		if strings.HasPrefix(key, prefix) && !visit(key, []byte(t.kept[key])) {
			break
		}
	}
	return nil
}

// shelf is a Source of what a test put there, by provider.
type shelf struct{ plugins map[string][]Entry }

func (s *shelf) Entries(context.Context) (list []Entry, _ error) {
	for _, name := range slices.Sorted(maps.Keys(s.plugins)) {
		list = append(list, s.plugins[name]...)
	}
	return list, nil
}

func (s *shelf) Tools(ctx context.Context, _ string, name func(string) string) (tools []tool.Tool, _ error) {
	entries, err := s.Entries(ctx)
	for _, e := range entries {
		if exposed := name(e.ID()); exposed != "" && !e.Held && e.Unavailable == "" {
			tools = append(tools, named{tool.Spec{ID: e.ID(), Name: exposed}})
		}
	}
	return tools, err
}

type named struct{ spec tool.Spec }

func (n named) Spec() tool.Spec { return n.spec }

func (named) Call(context.Context, tool.Invocation) (tool.Result, error) { return tool.Result{}, nil }

// host is a Set over a shelf and a storage that outlive a restart.
type host struct {
	*Set
	*shelf
	*space
	clock int
}

func newHost(t interface{ Fatal(...any) }) *host {
	h := &host{shelf: &shelf{plugins: map[string][]Entry{}}, space: &space{}}
	h.restart(t)
	return h
}

func (h *host) restart(t interface{ Fatal(...any) }) {
	set, err := New(Config{Sources: []Source{h.shelf}, Storage: h.space, Kept: []string{"web_search"}})
	if err != nil {
		t.Fatal(err)
	}
	h.Set = set
}

// put installs a plugin, or another version of it.
func (h *host) put(provider string, builtin bool, tools ...string) {
	h.clock++
	var entries []Entry
	for _, name := range tools {
		since := time.Unix(int64(h.clock), 0)
		entries = append(entries, Entry{Provider: provider, Name: name, Builtin: builtin, Since: since})
	}
	h.plugins[provider] = entries
}

func (h *host) dealt(t interface{ Fatal(...any) }) map[string]string {
	dealt, err := h.Names(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return dealt
}

func (h *host) want(t *testing.T, want map[string]string) {
	t.Helper()
	if got := h.dealt(t); !maps.Equal(got, want) {
		t.Errorf("the names are %v, want %v", got, want)
	}
}

// TestNoPluginTakesTheNameOfABuiltInTool: a plugin that is called as the first half of
// the name with a tool as the other half, beside one that collides with that tool.
func TestNoPluginTakesTheNameOfABuiltInTool(t *testing.T) {
	h := newHost(t)
	h.put("internal", false, "search")
	h.put("other", false, "search")
	h.put("search", true, "internal_search")
	h.want(t, map[string]string{
		"search/internal_search": "internal_search", "internal/search": "search", "other/search": "other_search",
	})
	// The same where the built-in tool's plain name would be the prefixed name of both.
	h = newHost(t)
	h.put("other", false, "search")
	h.put("search", true, "internal_search")
	h.dealt(t)
	h.put("internal", false, "search")
	h.want(t, map[string]string{
		"search/internal_search": "internal_search", "other/search": "search", "internal/search": "internal_search_2",
	})
}

// TestAPluginThatListsABuiltInToolDoesNotRenameIt, whichever was there first.
func TestAPluginThatListsABuiltInToolDoesNotRenameIt(t *testing.T) {
	for _, first := range []bool{true, false} {
		h := newHost(t)
		if first {
			h.put("evil", false, "internal_search")
		}
		h.put("search", true, "internal_search")
		h.dealt(t)
		h.put("evil", false, "internal_search")
		h.want(t, map[string]string{
			"search/internal_search": "internal_search", "evil/internal_search": "evil_internal_search",
		})
		words := []string{"internal_search", "search/internal_search", "evil/internal_search"}
		meant, err := h.Resolve(t.Context(), words)
		if err != nil || meant[0] != meant[1] || meant[0].ID != words[1] || meant[2].Name != "evil_internal_search" {
			t.Errorf("meant %+v, %v", meant, err)
		}
	}
}

func TestNamesThatModelsTakeForEachOtherAreNotBothDealt(t *testing.T) {
	for listed, want := range map[string]string{
		"internal.search":  "evil_internal_search",
		"internal search":  "evil_internal_search",
		"INTERNAL_SEARCH":  "evil_INTERNAL_SEARCH",
		"internal-search":  "evil_internal-search",
		"think":            "evil_think",
		"Recall.Result":    "evil_Recall_Result",
		"web_search":       "evil_web_search",
		"Web-Search":       "evil_Web-Search",
		"internal_search2": "internal_search2",
		"suche/örtlich":    "suche__rtlich",
		"":                 "tool",
	} {
		h := newHost(t)
		h.put("search", true, "internal_search")
		h.put("evil", false, listed)
		if got := h.dealt(t)[tool.ID("evil", listed)]; got != want {
			t.Errorf("%q is called %q, want %q", listed, got, want)
		}
	}
	h := newHost(t)
	h.put("web", true, "web_search")
	h.want(t, map[string]string{"web/web_search": "web_search"})
}

func TestLongNamesAreCutAndStayDistinct(t *testing.T) {
	long := strings.Repeat("a", 64)
	h := newHost(t)
	h.put("b", false, long+"x", long+"y", long+"z")
	h.put("c", false, long)
	got := h.dealt(t)
	// c's is a plain name, and those come before the first that had to be cut.
	if got["c/"+long] != long || got["b/"+long+"x"] != "b_"+long[:62] || got["b/"+long+"y"] != "b_"+long[:60]+"_2" {
		t.Errorf("the names are %v", got)
	}
}

// TestASuffixIsNotAnothersName: a tool may be listed under what a suffix would make.
func TestASuffixIsNotAnothersName(t *testing.T) {
	h := newHost(t)
	h.put("a", false, "x", "b_x", "b_x_2")
	h.put("b", false, "x")
	h.want(t, map[string]string{"a/x": "x", "a/b_x": "b_x", "a/b_x_2": "b_x_2", "b/x": "b_x_3"})
}

// TestAHeldToolTakesNoName until somebody has seen it; one that has a name keeps it.
func TestAHeldToolTakesNoName(t *testing.T) {
	h := newHost(t)
	h.put("evil", false, "report")
	h.plugins["evil"][0].Held = true
	h.want(t, map[string]string{})
	h.put("late", false, "report")
	h.want(t, map[string]string{"late/report": "report"})
	h.plugins["late"][0].Held = true
	h.plugins["evil"][0].Held = false
	h.want(t, map[string]string{"late/report": "report", "evil/report": "evil_report"})
	meant, err := h.Resolve(t.Context(), []string{"report"})
	if err != nil || meant[0].ID != "late/report" || !strings.Contains(meant[0].Unavailable, "changed") {
		t.Errorf("meant %+v, %v", meant, err)
	}
}

// TestAToolThatIsAwayKeepsItsName: switched off, not listed any more, after a restart.
func TestAToolThatIsAwayKeepsItsName(t *testing.T) {
	h := newHost(t)
	h.put("mine", false, "report", "chart")
	h.dealt(t)
	h.plugins["mine"][0].Unavailable = "its plugin is switched off"
	h.plugins["mine"] = h.plugins["mine"][:1]
	h.put("other", false, "report", "chart")
	h.restart(t)
	want := map[string]string{
		"mine/report": "report", "mine/chart": "chart", "other/report": "other_report", "other/chart": "other_chart",
	}
	h.want(t, want)
	tools, err := h.Set.Tools(t.Context(), "u")
	if err != nil || len(tools) != 2 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	meant, err := h.Resolve(t.Context(), []string{"report", "chart", "other/chart", "nothing", "x/y"})
	for i, why := range []string{"its plugin is switched off", "what brings it does not list it now", "", "", ""} {
		if err != nil || meant[i].Unavailable != why {
			t.Errorf("meant %+v, %v, want %q", meant[i], err, why)
		}
	}
	if meant[3] != (Meant{ID: "nothing", Name: "nothing"}) || meant[4] != (Meant{ID: "x/y", Name: "x/y"}) {
		t.Errorf("unknown words are %+v", meant[3:])
	}
	// Only what is removed gives its names up.
	delete(h.plugins, "mine")
	if err := h.Forget("mine"); err != nil {
		t.Fatal(err)
	}
	h.put("third", false, "chart")
	h.restart(t)
	h.want(t, map[string]string{"other/report": "other_report", "other/chart": "other_chart", "third/chart": "chart"})
}

func TestTheLoopsToolsHaveIdentitiesThatNoPluginHas(t *testing.T) {
	h := newHost(t)
	h.put(tool.HostSource, false, "think", "other")
	h.want(t, map[string]string{})
	tools, err := h.Set.Tools(t.Context(), "u")
	if err != nil || len(tools) != 0 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	meant, err := h.Resolve(t.Context(), []string{"think", "host/think"})
	if err != nil || meant[0] != meant[1] || meant[0] != (Meant{ID: "host/think", Name: "think"}) {
		t.Errorf("meant %+v, %v", meant, err)
	}
}

// TestNobodyIsToldOfANameThatIsNotKept: it could be another one after a restart.
func TestNobodyIsToldOfANameThatIsNotKept(t *testing.T) {
	h := newHost(t)
	h.put("a", false, "x")
	h.full = true
	if _, err := h.Set.Tools(t.Context(), "u"); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	h.full = false
	h.want(t, map[string]string{"a/x": "x"})
}

// TestAPluginWithEverNewToolsDoesNotFillTheStorage.
func TestAPluginWithEverNewToolsDoesNotFillTheStorage(t *testing.T) {
	h := newHost(t)
	h.put("still", false, "stays")
	for round := range 12 {
		var tools []string
		for i := range 200 {
			tools = append(tools, fmt.Sprintf("t%d_%d", round, i))
		}
		h.put("restless", false, tools...)
		h.dealt(t)
	}
	if n := len(h.kept); n > maxKept+1 {
		t.Errorf("%d names are kept", n)
	}
	if got := h.dealt(t); got["still/stays"] != "stays" || got["restless/t11_0"] != "t11_0" {
		t.Error("a tool that is listed lost its name")
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// TestNamesHoldWhateverIsInstalledAndRemoved is the law of names: distinct, valid, the
// same for as long as the tool's plugin is there, and plain for what came with the host.
func TestNamesHoldWhateverIsInstalledAndRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHost(t)
		builtins := map[string][]string{"search": {"internal_search"}, "memory": {"add_memory", "list"}}
		for name, tools := range builtins {
			h.put(name, true, tools...)
		}
		provider := rapid.SampledFrom([]string{"internal", "search_internal", "a", "a_b", "add"})
		own := rapid.OneOf(rapid.SampledFrom([]string{
			"search", "internal_search", "Internal-Search", "internal.search", "memory", "list", "b_list", "think",
			"web_search", "search_2", "a_search", "a_search_2", "ü", "a/b",
			strings.Repeat("l", 64), strings.Repeat("l", 70), strings.Repeat("l", 71),
		}), rapid.StringN(0, 8, 128))
		before := map[string]string{}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			name := provider.Draw(t, "plugin")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1: // an install or an upgrade
				h.put(name, false, rapid.SliceOfNDistinct(own, 0, 5, rapid.ID[string]).Draw(t, "tools")...)
			case 2:
				delete(h.plugins, name)
				if err := h.Forget(name); err != nil {
					t.Fatal(err)
				}
				maps.DeleteFunc(before, func(id, _ string) bool { return strings.HasPrefix(id, name+"/") })
			case 3:
				h.restart(t)
			case 4: // switched off or on
				off := rapid.SampledFrom([]string{"", "off"}).Draw(t, "off")
				for i := range h.plugins[name] {
					h.plugins[name][i].Unavailable = off
				}
			case 5: // held or accepted
				for i := range h.plugins[name] {
					h.plugins[name][i].Held = rapid.Bool().Draw(t, "held")
				}
			}
			now := h.dealt(t)
			seen := map[string]string{}
			for id, exposed := range now {
				if f := folded(exposed); !validName.MatchString(exposed) || tool.Reserved(f) || f == "web_search" {
					t.Fatalf("%q is called %q", id, exposed)
				}
				if other := seen[folded(exposed)]; other != "" {
					t.Fatalf("%q and %q are both called %q", id, other, exposed)
				}
				seen[folded(exposed)] = id
			}
			for id, exposed := range before {
				if now[id] != exposed {
					t.Fatalf("%q was called %q and is called %q", id, exposed, now[id])
				}
			}
			for name, tools := range builtins {
				for _, own := range tools {
					if now[tool.ID(name, own)] != own {
						t.Fatalf("the built-in %s is called %q", own, now[tool.ID(name, own)])
					}
				}
			}
			for _, e := range h.plugins[name] {
				if now[e.ID()] == "" && !e.Held {
					t.Fatalf("%q has no name", e.ID())
				}
			}
			before = now
		}
	})
}
