package turn

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// identified is a fixture whose tools have identities: the built-in search, a plugin's
// tool that tries to look like it, and one that is switched off.
func identified(t *testing.T) *fixture {
	f := newFixture(t)
	names := map[string]string{
		"search/internal_search": "internal_search", "internal/search": "internal_search_2", "away/report": "report",
	}
	f.cfg.Tools = func(context.Context, string) ([]tool.Tool, error) {
		says := func(context.Context, tool.Invocation) (tool.Result, error) { return tool.Result{Text: "Found."}, nil }
		return []tool.Tool{
			scripted{tool.Spec{ID: "internal/search", Name: "internal_search_2", Plugin: "internal"}, says},
			scripted{tool.Spec{ID: "search/internal_search", Name: "internal_search", Builtin: true}, says},
		}, nil
	}
	f.cfg.Resolve = func(_ context.Context, words []string) (meant []toolset.Meant, _ error) {
		for _, w := range words {
			m := toolset.Meant{ID: w, Name: w}
			for id, name := range names {
				if w == id || w == name {
					m = toolset.Meant{ID: id, Name: name}
				}
			}
			if tool.Reserved(w) {
				m.ID = tool.OwnID(w)
			}
			if m.ID == "away/report" {
				m.Unavailable = "its plugin is switched off"
			}
			meant = append(meant, m)
		}
		return meant, nil
	}
	return f
}

// offers are the names of the tools that the last request offers.
func (f *fixture) offers() (names []string) {
	requests := f.server.Requests()
	for _, t := range requests[len(requests)-1].Body.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// TestToolsAreMeantByTheirIdentity: names and identities in requests and agents are the
// same, and are kept as identities.
func TestToolsAreMeantByTheirIdentity(t *testing.T) {
	for _, word := range []string{"internal_search", "search/internal_search"} {
		f := identified(t)
		for range 4 {
			f.server.Add(llmtest.Answer().Text("x"))
		}
		only, kept := []string{"internal_search"}, []string{"search/internal_search"}
		ack := f.send(Send{Text: "x", Tools: []string{word}})
		if notices := find[packet.Notice](f.read(ack.Run)); len(notices) != 0 || !slices.Equal(f.offers(), only) {
			t.Errorf("%s: offered %v, %+v", word, f.offers(), notices)
		}
		if m := f.message(ack, 0); !slices.Equal(m.Allowed, kept) {
			t.Errorf("%s: stored %v", word, m.Allowed)
		}
		again, err := f.Regenerate(t.Context(), f.owner, Regenerate{MessageID: ack.MessageIDs[0]})
		if err != nil {
			t.Fatal(err)
		}
		f.read(again.Run)
		if m := f.message(again, 0); !slices.Equal(f.offers(), only) || !slices.Equal(m.Allowed, kept) {
			t.Errorf("%s: written again it is offered %v, stored %v", word, f.offers(), m.Allowed)
		}
		agent := f.addAgent(store.Agent{Name: "Finder", Tools: []string{word}})
		f.read(f.send(Send{Text: "x", AgentID: agent, ForcedTool: word}).Run)
		if !slices.Equal(f.offers(), only) {
			t.Errorf("%s: an agent is offered %v", word, f.offers())
		}
	}
}

// TestAnAllowListFromBeforeThereWereIdentitiesStillHolds: the record has plain names.
func TestAnAllowListFromBeforeThereWereIdentitiesStillHolds(t *testing.T) {
	f := newFixture(t)
	f.server.Add(llmtest.Answer().Text("x"), llmtest.Answer().Text("y"))
	ack := f.send(Send{Text: "x", Tools: []string{"internal_search"}})
	f.read(ack.Run)
	if m := f.message(ack, 0); !slices.Equal(m.Allowed, []string{"internal_search"}) {
		t.Fatalf("stored %v", m.Allowed)
	}
	with := identified(t)
	f.cfg.Tools, f.cfg.Resolve = with.cfg.Tools, with.cfg.Resolve
	again, err := f.Regenerate(t.Context(), f.owner, Regenerate{MessageID: ack.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(again.Run)
	if !slices.Equal(f.offers(), []string{"internal_search"}) {
		t.Errorf("offered %v", f.offers())
	}
}

// TestWhatIsMissingIsCalledByItsName and says why, where that is known.
func TestWhatIsMissingIsCalledByItsName(t *testing.T) {
	f := identified(t)
	f.server.Add(llmtest.Answer().Text("x"))
	ack := f.send(Send{Text: "x", Tools: []string{"away/report", "gone", "gone/too"}})
	notices := find[packet.Notice](f.read(ack.Run))
	for i, want := range []string{
		"report is not available right now: its plugin is switched off; the answer",
		"gone is not available right now; the answer",
		"gone/too is not available right now; the answer",
	} {
		if len(notices) != 3 || !strings.HasPrefix(notices[i].Message, want) {
			t.Fatalf("got %+v, want %q", notices, want)
		}
	}
	agent := f.addAgent(store.Agent{Name: "Finder", Tools: []string{"search/internal_search"}})
	_, err := f.Send(t.Context(), f.owner, Send{Text: "x", AgentID: agent, ForcedTool: "internal/search"})
	wantCode(t, err, CodeUnknownTool)
	want := `The agent Finder has no tool named "internal_search_2" now. Tools: internal_search.`
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestResearchIsMeantByItsIdentityToo: research_agent is a tool of the host's.
func TestResearchIsMeantByItsIdentityToo(t *testing.T) {
	for _, word := range []string{tool.ResearchAgent, "host/research_agent"} {
		f := identified(t)
		f.server.Add(llmtest.Answer().Text("x"))
		f.read(f.send(Send{Text: "x", Tools: []string{word, "internal_search"}}).Run)
		if !slices.Equal(f.offers(), []string{"internal_search", tool.ResearchAgent}) {
			t.Errorf("%s: offered %v", word, f.offers())
		}
	}
}
