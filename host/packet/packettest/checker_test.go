package packettest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

func TestGoodStreamsPass(t *testing.T) {
	for name, build := range goodStreams {
		t.Run(name, func(t *testing.T) {
			packets := build()
			Require(t, packets, Stored(0, Text(packets, 0)))
		})
	}
}

// TestBeginningsOfGoodStreamsPass holds the checker to the same on a live
// stream: every beginning of a good stream is good so far, and none but the
// whole is complete.
func TestBeginningsOfGoodStreamsPass(t *testing.T) {
	for name, build := range goodStreams {
		t.Run(name, func(t *testing.T) {
			packets := build()
			for n := range packets {
				Require(t, packets[:n], Running())
				if len(Check(packets[:n])) == 0 {
					t.Fatalf("the first %d of %d packets pass as a whole stream", n, len(packets))
				}
			}
		})
	}
}

func TestAnAnswerThatGoesOnKeepsItsNumbers(t *testing.T) {
	packets := searching() // cites two documents
	var later []packet.Packet
	for _, p := range packets {
		if d, ok := p.Obj.(packet.MessageDelta); ok {
			d.Content = strings.ReplaceAll(d.Content, "[[1]]", "")
			p.Obj = d
		}
		later = append(later, p)
	}
	if found := Check(later); len(found) == 0 {
		t.Error("a document that is never shown passes")
	}
	Require(t, later, GoesOn(1))
	if found := Check(later, GoesOn(2)); len(found) != 0 {
		t.Errorf("got %v", found)
	}
}

// broken is a stream that breaks one rule.
type broken struct {
	rule    int
	name    string
	packets []packet.Packet
	options []Option
}

func brokenStreams() []broken {
	var all []broken
	for _, part := range [][]broken{brokenFields(), brokenSeq(), brokenTurns(), brokenBlocks(), brokenReasoning(),
		brokenCitations(), brokenTools(), brokenAgents(), brokenNarration(), brokenStops(), brokenText()} {
		all = append(all, part...)
	}
	return all
}

func brokenFields() []broken {
	two := 2
	bad := packet.NewError(packet.CodeInternal, "")
	bad.ModelIndex = &two
	noModel := plain()
	noModel[2].Placement.ModelIndex = nil
	halfNested := nesting()
	halfNested[3].Placement.SubTabIndex = nil
	return []broken{
		{rule: RuleFields, name: "usage twice for a step", packets: repeat(plain(), "usage", 0)},
		{rule: RuleFields, name: "message_start without a model", packets: noModel},
		{rule: RuleFields, name: "sub_turn without sub_tab", packets: halfNested},
		{rule: RuleFields, name: "negative turn", packets: shift(plain(), packet.At(0, 0), packet.At(-1, 0))},
		{rule: RuleFields, name: "error of another model", packets: replace(comparing(), "error", 0, bad)},
		{rule: RuleFields, name: "two errors", packets: repeat(comparing(), "error", 0)},
		{rule: RuleFields, name: "completed after an error",
			packets: replace(comparing(), "stop", 1, stop(packet.StopCompleted))},
		{rule: RuleFields, name: "unknown stop reason", packets: replace(plain(), "stop", 0, stop("bored"))},
		{rule: RuleFields, name: "unknown outcome",
			packets: replace(asking(), "section_end", 0, packet.SectionEnd{Outcome: "fine"})},
		{rule: RuleFields, name: "unknown support", packets: replace(searching(), "citation_support", 0,
			packet.CitationSupport{CitationNumber: 1, End: 3, Support: "maybe"})},
		{rule: RuleFields, name: "a tab that was not announced", packets: replace(searching(), "top_level_branching", 0,
			packet.TopLevelBranching{TurnIndex: 2, Tabs: []int{0}})},
		{rule: RuleFields, name: "announced twice", packets: repeat(searching(), "top_level_branching", 0)},
		{rule: RuleFields, name: "announced after dispatch",
			packets: move(searching(), find(searching(), "top_level_branching", 0),
				find(searching(), "tool_start", 1))},
		{rule: RuleFields, name: "no response", packets: replace(plain(), "run_started", 0,
			packet.RunStarted{UserMessageID: "m"})},
		{rule: RuleFields, name: "a piece of an argument without a key",
			packets: replace(asking(), "tool_args_delta", 0,
				packet.ToolArgsDelta{CallID: "c_1", Delta: "ab"})},
		{rule: RuleFields, name: "an empty piece of an argument", packets: replace(asking(), "tool_args_delta", 0,
			packet.ToolArgsDelta{CallID: "c_1", Key: "text"})},
		{rule: RuleFields, name: "one model twice", packets: replace(plain(), "run_started", 0, started(0, 0))},
	}
}

func brokenSeq() []broken {
	gap := plain()
	for i := 3; i < len(gap); i++ {
		gap[i].Seq++
	}
	twice := plain()
	twice[3].Seq = twice[2].Seq
	late := plain()
	for i := range late {
		late[i].Seq += 4
	}
	epoch := plain()
	epoch[4].Epoch = 2
	run := plain()
	run[4].Run = "r_2"
	return []broken{
		{rule: RuleSeq, name: "gap", packets: gap},
		{rule: RuleSeq, name: "seq twice", packets: twice},
		{rule: RuleSeq, name: "first is not 1", packets: late},
		{rule: RuleSeq, name: "epoch changes", packets: epoch},
		{rule: RuleSeq, name: "run changes", packets: run},
		{rule: RuleSeq, name: "no run_started", packets: drop(plain(), "run_started", 0)},
		{rule: RuleSeq, name: "run_started late", packets: move(plain(), 1, 3)},
		{rule: RuleSeq, name: "run_started twice", packets: repeat(plain(), "run_started", 0)},
		{rule: RuleSeq, name: "session_created late", packets: move(plain(), 0, 2)},
		{rule: RuleSeq, name: "a model that was not named",
			packets: replace(comparing(), "run_started", 0, started(0))},
	}
}

func brokenTurns() []broken {
	return []broken{
		{rule: RuleTurnOrder, name: "answer falls back",
			packets: shift(shift(thoughtful(), packet.At(1, 0), packet.At(5, 0)), packet.At(2, 0), packet.At(6, 0))},
		{rule: RuleTurnOrder, name: "call after its turn ended",
			packets: shift(asking(), packet.At(0, 0), packet.At(3, 0))},
		{rule: RuleTurnOrder, name: "nested turn falls",
			packets: shift(nesting(), packet.At(0, 0).Nested(2, 0), packet.At(0, 0).Nested(0, 1))},
		{rule: RuleTurnOrder, name: "two texts in one turn",
			packets: insert(insert(plain(), 7, packet.At(0, 1), packet.MessageStart{}), 8, packet.At(0, 1),
				packet.MessageEnd{})},
	}
}

func brokenBlocks() []broken {
	return []broken{
		{rule: RuleClosed, name: "no message_end", packets: drop(plain(), "message_end", 0)},
		{rule: RuleClosed, name: "no reasoning_done",
			packets: drop(drop(thoughtful(), "reasoning_done", 1), "message_start", 1)},
		{rule: RuleClosed, name: "no section_end", packets: drop(asking(), "section_end", 0)},
		{rule: RuleClosed, name: "message_end twice", packets: repeat(plain(), "message_end", 0)},
		{rule: RuleClosed, name: "section_end twice", packets: repeat(asking(), "section_end", 0)},
		{rule: RuleClosed, name: "no message_start", packets: drop(plain(), "message_start", 0)},
		{rule: RuleClosed, name: "no reasoning_start", packets: drop(thoughtful(), "reasoning_start", 0)},
		{rule: RuleClosed, name: "no tool_start", packets: drop(asking(), "tool_start", 0)},
		{rule: RuleClosed, name: "closed in another place", packets: shiftOne(plain(), "message_end", packet.At(1, 0))},
		{rule: RuleClosed, name: "delta in another place",
			packets: shiftOne(plain(), "message_delta", packet.At(0, 1))},
		{rule: RuleClosed, name: "delta after the end",
			packets: move(plain(), find(plain(), "message_delta", 1), find(plain(), "usage", 0))},
		{rule: RuleClosed, name: "delta of another kind",
			packets: replace(plain(), "message_delta", 0, packet.ReasoningDelta{Reasoning: "x"})},
		{rule: RuleClosed, name: "nested outside its tool",
			packets: move(nesting(), find(nesting(), "section_end", 2), find(nesting(), "message_start", 0))},
		{rule: RuleClosed, name: "tool ends before its agent",
			packets: move(nesting(), find(nesting(), "section_end", 2), find(nesting(), "message_end", 0))},
	}
}

func brokenReasoning() []broken {
	s := thoughtful()
	ended := move(s, find(s, "message_end", 0), find(s, "reasoning_done", 1)) // which alone is allowed
	return []broken{
		{rule: RuleReasoning, name: "closes after message_start",
			packets: move(s, find(s, "reasoning_done", 0), find(s, "message_delta", 0))},
		{rule: RuleReasoning, name: "closes after tool_start",
			packets: move(searching(), find(searching(), "reasoning_done", 0), find(searching(), "tool_args", 0))},
		{rule: RuleReasoning, name: "answer in the turn of the reasoning",
			packets: shift(s, packet.At(1, 0), packet.At(0, 1))},
		{rule: RuleReasoning, name: "reasoning again in the same turn",
			packets: shift(s, packet.At(2, 0), packet.At(1, 1))},
		{rule: RuleReasoning, name: "two blocks in one place", packets: shift(s, packet.At(3, 0), packet.At(2, 0))},
		{rule: RuleReasoning, name: "delta while reasoning",
			packets: move(ended, find(ended, "message_delta", 0), find(ended, "message_end", 0))},
	}
}

func brokenCitations() []broken {
	s := searching()
	return []broken{
		{rule: RuleCitation, name: "marker before its info",
			packets: move(s, find(s, "citation_info", 0), find(s, "message_delta", 3))},
		{rule: RuleCitation, name: "marker begins before its info",
			packets: replace(replace(s, "message_delta", 1, delta("A hull [")), "message_delta", 2, delta("[1]]"))},
		{rule: RuleCitation, name: "info twice", packets: repeat(s, "citation_info", 0)},
		{rule: RuleCitation, name: "document under two numbers",
			packets: replace(s, "citation_info", 1, cite(2, "d_1"))},
		{rule: RuleCitation, name: "numbers with a gap", packets: replace(s, "citation_info", 1, cite(3, "d_2"))},
		{rule: RuleCitation, name: "not in order of use",
			packets: replace(move(s, find(s, "citation_info", 1), find(s, "message_delta", 2)), "message_delta", 2,
				delta("[[2]]"))},
		{rule: RuleCitation, name: "announced and never shown",
			packets: replace(s, "message_delta", 4, delta("[[1]]"))},
		{rule: RuleCitation, name: "support without info", packets: replace(s, "citation_support", 0,
			packet.CitationSupport{CitationNumber: 7, End: 3, Support: packet.SupportWeak})},
		{rule: RuleCitation, name: "support beyond the text", packets: replace(s, "citation_support", 0,
			packet.CitationSupport{CitationNumber: 1, End: 900, Support: packet.SupportWeak})},
	}
}

func brokenTools() []broken {
	a, s := asking(), searching()
	orphan := toolStart("c_2")
	orphan.ParentCallID = "c_9"
	return []broken{
		{rule: RuleToolBlock, name: "args delta after args",
			packets: move(a, find(a, "tool_args", 0), find(a, "tool_args_delta", 1))},
		{rule: RuleToolBlock, name: "output before args",
			packets: move(a, find(a, "tool_output", 0), find(a, "tool_args", 0))},
		{rule: RuleToolBlock, name: "no args", packets: drop(a, "tool_args", 0)},
		{rule: RuleToolBlock, name: "args twice", packets: repeat(a, "tool_args", 0)},
		{rule: RuleToolBlock, name: "ok without dispatch", packets: replace(stopped(), "section_end", 1, done)},
		{rule: RuleToolBlock, name: "output after error",
			packets: insert(s, find(s, "section_end", 1), packet.At(2, 2),
				packet.ToolOutput{CallID: "c_2", Channel: "text"})},
		{rule: RuleToolBlock, name: "error and ok", packets: replace(s, "section_end", 1, done)},
		{rule: RuleToolBlock, name: "approval unresolved", packets: drop(a, "approval_resolved", 0)},
		{rule: RuleToolBlock, name: "input unresolved", packets: drop(a, "input_resolved", 0)},
		{rule: RuleToolBlock, name: "approval resolved twice", packets: repeat(a, "approval_resolved", 0)},
		{rule: RuleToolBlock, name: "input never asked", packets: drop(a, "input_request", 0)},
		{rule: RuleToolBlock, name: "approval asked twice", packets: repeat(a, "approval_request", 0)},
		{rule: RuleToolBlock, name: "packet of another call",
			packets: replace(s, "tool_progress", 0, packet.ToolProgress{CallID: "c_1"})},
		{rule: RuleToolBlock, name: "call id twice", packets: replace(s, "tool_start", 1, toolStart("c_1"))},
		{rule: RuleToolBlock, name: "no call id", packets: replace(stopped(), "tool_start", 1, toolStart(""))},
		{rule: RuleToolBlock, name: "unknown parent", packets: replace(nesting(), "tool_start", 1, orphan)},
		{rule: RuleToolBlock, name: "announced and never opened",
			packets: drop(drop(stopped(), "tool_start", 1), "section_end", 1)},
	}
}

func brokenAgents() []broken {
	r := researching()
	inner, nested := toolStart("c_2"), packet.At(0, 0).Nested(4, 0)
	started := find(r, "research_agent_start", 0)
	outside := slices.Delete(slices.Clone(r), started, started+1)
	cited := func(docs ...packet.Document) packet.Obj { return packet.IntermediateReportCitedDocs{Documents: docs} }
	return []broken{
		{rule: RuleToolBlock, name: "agent before the args", packets: move(r, started, find(r, "tool_args", 0))},
		{rule: RuleToolBlock, name: "agent starts twice", packets: repeat(r, "research_agent_start", 0)},
		{rule: RuleToolBlock, name: "agent starts after its first block",
			packets: move(r, started, find(r, "tool_start", 1))},
		{rule: RuleToolBlock, name: "call of an agent without its parent", packets: replace(r, "tool_start", 1, inner)},
		{rule: RuleFields, name: "agent inside an agent",
			packets: insert(r, find(r, "section_end", 0), packet.At(0, 0).Nested(1, 0), packet.ResearchAgentStart{})},
		{rule: RuleFields, name: "report where no agent works", packets: renumber(outside)},
		{rule: RuleFields, name: "report at the place of the call",
			packets: insert(r, find(r, "section_end", 1), packet.At(0, 0), packet.IntermediateReportStart{})},
		{rule: RuleClosed, name: "agent outside a call",
			packets: insert(r, find(r, "message_end", 0), packet.At(1, 0), packet.ResearchAgentStart{})},
		{rule: RuleClosed, name: "no report end", packets: drop(r, "intermediate_report_end", 0)},
		{rule: RuleClosed, name: "no report start", packets: drop(r, "intermediate_report_start", 0)},
		{rule: RuleClosed, name: "report ends twice", packets: repeat(r, "intermediate_report_end", 0)},
		{rule: RuleClosed, name: "answer text in a report",
			packets: insert(r, find(r, "intermediate_report_end", 0), packet.At(0, 0).Nested(2, 0), delta("x"))},
		{rule: RuleClosed, name: "call ends before the report",
			packets: move(r, find(r, "section_end", 1), find(r, "intermediate_report_end", 0))},
		{rule: RuleTurnOrder, name: "report falls back",
			packets: shift(r, packet.At(0, 0).Nested(2, 0), packet.At(0, 0).Nested(0, 1))},
		{rule: RuleNarration, name: "report in the turn of a call",
			packets: shift(r, packet.At(0, 0).Nested(2, 0), packet.At(0, 0).Nested(1, 1))},
		{rule: RuleReasoning, name: "report while reasoning",
			packets: insert(insert(insert(insert(r, find(r, "section_end", 1), nested, packet.ReasoningStart{}),
				find(r, "section_end", 1)+1, packet.At(0, 0).Nested(5, 0), packet.IntermediateReportStart{}),
				find(r, "section_end", 1)+2, packet.At(0, 0).Nested(5, 0), packet.IntermediateReportEnd{}),
				find(r, "section_end", 1)+3, nested, packet.ReasoningDone{})},
		{rule: RuleCitation, name: "text after the cited documents",
			packets: move(r, find(r, "intermediate_report_delta", 0), find(r, "intermediate_report_end", 0))},
		{rule: RuleCitation, name: "cited documents twice", packets: repeat(r, "intermediate_report_cited_docs", 0)},
		{rule: RuleCitation, name: "no cited document",
			packets: replace(r, "intermediate_report_cited_docs", 0, cited())},
		{rule: RuleCitation, name: "a cited document without a ref",
			packets: replace(r, "intermediate_report_cited_docs", 0, cited(document("d", 0)))},
		{rule: RuleCitation, name: "a document cited twice",
			packets: replace(r, "intermediate_report_cited_docs", 0, cited(document("d", 7), document("d", 7)))},
	}
}

func brokenNarration() []broken {
	return []broken{
		{rule: RuleNarration, name: "call in the turn of the narration",
			packets: shift(shift(searching(), packet.At(2, 0), packet.At(1, 1)), packet.At(2, 2), packet.At(1, 2))},
		{rule: RuleNarration, name: "answer in the turn of the call",
			packets: shift(asking(), packet.At(1, 0), packet.At(0, 1))},
	}
}

func brokenStops() []broken {
	p := plain()
	return []broken{
		{rule: RuleStop, name: "notice after the model's stop",
			packets: insert(p, len(p)-1, packet.At(0, 0), packet.NewNotice(packet.CodeCutOff, ""))},
		{rule: RuleStop, name: "model stops twice", packets: repeat(p, "stop", 0)},
		{rule: RuleStop, name: "notice after the run's stop",
			packets: insert(p, len(p), packet.At(0, 0), packet.NewNotice(packet.CodeCutOff, ""))},
		{rule: RuleStop, name: "run stops twice", packets: repeat(p, "stop", 1)},
		{rule: RuleStop, name: "no stop of the run", packets: drop(p, "stop", 1)},
		{rule: RuleStop, name: "no stop of the model", packets: drop(p, "stop", 0)},
		{rule: RuleStop, name: "run stops before a model",
			packets: move(comparing(), len(comparing())-1, len(comparing())-2)},
		{rule: RuleStop, name: "reason is not the models'", packets: replace(p, "stop", 1, stop(packet.StopError))},
		{rule: RuleStop, name: "reason is the wrong model's",
			packets: replace(comparing(), "stop", 2, stop(packet.StopError))},
		{rule: RuleStop, name: "nothing at all", packets: nil},
	}
}

func brokenText() []broken {
	return []broken{
		{rule: RuleStoredText, name: "a delta is missing", packets: drop(plain(), "message_delta", 1),
			options: []Option{Stored(0, "The hull.")}},
		{rule: RuleStoredText, name: "deltas in another order",
			packets: move(plain(), find(plain(), "message_delta", 1), find(plain(), "message_delta", 0)),
			options: []Option{Stored(0, "The hull.")}},
		{rule: RuleStoredText, name: "an answer that never came", packets: stopped(),
			options: []Option{Stored(0, "text")}},
	}
}

// shiftOne moves the first packet of a type to another place.
func shiftOne(packets []packet.Packet, name string, to packet.Placement) []packet.Packet {
	out := slices.Clone(packets)
	i := find(packets, name, 0)
	out[i].Placement = to.ForModel(*out[i].Placement.ModelIndex)
	return out
}

func TestBrokenStreamsAreCaught(t *testing.T) {
	perRule := map[int]int{}
	for _, tc := range brokenStreams() {
		perRule[tc.rule]++
		t.Run(fmt.Sprintf("rule %d %s", tc.rule, tc.name), func(t *testing.T) {
			found := Check(tc.packets, tc.options...)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == tc.rule && v.Sentence != "" }) {
				t.Fatalf("rule %d is broken and found was: %v\n%s", tc.rule, found, Dump(tc.packets))
			}
		})
	}
	for rule := RuleFields; rule <= RuleStoredText; rule++ {
		if perRule[rule] < 2 {
			t.Errorf("rule %d has %d broken streams, want at least 2", rule, perRule[rule])
		}
	}
}

func TestAddReturnsWhatThePacketShows(t *testing.T) {
	packets := repeat(plain(), "message_end", 0)
	c := NewChecker(Running())
	second := find(packets, "message_end", 1)
	for i, p := range packets {
		found := c.Add(p)
		if (len(found) > 0) != (i == second) {
			t.Fatalf("packet %d of %d shows %v", i, len(packets), found)
		}
	}
	if len(c.Violations()) != 1 || len(c.Close()) != 1 {
		t.Fatalf("violations are %v", c.Violations())
	}
}

// failure records what Require says.
type failure struct{ text string }

func (f *failure) Helper() {}
func (f *failure) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
}

func TestRequireShowsTheStream(t *testing.T) {
	var f failure
	Require(&f, drop(plain(), "message_end", 0))
	for _, want := range []string{"rule 3", "still open", `{"type":"message_delta","content":"hull."}`} {
		if !strings.Contains(f.text, want) {
			t.Errorf("%q is not in:\n%s", want, f.text)
		}
	}
}

func TestReplay(t *testing.T) {
	sent := searching()
	recut := replace(sent, "message_delta", 0, delta("I look "))
	recut = insert(recut, find(recut, "message_delta", 0)+1, packet.At(1, 0), delta("it up."))
	if found := CheckReplay(sent, recut); len(found) != 0 {
		t.Errorf("the same text in other pieces: %v", found)
	}
	for name, replay := range map[string][]packet.Packet{
		"a block is missing": slices.DeleteFunc(slices.Clone(sent),
			func(p packet.Packet) bool { return p.Placement.TurnIndex == 1 }),
		"other text":      replace(sent, "message_delta", 0, delta("I look it u.")),
		"another place":   shift(sent, packet.At(3, 0), packet.At(4, 0)),
		"another outcome": replace(sent, "section_end", 0, packet.SectionEnd{Outcome: packet.OutcomeError}),
		"citation later":  move(sent, find(sent, "citation_info", 0), find(sent, "message_delta", 3)),
		"nothing":         nil,
	} {
		found := CheckReplay(sent, replay)
		if len(found) == 0 || found[0].Rule != RuleSameReplay {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

func TestTextLeavesNestedAgentsOut(t *testing.T) {
	if got := Text(nesting(), 0); got != "Outer." {
		t.Errorf("text is %q", got)
	}
	if got := Text(comparing(), 1); got != "B" {
		t.Errorf("text of model 1 is %q", got)
	}
}
