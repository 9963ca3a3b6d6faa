package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// maxNameBytes is the greatest length of the name of a tool in an allow-list.
const maxNameBytes = 256

// checkAllowed refuses an allow-list that is too large to be kept.
func checkAllowed(names []string) error {
	if len(names) > store.MaxAgentTools {
		return invalid("At most %d tools can be named.", store.MaxAgentTools)
	}
	if slices.ContainsFunc(names, func(name string) bool { return len(name) > maxNameBytes }) {
		return invalid("A name in the list of tools is longer than %d bytes.", maxNameBytes)
	}
	return nil
}

// allowed is what an answer is limited to: an allow-list with the forced tool, nil
// for no limit.
func allowed(names []string, forced string) []string {
	if names == nil || forced == "" || slices.Contains(names, forced) {
		return names
	}
	return append(slices.Clip(names), forced)
}

// selection is which tools a request wants, of those that the agent has. Lists hold
// identities, or what somebody wrote where no tool goes by it.
type selection struct {
	agent  store.Agent
	allow  []string
	forced string
	// searches tells that a model that answers may use its provider's web search,
	// which counts as the tool llm.SearchTool.
	searches bool
	// meant are the tools that the lists and forced name, by the word for each.
	meant map[string]toolset.Meant
}

// resolve puts the identities of the tools that are meant into the lists.
func (s *Service) resolve(ctx context.Context, sel selection) (selection, error) {
	words := slices.Concat(sel.agent.Tools, sel.allow)
	if sel.forced != "" {
		words = append(words, sel.forced)
	}
	sel.meant = map[string]toolset.Meant{}
	if s.cfg.Resolve == nil || len(words) == 0 {
		return sel, nil
	}
	meant, err := s.cfg.Resolve(ctx, words)
	if err != nil {
		return sel, s.fault(fmt.Errorf("look up tools: %w", err), CodeInternal)
	}
	ids := make([]string, len(meant))
	for i, m := range meant {
		ids[i], sel.meant[m.ID] = m.ID, m
	}
	agents, asked := len(sel.agent.Tools), len(sel.agent.Tools)+len(sel.allow)
	if sel.agent.Tools != nil {
		sel.agent.Tools = ids[:agents:agents]
	}
	if sel.allow != nil {
		sel.allow = ids[agents:asked:asked]
	}
	if sel.forced != "" {
		sel.forced = ids[asked]
	}
	return sel, nil
}

// called is what a person knows a tool of the lists by.
func (sel selection) called(id string) string {
	if m, ok := sel.meant[id]; ok {
		return m.Name
	}
	return id
}

// has tells whether the agent has a tool, takes whether the request allows it too.
func (sel selection) has(spec tool.Spec) bool {
	return sel.agent.Tools == nil || spec.In(sel.agent.Tools)
}

func (sel selection) takes(spec tool.Spec) bool {
	return sel.has(spec) && (sel.allow == nil || spec.In(sel.allow))
}

// named are the tools that the request names, or the agent where it names none.
func (sel selection) named() []string {
	if sel.allow == nil {
		return sel.agent.Tools
	}
	return sel.allow
}

// research is research_agent, which is a tool of the loop's.
var research = tool.Spec{ID: tool.OwnID(tool.ResearchAgent), Name: tool.ResearchAgent}

// search is the search of the model's provider. It goes by the same name as a tool that
// came with the host, and who means that one means both.
func (sel selection) search() tool.Spec {
	for id, m := range sel.meant {
		if m.Name == llm.SearchTool {
			return tool.Spec{ID: id, Name: llm.SearchTool}
		}
	}
	return tool.Spec{Name: llm.SearchTool}
}

// pick assembles the tools of a turn: those available to the user that the agent
// has, cut down to the allow-list. A private conversation has none that reaches
// memory. A forced tool has to be there; of what else the request names, or the agent
// where the request names nothing, the person is told what is missing.
func (s *Service) pick(
	ctx context.Context, p identity.Principal, sel selection, private bool,
) (picked []tool.Tool, notices []packet.Notice, err error) {
	there, err := s.cfg.Tools(ctx, p.UserID())
	if err != nil {
		return nil, nil, s.fault(fmt.Errorf("list tools: %w", err), CodeInternal)
	}
	if private {
		there = without(there, func(spec tool.Spec) bool { return slices.Contains(spec.Reaches, tool.ReachesMemory) })
	}
	all := without(there, func(spec tool.Spec) bool { return !sel.has(spec) })
	if sel.forced != "" && !includes(all, sel.forced) && !(sel.forces(research) && sel.researches()) {
		return nil, nil, sel.noForced(namesOf(all))
	}
	for _, word := range sel.named() {
		if message := sel.missing(word, there, all); message != "" {
			notices = append(notices, packet.NewNotice(packet.CodeToolUnavailable, message))
		}
	}
	picked = all
	if sel.allow != nil {
		picked = without(all, func(spec tool.Spec) bool { return !sel.forces(spec) && !spec.In(sel.allow) })
	}
	if sel.researches() && len(picked) == 0 {
		notices = append(notices, packet.NewNotice(packet.CodeToolUnavailable,
			tool.ResearchAgent+" works with the other tools, and there are none; the answer is written without it."))
	}
	return picked, notices, nil
}

// missing says that a tool which is named is not among all, the tools of the agent; ""
// where it is. there are the tools of the person.
func (sel selection) missing(word string, there, all []tool.Tool) string {
	words, called := []string{word}, shown(sel.called(word))
	besides := sel.searches && sel.search().In(words) || research.In(words)
	switch {
	case includes(all, word),
		sel.searches && sel.search().In(words) && sel.has(sel.search()),
		research.In(words) && sel.has(research):
		return ""
	case includes(there, word), besides:
		return fmt.Sprintf("%s is not a tool of the agent %s; the answer is written without it.", called,
			sel.agent.Name)
	}
	why := sel.meant[word].Unavailable
	if why != "" {
		why = ": " + why
	}
	return fmt.Sprintf("%s is not available right now%s; the answer is written without it.", called, why)
}

// researches tells whether the model may hand tasks to agents: only where the request
// names that tool of the loop's, or the agent where the request names none.
func (sel selection) researches() bool {
	return (research.In(sel.named()) || sel.forces(research)) && sel.has(research)
}

// forces tells whether the request forces a tool.
func (sel selection) forces(spec tool.Spec) bool { return spec.In([]string{sel.forced}) }

// forcedOf is what the model calls the forced tool by, "" for none; namedOf are the
// names of those that are named.
func (sel selection) forcedOf(tools []tool.Tool) string {
	for _, t := range tools {
		if spec := t.Spec(); sel.forces(spec) {
			return spec.Name
		}
	}
	if sel.forces(research) {
		return tool.ResearchAgent
	}
	return ""
}

func (sel selection) namedOf(tools []tool.Tool) (names []string) {
	for _, t := range tools {
		if spec := t.Spec(); spec.In(sel.named()) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// noForced says that the forced tool is not among those that there are.
func (sel selection) noForced(names []string) error {
	called := shown(sel.called(sel.forced))
	if sel.searches && sel.forces(sel.search()) {
		return &Error{Code: CodeUnknownTool, Message: fmt.Sprintf(
			"%s is run by the model's provider, which cannot be made to use it. Tools: %s.", called, listOrNone(names))}
	}
	message := fmt.Sprintf("There is no tool named %q now. Tools: %s.", called, listOrNone(names))
	if sel.agent.ID != "" {
		message = fmt.Sprintf(
			"The agent %s has no tool named %q now. Tools: %s.", sel.agent.Name, called, listOrNone(names))
	}
	return &Error{Code: CodeUnknownTool, Message: message}
}

func namesOf(tools []tool.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Spec().Name
	}
	return names
}

// includes tells whether one of the tools is meant by a word.
func includes(tools []tool.Tool, word string) bool {
	return slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().In([]string{word}) })
}

// without returns the tools whose specs leave does not name.
func without(tools []tool.Tool, leave func(tool.Spec) bool) []tool.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool.Tool) bool { return leave(t.Spec()) })
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
