// Package packetgen draws valid streams of packets for property tests.
//
// A rapid.T comes in; the packets of one whole run go out, of one to three
// models whose packets interleave, with reasoning, narration, parallel and
// nested calls, asks, failures, citations and every reason to stop. It knows
// the packets and nothing of who checks or carries them.
package packetgen

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Stream draws a whole valid stream, of run r_1 in epoch 1.
func Stream(t *rapid.T) []packet.Packet {
	var models []packet.Response
	var tracks [][]packet.Packet
	var reasons []packet.StopReason
	calls := 0
	for m := range rapid.IntRange(1, 3).Draw(t, "models") {
		w := writer{t: t, model: m, calls: &calls}
		written, reason := w.write()
		var track []packet.Packet
		for _, g := range written {
			track = append(track, interleave(t, g)...)
		}
		models = append(models, packet.Response{ModelIndex: m, MessageID: fmt.Sprintf("m_%d", m), Model: "local"})
		tracks, reasons = append(tracks, track), append(reasons, reason)
	}
	var all []packet.Packet
	if rapid.Bool().Draw(t, "new session") {
		all = append(all, packet.Packet{Obj: packet.SessionCreated{SessionID: "s_1"}})
	}
	all = append(all, packet.Packet{Obj: packet.RunStarted{UserMessageID: "m_user", Responses: models}})
	all = append(all, interleave(t, tracks)...)
	all = append(all, packet.Packet{Obj: packet.Stop{Reason: packet.RunReason(reasons)}})
	for i := range all {
		all[i].Run, all[i].Epoch, all[i].Seq = "r_1", 1, int64(i)+1
	}
	return all
}

// script is what one model is going to send, as tracks that may interleave only
// inside a group: the packets of a group's tracks keep their order per track,
// and the groups follow each other.
type script []group

type group [][]packet.Packet

// writer draws the script of one model.
type writer struct {
	t     *rapid.T
	model int
	turn  int
	calls *int
	cited int
	out   script
}

func (w *writer) step(place packet.Placement, objs ...packet.Obj) {
	w.out = append(w.out, group{w.track(place, objs...)})
}

func (w *writer) track(place packet.Placement, objs ...packet.Obj) []packet.Packet {
	var track []packet.Packet
	for _, obj := range objs {
		track = append(track, packet.Packet{Placement: place.ForModel(w.model), Obj: obj})
	}
	return track
}

func (w *writer) next() packet.Placement {
	place := packet.At(w.turn, 0)
	w.turn += 1 + rapid.IntRange(0, 1).Draw(w.t, "turn gap")
	return place
}

func (w *writer) maybe(label string) bool { return rapid.Bool().Draw(w.t, label) }

func (w *writer) reasoning() {
	w.step(w.next(), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: rapid.String().Draw(w.t, "reasoning")},
		packet.ReasoningDone{})
}

// message draws a block of text with citations; brackets in its own text are
// left out, so that only the markers are markers.
func (w *writer) message() {
	objs := []packet.Obj{packet.MessageStart{}}
	for range rapid.IntRange(1, 3).Draw(w.t, "deltas") {
		objs = append(objs, text(rapid.StringMatching(`[a-zé \n]{1,8}`).Draw(w.t, "text")))
		if w.maybe("cite") {
			w.cited++
			objs = append(objs, w.cite(), text(fmt.Sprintf("[[%d]]", w.cited)))
		}
	}
	w.step(w.next(), append(objs, packet.MessageEnd{})...)
}

// call draws one tool block. Where depth allows, an agent runs inside it.
func (w *writer) call(place packet.Placement, nest bool) []packet.Packet {
	*w.calls++
	id := fmt.Sprintf("c_%d", *w.calls)
	objs := []packet.Obj{packet.ToolStart{CallID: id, Tool: "internal_search", Plugin: "search", Title: "Search",
		Labels: []string{"private_data"}}}
	if w.maybe("undispatched") {
		return w.track(place, append(objs, packet.SectionEnd{Outcome: packet.OutcomeCancelled})...)
	}
	if w.maybe("streamed") {
		objs = append(objs, packet.ToolArgsDelta{CallID: id, Key: "q", Delta: "x"})
	}
	objs = append(objs, packet.ToolArgs{CallID: id, Arguments: json.RawMessage(`{"queries":["hull"]}`)})
	if w.maybe("asks") {
		objs = append(objs, packet.ApprovalRequest{ApprovalID: "a" + id, CallID: id, Details: json.RawMessage(`{}`)},
			packet.ApprovalResolved{ApprovalID: "a" + id, Decision: "once"})
	}
	if w.maybe("output") {
		objs = append(objs, packet.ToolOutput{CallID: id, Channel: packet.ChannelText, Delta: "o"},
			packet.ToolDocuments{CallID: id, Documents: []packet.Document{document(1)}})
	}
	track := w.track(place, objs...)
	if nest && w.maybe("agent") {
		track = append(track, w.agent(place, id)...)
	}
	if w.maybe("fails") {
		return append(track, w.track(place, packet.ToolError{CallID: id, Kind: packet.ToolErrorFailed,
			Message: "It failed."},
			packet.SectionEnd{Outcome: packet.OutcomeError})...)
	}
	return append(track, w.track(place, packet.SectionEnd{Outcome: packet.OutcomeOK, DurationMS: 3})...)
}

// agent draws an agent inside the call id.
func (w *writer) agent(place packet.Placement, id string) []packet.Packet {
	track := w.track(place, packet.ResearchAgentStart{ResearchTask: rapid.String().Draw(w.t, "task")})
	track = append(track, w.track(place.Nested(0, 0), packet.ReasoningStart{}, packet.ReasoningDone{})...)
	for tab := range 2 {
		for _, p := range w.call(place.Nested(1, tab), false) {
			if start, ok := p.Obj.(packet.ToolStart); ok {
				start.ParentCallID = id
				p.Obj = start
			}
			track = append(track, p)
		}
	}
	report := []packet.Obj{packet.IntermediateReportStart{},
		packet.IntermediateReportDelta{Content: rapid.String().Draw(w.t, "report")}}
	if w.maybe("cited docs") {
		report = append(report, packet.IntermediateReportCitedDocs{Documents: []packet.Document{document(1)}})
	}
	return append(track, w.track(place.Nested(2, 0), append(report, packet.IntermediateReportEnd{})...)...)
}

// tools draws a tool turn of parallel calls.
func (w *writer) tools() {
	place := w.next()
	n := rapid.IntRange(1, 3).Draw(w.t, "calls")
	announcement := packet.TopLevelBranching{TurnIndex: place.TurnIndex}
	var g group
	for tab := range n {
		announcement.Tabs = append(announcement.Tabs, tab*2)
		g = append(g, w.call(packet.At(place.TurnIndex, tab*2), true))
	}
	w.step(place, announcement)
	w.out = append(w.out, g)
}

func (w *writer) write() (script, packet.StopReason) {
	for range rapid.IntRange(0, 2).Draw(w.t, "cycles") {
		if w.maybe("reasons") {
			w.reasoning()
		}
		if w.maybe("narrates") {
			w.message()
		}
		w.step(packet.At(w.turn, 0), packet.Usage{InputTokens: 10, OutputTokens: 4})
		w.tools()
	}
	if w.maybe("reasons at last") {
		w.reasoning()
	}
	w.message()
	reason := rapid.SampledFrom([]packet.StopReason{packet.StopCompleted, packet.StopUserCancelled, packet.StopError,
		packet.StopInterrupted, packet.StopAwaitingUser}).Draw(w.t, "reason")
	if reason == packet.StopError {
		w.step(packet.At(w.turn, 0), packet.NewError(packet.CodeModelFailed, ""))
	}
	w.step(packet.At(w.turn, 0), packet.Stop{Reason: reason})
	return w.out, reason
}

// interleave draws one order of tracks in which each keeps its own.
func interleave(t *rapid.T, tracks [][]packet.Packet) []packet.Packet {
	var out []packet.Packet
	tracks = slices.Clone(tracks)
	for {
		tracks = slices.DeleteFunc(tracks, func(track []packet.Packet) bool { return len(track) == 0 })
		if len(tracks) == 0 {
			return out
		}
		i := rapid.IntRange(0, len(tracks)-1).Draw(t, "track")
		out = append(out, tracks[i][0])
		tracks[i] = tracks[i][1:]
	}
}

func text(content string) packet.Obj { return packet.MessageDelta{Content: content} }

// cite announces the answer's next citation, whose document is new.
func (w *writer) cite() packet.Obj {
	return packet.CitationInfo{CitationNumber: w.cited, Ref: w.cited + 100, Document: document(w.cited)}
}

func document(n int) packet.Document {
	return packet.Document{ID: fmt.Sprintf("d_%d", n), Ref: n + 100, Title: "Hulls", Snippet: "A hull is a shell.",
		Source: "knowledge"}
}
