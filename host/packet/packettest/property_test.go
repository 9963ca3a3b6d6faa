package packettest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"pgregory.net/rapid"
)

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
		track = append(track, packet.Packet{Run: "r_1", Epoch: 1, Placement: place.ForModel(w.model), Obj: obj})
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
	w.step(w.next(), packet.ReasoningStart{}, packet.ReasoningDelta{Reasoning: rapid.String().Draw(w.t, "reasoning")}, packet.ReasoningDone{})
}

// message draws a block of text with citations; brackets in its own text are
// left out, so that only the markers are markers.
func (w *writer) message() {
	objs := []packet.Obj{packet.MessageStart{}}
	for range rapid.IntRange(1, 3).Draw(w.t, "deltas") {
		objs = append(objs, delta(rapid.StringMatching(`[a-zé \n]{1,8}`).Draw(w.t, "text")))
		if w.maybe("cite") {
			w.cited++
			objs = append(objs, cite(w.cited, fmt.Sprintf("d_%d", w.cited)), delta(fmt.Sprintf("[[%d]]", w.cited)))
		}
	}
	w.step(w.next(), append(objs, packet.MessageEnd{})...)
}

// call draws one tool block. Where depth allows, an agent runs inside it.
func (w *writer) call(place packet.Placement, nest bool) []packet.Packet {
	*w.calls++
	id := fmt.Sprintf("c_%d", *w.calls)
	objs := []packet.Obj{toolStart(id)}
	if w.maybe("undispatched") {
		return w.track(place, append(objs, packet.SectionEnd{Outcome: packet.OutcomeCancelled})...)
	}
	if w.maybe("streamed") {
		objs = append(objs, packet.ToolArgsDelta{CallID: id, Key: "q", Delta: "x"})
	}
	objs = append(objs, toolArgs(id))
	if w.maybe("asks") {
		objs = append(objs, packet.ApprovalRequest{ApprovalID: "a" + id, CallID: id, Details: json.RawMessage(`{}`)},
			packet.ApprovalResolved{ApprovalID: "a" + id, Decision: "once"})
	}
	if w.maybe("output") {
		objs = append(objs, packet.ToolOutput{CallID: id, Channel: packet.ChannelText, Delta: "o"},
			packet.ToolDocuments{CallID: id, Documents: []packet.Document{document("d_1", 101)}})
	}
	track := w.track(place, objs...)
	if nest && w.maybe("agent") {
		track = append(track, w.track(place.Nested(0, 0), packet.ReasoningStart{}, packet.ReasoningDone{})...)
		track = append(track, w.call(place.Nested(1, 0), false)...)
		track = append(track, w.call(place.Nested(1, 1), false)...)
	}
	if w.maybe("fails") {
		return append(track, w.track(place, packet.ToolError{CallID: id, Kind: packet.ToolErrorFailed, Message: "It failed."},
			packet.SectionEnd{Outcome: packet.OutcomeError})...)
	}
	return append(track, w.track(place, done)...)
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
		w.step(packet.At(w.turn, 0), usage)
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
	w.step(packet.At(w.turn, 0), stop(reason))
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

// drawStream draws a whole valid stream of one to three models.
func drawStream(t *rapid.T) []packet.Packet {
	var s stream
	if rapid.Bool().Draw(t, "new session") {
		s.run(packet.SessionCreated{SessionID: "s_1"})
	}
	var models []int
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
		models, tracks, reasons = append(models, m), append(tracks, track), append(reasons, reason)
	}
	s.run(started(models...))
	s = append(s, interleave(t, tracks)...)
	s.run(stop(packet.RunReason(reasons)))
	return renumber(s)
}

func TestEveryValidStreamPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets := drawStream(t)
		Require(t, packets, Stored(0, Text(packets, 0)))
		if found := CheckReplay(packets, slices.Clone(packets)); len(found) != 0 {
			t.Fatalf("a stream is not its own replay: %v", found)
		}
	})
}

// mutations are edits each of which breaks any valid stream. on tells which
// packets an edit applies to.
var mutations = map[string]struct {
	on   func(packet.Packet) bool
	edit func(packets []packet.Packet, i int) []packet.Packet
}{
	"drop": {isFrame, func(p []packet.Packet, i int) []packet.Packet {
		return renumber(slices.Delete(slices.Clone(p), i, i+1))
	}},
	"lose a number": {isAny, func(p []packet.Packet, i int) []packet.Packet {
		return slices.Concat(p[:i], bump(p[i:]))
	}},
	"send twice": {isFrame, func(p []packet.Packet, i int) []packet.Packet {
		return renumber(slices.Insert(slices.Clone(p), i, p[i]))
	}},
	"send after the end": {isAny, func(p []packet.Packet, i int) []packet.Packet {
		return renumber(append(slices.Clone(p), p[i]))
	}},
	"delay beyond the stop": {isClosing, func(p []packet.Packet, i int) []packet.Packet {
		return move(p, i, len(p)-1)
	}},
	"send before run_started": {isOfModel, func(p []packet.Packet, i int) []packet.Packet {
		return move(p, i, 0)
	}},
	"put elsewhere": {isOfBlock, func(p []packet.Packet, i int) []packet.Packet {
		out := slices.Clone(p)
		out[i].Placement.TurnIndex += 1000
		return out
	}},
	"give to another model": {isOfModel, func(p []packet.Packet, i int) []packet.Packet {
		out := slices.Clone(p)
		out[i].Placement = out[i].Placement.ForModel(9)
		return out
	}},
	"take the model away": {isOfBlock, func(p []packet.Packet, i int) []packet.Packet {
		out := slices.Clone(p)
		out[i].Placement.ModelIndex = nil
		return out
	}},
}

func isAny(packet.Packet) bool { return true }

func isOfModel(p packet.Packet) bool { return p.Placement.ModelIndex != nil }

// isFrame is true for packets that a stream needs exactly once.
func isFrame(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.RunStarted, packet.Stop, packet.ReasoningStart, packet.MessageStart, packet.ToolStart, packet.ApprovalRequest,
		packet.ApprovalResolved:
		return true
	}
	return isClosing(p)
}

func isClosing(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.ReasoningDone, packet.MessageEnd, packet.SectionEnd:
		return true
	}
	return false
}

// isOfBlock is true for packets that stand in a block, opening ones left out.
func isOfBlock(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.ReasoningDelta, packet.MessageDelta, packet.CitationInfo, packet.ToolArgs, packet.ToolOutput, packet.ToolError:
		return true
	}
	return isClosing(p)
}

func bump(packets []packet.Packet) []packet.Packet {
	out := slices.Clone(packets)
	for i := range out {
		out[i].Seq++
	}
	return out
}

func TestEverySingleMutationIsCaught(t *testing.T) {
	for name, mutation := range mutations {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				packets := drawStream(t)
				var fitting []int
				for i, p := range packets {
					if mutation.on(p) {
						fitting = append(fitting, i)
					}
				}
				i := rapid.SampledFrom(fitting).Draw(t, "packet")
				broken := mutation.edit(packets, i)
				if len(Check(broken)) == 0 {
					t.Fatalf("not caught at packet %d:\n%s", i+1, Dump(broken))
				}
			})
		})
	}
}
