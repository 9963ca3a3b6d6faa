package plugin

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

func TestAToolNamedAsOneOfTheLoopsGetsItsPluginsName(t *testing.T) {
	p := &installed{}
	p.record.Name = "mind"
	for _, name := range []string{tool.Think, "plan"} {
		var l listedTool
		l.Name = name
		p.tools = append(p.tools, l)
	}
	names := exposedNames([]*installed{p})
	if got := names[toolKey{"mind", tool.Think}]; got != "mind_think" {
		t.Errorf("think of mind is called %q", got)
	}
	if got := names[toolKey{"mind", "plan"}]; got != "plan" {
		t.Errorf("plan of mind is called %q", got)
	}
}
