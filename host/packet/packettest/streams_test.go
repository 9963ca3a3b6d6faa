package packettest

import (
	"encoding/json"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// stream builds a stream for a test.
type stream []packet.Packet

// at adds packets of one model at one place.
func (s *stream) at(model int, place packet.Placement, objs ...packet.Obj) {
	for _, obj := range objs {
		s.append(place.ForModel(model), obj)
	}
}

// run adds packets that belong to no model.
func (s *stream) run(objs ...packet.Obj) {
	for _, obj := range objs {
		s.append(packet.Placement{}, obj)
	}
}

func (s *stream) append(place packet.Placement, obj packet.Obj) {
	*s = append(*s, packet.Packet{Run: "r_1", Epoch: 1, Seq: int64(len(*s)) + 1, Placement: place, Obj: obj})
}

func started(models ...int) packet.RunStarted {
	var responses []packet.Response
	for _, m := range models {
		responses = append(responses, packet.Response{ModelIndex: m, MessageID: "m_" + string(rune('a'+m)),
			Model: "local"})
	}
	return packet.RunStarted{UserMessageID: "m_user", Responses: responses}
}

func delta(text string) packet.Obj             { return packet.MessageDelta{Content: text} }
func stop(reason packet.StopReason) packet.Obj { return packet.Stop{Reason: reason} }
func toolStart(call string) packet.ToolStart {
	return packet.ToolStart{CallID: call, Tool: "internal_search", Plugin: "search", Title: "Search",
		Labels: []string{}}
}
func toolArgs(call string) packet.Obj {
	return packet.ToolArgs{CallID: call, Arguments: json.RawMessage(`{"queries":["hull"]}`)}
}
func document(id string, ref int) packet.Document {
	return packet.Document{ID: id, Ref: ref, Title: id, Snippet: "A hull is a shell.", Source: "knowledge"}
}
func cite(number int, id string) packet.Obj {
	return packet.CitationInfo{CitationNumber: number, Ref: number + 100, Document: document(id, number+100)}
}

var (
	done  = packet.SectionEnd{Outcome: packet.OutcomeOK, DurationMS: 3, PluginVersion: "1.0.0"}
	usage = packet.Usage{InputTokens: 10, OutputTokens: 4}
)

// plain is an answer without anything around it, in a new session.
func plain() []packet.Packet {
	var s stream
	s.run(packet.SessionCreated{SessionID: "s_1"}, started(0))
	s.at(0, packet.At(0, 0), packet.MessageStart{}, delta("The "), delta("hull."), packet.MessageEnd{}, usage,
		stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// thoughtful reasons twice in one step.
func thoughtful() []packet.Packet {
	var s stream
	s.run(started(0))
	s.at(0, packet.At(0, 0), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: "Hm."},
		packet.ReasoningDone{DurationMS: 4})
	s.at(0, packet.At(1, 0), packet.MessageStart{}, delta("First."), packet.MessageEnd{})
	s.at(0, packet.At(2, 0), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: "More."},
		packet.ReasoningDone{DurationMS: 2})
	s.at(0, packet.At(3, 0), packet.MessageStart{}, delta(" Then."), packet.MessageEnd{}, usage,
		stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// searching is reasoning, narration, two parallel calls and a cited answer.
func searching() []packet.Packet {
	var s stream
	s.run(started(0))
	s.at(0, packet.At(0, 0), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: "Search."},
		packet.ReasoningDone{DurationMS: 1})
	s.at(0, packet.At(1, 0), packet.MessageStart{}, delta("I look it up."), packet.MessageEnd{}, usage)
	s.at(0, packet.At(2, 0), packet.TopLevelBranching{TurnIndex: 2, Tabs: []int{0, 2}})
	s.at(0, packet.At(2, 0), toolStart("c_1"), toolArgs("c_1"))
	s.at(0, packet.At(2, 2), toolStart("c_2"), toolArgs("c_2"), packet.ToolProgress{CallID: "c_2", Message: "reading"})
	s.at(0, packet.At(2, 0), packet.ToolDocuments{CallID: "c_1", Documents: []packet.Document{document("d_1", 101)}},
		done)
	s.at(0, packet.At(2, 2), packet.ToolError{CallID: "c_2", Kind: packet.ToolErrorFailed, Message: "It failed."},
		packet.SectionEnd{Outcome: packet.OutcomeError})
	s.at(0, packet.At(3, 0), packet.MessageStart{}, delta("A hull is a shell "), cite(1, "d_1"), delta("[[1]]"),
		delta(", see "),
		cite(2, "d_2"), delta("[[2]] and [[1]]. Not [[9]]."),
		packet.CitationSupport{CitationNumber: 1, Start: 0, End: 17, Support: packet.SupportStated},
		packet.MessageEnd{}, usage, stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// asking is a streamed call that asks for an approval and for input.
func asking() []packet.Packet {
	var s stream
	s.run(started(0))
	s.at(0, packet.At(0, 0), toolStart("c_1"), packet.ToolArgsDelta{CallID: "c_1", Key: "text", Delta: "ab"},
		packet.ToolArgsDelta{CallID: "c_1", Key: "text", Delta: "c"}, usage, toolArgs("c_1"),
		packet.ApprovalRequest{ApprovalID: "a_1", CallID: "c_1", Details: json.RawMessage(`{}`)},
		packet.ApprovalResolved{ApprovalID: "a_1", Decision: "once", By: "owner"},
		packet.InputRequest{InputID: "i_1", CallID: "c_1", Kind: "form"},
		packet.InputResolved{InputID: "i_1", Action: "accept"},
		packet.ToolOutput{CallID: "c_1", Channel: packet.ChannelText, Delta: "out"},
		packet.ToolFiles{CallID: "c_1", Files: []packet.File{{FileID: "f_1"}}},
		packet.MemoryChanged{CallID: "c_1", Operation: "add", MemoryID: "x"}, done)
	s.at(0, packet.At(1, 0), packet.MessageStart{}, delta("Done."), packet.MessageEnd{}, usage,
		stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// stopped is a run that a person stopped while one call ran and one waited.
func stopped() []packet.Packet {
	var s stream
	s.run(started(0))
	s.at(0, packet.At(0, 0), packet.TopLevelBranching{TurnIndex: 0, Tabs: []int{0, 1}}, toolStart("c_1"),
		toolArgs("c_1"))
	s.at(0, packet.At(0, 0), packet.ApprovalRequest{ApprovalID: "a_1", CallID: "c_1"},
		packet.ApprovalResolved{ApprovalID: "a_1", Decision: "cancelled"},
		packet.SectionEnd{Outcome: packet.OutcomeCancelled})
	s.at(0, packet.At(0, 1), toolStart("c_2"), packet.SectionEnd{Outcome: packet.OutcomeCancelled},
		stop(packet.StopUserCancelled))
	s.run(stop(packet.StopUserCancelled))
	return s
}

// nesting is an agent inside a tool, with parallel calls of its own.
func nesting() []packet.Packet {
	var s stream
	outer := packet.At(0, 0)
	s.run(started(0))
	s.at(0, outer, toolStart("c_1"), toolArgs("c_1"))
	s.at(0, outer.Nested(0, 0), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: "In."},
		packet.ReasoningDone{})
	inner := toolStart("c_2")
	inner.ParentCallID = "c_1"
	s.at(0, outer.Nested(1, 0), inner, toolArgs("c_2"))
	s.at(0, outer.Nested(1, 1), toolStart("c_3"), toolArgs("c_3"))
	s.at(0, outer.Nested(1, 0), done)
	s.at(0, outer.Nested(1, 1), done)
	s.at(0, outer.Nested(2, 0), packet.MessageStart{}, delta("inner [[1]]"), packet.MessageEnd{})
	s.at(0, outer, done)
	s.at(0, packet.At(1, 0), packet.MessageStart{}, delta("Outer."), packet.MessageEnd{}, stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// researching is an agent that says what it does, calls a tool and reports.
func researching() []packet.Packet {
	var s stream
	outer := packet.At(0, 0)
	s.run(started(0))
	s.at(0, outer, toolStart("c_1"), toolArgs("c_1"), packet.ResearchAgentStart{ResearchTask: "Look."})
	s.at(0, outer.Nested(0, 0), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: "In."},
		packet.ReasoningDone{}, usage)
	inner := toolStart("c_2")
	inner.ParentCallID = "c_1"
	s.at(0, outer.Nested(1, 0), inner, toolArgs("c_2"),
		packet.ToolDocuments{CallID: "c_2", Documents: []packet.Document{document("d_1", 101)}}, done)
	s.at(0, outer.Nested(2, 0), packet.IntermediateReportStart{},
		packet.IntermediateReportDelta{Content: "It is [[101]]."},
		packet.IntermediateReportCitedDocs{Documents: []packet.Document{document("d_1", 101)}},
		packet.IntermediateReportEnd{}, usage)
	s.at(0, outer, packet.ToolDocuments{CallID: "c_1", Documents: []packet.Document{document("d_1", 101)}}, done)
	s.at(0, packet.At(1, 0), packet.MessageStart{}, delta("Outer."), packet.MessageEnd{}, stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// comparing is two models, one of which fails.
func comparing() []packet.Packet {
	var s stream
	s.run(started(0, 1))
	s.at(0, packet.At(0, 0), packet.MessageStart{}, delta("A"))
	s.at(1, packet.At(0, 0), packet.MessageStart{}, delta("B"))
	s.at(0, packet.At(0, 0), packet.MessageEnd{}, usage, stop(packet.StopCompleted))
	s.at(1, packet.At(0, 0), packet.MessageEnd{}, packet.NewNotice(packet.CodeCutOff, ""),
		packet.NewError(packet.CodeModelInterrupted, ""),
		stop(packet.StopError))
	s.run(stop(packet.StopCompleted))
	return s
}

// crashed is what recovery makes of a run that was cut off after the
// announcement of its calls.
func crashed() []packet.Packet {
	var s stream
	s.run(started(0))
	s.at(0, packet.At(0, 0), packet.MessageStart{}, delta("I look"), packet.MessageEnd{})
	s.at(0, packet.At(1, 0), packet.TopLevelBranching{TurnIndex: 1, Tabs: []int{0, 1}}, toolStart("c_1"),
		packet.SectionEnd{Outcome: packet.OutcomeInterrupted}, stop(packet.StopInterrupted))
	s.run(stop(packet.StopInterrupted))
	return s
}

// early streams the arguments of a call, reasons on and runs a second call of
// the same turn.
func early() []packet.Packet {
	var s stream
	s.run(started(0))
	s.at(0, packet.At(0, 0), toolStart("c_1"), packet.ToolArgsDelta{CallID: "c_1", Key: "q", Delta: "x"})
	s.at(0, packet.At(1, 0), packet.ReasoningStart{}, packet.ReasoningDone{})
	s.at(0, packet.At(0, 0), packet.TopLevelBranching{TurnIndex: 0, Tabs: []int{0, 1}}, toolArgs("c_1"), done)
	s.at(0, packet.At(0, 1), toolStart("c_2"), toolArgs("c_2"), done)
	s.at(0, packet.At(2, 0), packet.MessageStart{}, delta("Done."), packet.MessageEnd{}, stop(packet.StopCompleted))
	s.run(stop(packet.StopCompleted))
	return s
}

// unknown carries types that this version does not know.
func unknown() []packet.Packet {
	s := stream(plain()[:3])
	s.at(0, packet.At(9, 9), packet.Unknown{Name: "hologram", Raw: json.RawMessage(`{"type":"hologram"}`)})
	return renumber(append(s, plain()[3:]...))
}

// goodStreams are one of each shape.
var goodStreams = map[string]func() []packet.Packet{
	"plain": plain, "thoughtful": thoughtful, "searching": searching, "asking": asking, "stopped": stopped,
	"nesting": nesting, "researching": researching, "comparing": comparing, "crashed": crashed, "early": early,
	"unknown": unknown,
}

// The edits below break a stream; each returns a new one, numbered anew.

func renumber(packets []packet.Packet) []packet.Packet {
	out := slices.Clone(packets)
	for i := range out {
		out[i].Seq = int64(i) + 1
	}
	return out
}

// find returns the index of the nth packet of a type, from 0.
func find(packets []packet.Packet, name string, nth int) int {
	for i, p := range packets {
		if p.Obj.Type() == name {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	panic("the test's stream has no such packet: " + name)
}

func drop(packets []packet.Packet, name string, nth int) []packet.Packet {
	i := find(packets, name, nth)
	return renumber(slices.Delete(slices.Clone(packets), i, i+1))
}

func repeat(packets []packet.Packet, name string, nth int) []packet.Packet {
	i := find(packets, name, nth)
	return renumber(slices.Insert(slices.Clone(packets), i, packets[i]))
}

// move takes the packet at index from out and puts it before what was at to.
func move(packets []packet.Packet, from, to int) []packet.Packet {
	p := packets[from]
	out := slices.Delete(slices.Clone(packets), from, from+1)
	if to > from {
		to--
	}
	return renumber(slices.Insert(out, to, p))
}

// replace puts obj in the place of the nth packet of a type.
func replace(packets []packet.Packet, name string, nth int, obj packet.Obj) []packet.Packet {
	out := slices.Clone(packets)
	out[find(packets, name, nth)].Obj = obj
	return out
}

// shift moves all packets of a block to another place.
func shift(packets []packet.Packet, from, to packet.Placement) []packet.Packet {
	out := slices.Clone(packets)
	for i, p := range out {
		want := from
		want.ModelIndex = p.Placement.ModelIndex
		if want.ModelIndex != nil && p.Placement.Key() == want.Key() {
			out[i].Placement = to.ForModel(*want.ModelIndex)
		}
	}
	return out
}

// insert adds a packet of model 0 before index i.
func insert(packets []packet.Packet, i int, place packet.Placement, obj packet.Obj) []packet.Packet {
	return renumber(slices.Insert(slices.Clone(packets), i,
		packet.Packet{Run: "r_1", Epoch: 1, Placement: place.ForModel(0), Obj: obj}))
}
