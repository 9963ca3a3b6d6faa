package plugin

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func TestAToolNamedAsOneOfTheLoopsGetsItsPluginsName(t *testing.T) {
	var list []guest.Listed
	for _, name := range []string{tool.Think, "plan"} {
		var l guest.Listed
		l.Name = name
		list = append(list, l)
	}
	p := newInstalled(registry.Record{Name: "mind"}, capability.Manifest{}, installedList(list))
	names := exposedNames([]*installed{p})
	if got := names[toolKey{"mind", tool.Think}]; got != "mind_think" {
		t.Errorf("think of mind is called %q", got)
	}
	if got := names[toolKey{"mind", "plan"}]; got != "plan" {
		t.Errorf("plan of mind is called %q", got)
	}
}
