package api

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

func TestAMessageNamesTheCallsThatAreHeldBack(t *testing.T) {
	v := rest.ViewMessage(turn.Message{Message: store.Message{Role: store.RoleAssistant,
		Held: []store.Call{{ID: "c2"}, {ID: "c3"}}}})
	if !slices.Equal(v.Held, []string{"c2", "c3"}) {
		t.Errorf("held %v", v.Held)
	}
}

// two are two tools, of which the second reaches memory.
type two struct{ noPlugins }

type listed struct{ spec tool.Spec }

func (l listed) Spec() tool.Spec { return l.spec }

func (l listed) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: l.spec.Name}, nil
}

func (two) Tools(context.Context, string) ([]tool.Tool, error) {
	return []tool.Tool{listed{tool.Spec{Name: "clock"}},
		listed{tool.Spec{Name: "remember", Reaches: []string{tool.ReachesMemory}}}}, nil
}

func TestToolsSayWhetherTheyReachMemory(t *testing.T) {
	h := newHost(t, func(c *Config) { c.Plugins = two{} })
	var list struct{ Tools []rest.ToolView }
	h.call("GET", apiRoot+"/tools", "", http.StatusOK, &list)
	if len(list.Tools) != 2 || list.Tools[0].Memory || !list.Tools[1].Memory {
		t.Errorf("%+v", list.Tools)
	}
}
