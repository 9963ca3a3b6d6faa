package plugin

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// having is a Manager of plugins with tools; the first is built in.
func having(plugins ...*installed) *Manager {
	m := &Manager{plugins: map[string]*installed{}}
	for i, p := range plugins {
		p.record.Builtin, p.record.InstalledAt = i == 0, time.Unix(int64(i), 0)
		m.plugins[p.record.Name] = p
	}
	return m
}

func withTools(name string, tools ...string) *installed {
	var list []guest.Listed
	for _, t := range tools {
		list = append(list, guest.Listed{Name: t})
	}
	record := registry.Record{Name: name, Enabled: true}
	return newInstalled(record, capability.Manifest{Name: name}, installedList(list))
}

// dealt deals names to the tools of a Manager.
func dealt(t *testing.T, m *Manager) map[string]string {
	t.Helper()
	kept, err := store.Open(filepath.Join(t.TempDir(), "bulkhead.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close() // the names are read
	set, err := toolset.New(toolset.Config{Sources: []toolset.Source{m}, Storage: kept.Space("toolset")})
	if err != nil {
		t.Fatal(err)
	}
	names, err := set.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestABuiltInToolIsCalledByItsNameWhateverIsInstalled: plugins that were named, or list
// tools, so that theirs would be called by it.
func TestABuiltInToolIsCalledByItsNameWhateverIsInstalled(t *testing.T) {
	for name, others := range map[string][]*installed{
		"a plugin named as the first half":  {withTools("internal", "search"), withTools("other", "search")},
		"a plugin that lists the same name": {withTools("evil", "internal_search")},
		"a name that is sanitised to it":    {withTools("evil", "internal.search", "INTERNAL_SEARCH")},
	} {
		m := having(append([]*installed{withTools("search", "internal_search")}, others...)...)
		names := dealt(t, m)
		if names["search/internal_search"] != "internal_search" {
			t.Errorf("%s: it is called %q", name, names["search/internal_search"])
		}
		for id, exposed := range names {
			if exposed == "internal_search" && id != "search/internal_search" {
				t.Errorf("%s: %s is called as the built-in tool", name, id)
			}
		}
	}
}

func TestAToolNamedAsOneOfTheLoopsGetsItsPluginsName(t *testing.T) {
	names := dealt(t, having(withTools("search"), withTools("mind", tool.Think, "plan")))
	if names["mind/think"] != "mind_think" || names["mind/plan"] != "plan" {
		t.Errorf("the names are %v", names)
	}
}

// TestEntriesSayWhatCannotBeUsedAndWhy.
func TestEntriesSayWhatCannotBeUsedAndWhy(t *testing.T) {
	off, denied, held := withTools("a_off", "x"), withTools("b_denied", "x"), withTools("c_held", "x")
	off.record.Enabled = false
	denied.manifest.Tools = map[string]capability.ToolEntry{"x": {Approval: capability.Deny}}
	held.catalogue.Store(&catalogue{listed: []guest.Listed{{Name: "x"}}})
	entries, err := having(off, denied, held).Entries(t.Context())
	if err != nil || len(entries) != 3 {
		t.Fatalf("got %+v, %v", entries, err)
	}
	if e := entries[0]; e.Unavailable != "its plugin is switched off" || !e.Builtin || e.Held {
		t.Errorf("switched off: %+v", e)
	}
	if e := entries[1]; e.Unavailable != "its plugin's manifest denies it" || e.Builtin || e.ID() != "b_denied/x" {
		t.Errorf("denied: %+v", e)
	}
	if e := entries[2]; !e.Held || e.Unavailable != "" {
		t.Errorf("held: %+v", e)
	}
}

func TestNoPluginIsNamedAsTheHost(t *testing.T) {
	var refused *guest.Error
	_, err := new(Manager).prepare(t.Context(), nil, capability.Default(tool.HostSource), nil)
	if !errors.As(err, &refused) || refused.Kind != guest.BadManifest {
		t.Errorf("got %v", err)
	}
}
