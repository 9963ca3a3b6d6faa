package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// silent is a tool that is never called.
type silent struct{ spec tool.Spec }

func (s silent) Spec() tool.Spec { return s.spec }

func (silent) Call(context.Context, tool.Invocation) (tool.Result, error) { return tool.Result{}, nil }

// firstRequest is what a model is sent of a question with these tools. Nobody knows its
// window.
func firstRequest(t *testing.T, specs []tool.Spec, change func(*loop.Setup)) (offered []string, bytes int) {
	t.Helper()
	var asked []llm.Request
	log := journal.New("r_1", 1)
	emit, now := packet.NewEmitter(log, 0), func() time.Time { return time.Unix(0, 0) }
	tools := make([]tool.Tool, len(specs))
	for i, s := range specs {
		tools[i] = silent{s}
	}
	setup := loop.Setup{
		Model: searching{[][]llm.Event{{llm.Text{Delta: "Yes."}, llm.Finish{Reason: llm.FinishStop}}}, &asked, true},
		Runner: toolrun.New(toolrun.Config{
			Tools: tools, Refs: toolrun.NewRefs(0), Documents: cite.NewDocuments(nil), Emit: emit, Now: now,
			NewID: func() string { return "c" },
		}),
		History: []llm.Message{{Role: llm.RoleUser, Text: "How long does the generator run?"}}, Specs: specs,
		Documents: cite.NewDocuments(nil), Emit: emit, Now: now,
	}
	if change != nil {
		change(&setup)
	}
	loop.Run(t.Context(), setup)
	log.Close()
	for _, d := range asked[0].Tools {
		offered = append(offered, d.Name)
		bytes += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	return offered, bytes
}

func has(names []string, name string) bool {
	return strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ")
}

// TestManyToolsDoNotHideTheBuiltInOnes from the first question, which does not name
// what they are called or do.
func TestManyToolsDoNotHideTheBuiltInOnes(t *testing.T) {
	var specs []tool.Spec
	for i := range 291 {
		name := fmt.Sprintf("generator_%d", i)
		specs = append(specs, tool.Spec{Name: name, Description: "Does something to a generator."})
	}
	specs = append(specs, tool.Spec{Name: "internal_search", Description: "Searches documents.", Builtin: true})
	offered, _ := firstRequest(t, specs, nil)
	if !has(offered, "internal_search") || !has(offered, tool.FindTools) || len(offered) > loop.MaxOffered+1 {
		t.Errorf("offered %v", offered)
	}
	// A tool that was named comes first all the same.
	offered, _ = firstRequest(t, specs, func(s *loop.Setup) { s.Named = []string{"generator_250"} })
	if !has(offered, "internal_search") || !has(offered, "generator_250") {
		t.Errorf("offered %v", offered)
	}
}

// TestTheTextOfToolsIsBounded, whatever they list and also where nobody knows the window.
func TestTheTextOfToolsIsBounded(t *testing.T) {
	explained := json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","description":"` +
		strings.Repeat("word ", 50_000) + `"}},"required":["x"]}`)
	small := json.RawMessage(`{"type":"object"}`)
	for name, n := range map[string]int{"a few": 4, "forty": 40, "a whole plugin": 256} {
		var specs []tool.Spec
		for i := range n {
			specs = append(specs, tool.Spec{
				Name: fmt.Sprintf("large_%d", i), Description: strings.Repeat("generator ", 1600),
				InputSchema: explained,
			})
		}
		specs = append(specs, tool.Spec{Name: "internal_search", Builtin: true, InputSchema: small})
		offered, bytes := firstRequest(t, specs, nil)
		if bytes > 128<<10 || !has(offered, "internal_search") || !has(offered, "large_0") {
			t.Errorf("%s: %d bytes of %v", name, bytes, offered)
		}
		if n == 4 && len(offered) != 5 {
			t.Errorf("%s: offered %v", name, offered)
		}
		// One that is forced is offered alone, and shortened too.
		offered, bytes = firstRequest(t, specs, func(s *loop.Setup) { s.Forced = "large_1" })
		if len(offered) != 1 || offered[0] != "large_1" || bytes > 16<<10 {
			t.Errorf("%s, forced: %d bytes of %v", name, bytes, offered)
		}
	}
}
