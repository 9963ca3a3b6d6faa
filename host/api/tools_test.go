package api

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// searches is a host with one tool.
type searches struct{ noPlugins }

func (searches) Tools(context.Context, string) ([]tool.Tool, error) {
	return []tool.Tool{searchTool{}}, nil
}

func (searches) Resolve(_ context.Context, words []string) (meant []toolset.Meant, _ error) {
	for _, w := range words {
		if spec := (searchTool{}).Spec(); spec.In([]string{w}) {
			meant = append(meant, toolset.Meant{ID: spec.ID, Name: spec.Name})
			continue
		}
		meant = append(meant, toolset.Meant{ID: w, Name: w})
	}
	return meant, nil
}

type searchTool struct{}

func (searchTool) Spec() tool.Spec {
	return tool.Spec{ID: "search/internal_search", Name: "internal_search", Plugin: "search"}
}

func (searchTool) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{}, nil
}

// TestToolsGoByIdentityAndByName in what is listed and in agents, also those that were
// set up before there were identities.
func TestToolsGoByIdentityAndByName(t *testing.T) {
	h := newHost(t, func(c *Config) { c.Plugins = searches{} })
	var tools struct{ Tools []rest.ToolView }
	h.call("GET", apiRoot+"/tools", "", http.StatusOK, &tools)
	id, name := "search/internal_search", "internal_search"
	if len(tools.Tools) != 1 || tools.Tools[0].ID != id || tools.Tools[0].Name != name {
		t.Errorf("%+v", tools)
	}
	var made struct{ Agent rest.AgentView }
	body := `{"name":"New","tools":["internal_search","search/internal_search","sundial"]}`
	h.call("POST", apiRoot+"/agents", body, http.StatusCreated, &made)
	kept, err := h.store.Agents().Get(t.Context(), anOperator, made.Agent.ID)
	if err != nil || !slices.Equal(kept.Tools, []string{id, "sundial"}) {
		t.Errorf("kept %v, %v", kept.Tools, err)
	}
	if _, err := h.store.Agents().Create(t.Context(), anOperator,
		store.Agent{Name: "Old", Tools: []string{name}}); err != nil {
		t.Fatal(err)
	}
	var all struct{ Agents []rest.AgentView }
	h.call("GET", apiRoot+"/agents", "", http.StatusOK, &all)
	for i, want := range [][2][]string{
		{{id, "sundial"}, {name, "sundial"}},
		{{id}, {name}},
	} {
		if a := all.Agents[i]; !slices.Equal(a.Tools, want[0]) || !slices.Equal(a.ToolNames, want[1]) {
			t.Errorf("%s has %v, called %v", a.Name, a.Tools, a.ToolNames)
		}
	}
}
