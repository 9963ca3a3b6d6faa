package journal

import (
	"slices"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Closing is a packet that is missing at the end of a log.
type Closing struct {
	Place packet.Placement
	Obj   packet.Obj
}

// Unfinished returns what a log that broke off lacks, in order: the resolution
// of open requests, the end of each open block, a stop for each model that has
// none, and the stop of the run. Blocks end as interrupted and models stop as
// interrupted, those whose error is in the log as error. models is the number of
// models of the run, for a log that broke off before its run_started. It returns nil
// for a log that ended.
func Unfinished(packets []packet.Packet, models int) []Closing {
	s := scan{stopped: map[int]packet.StopReason{}, failed: map[int]bool{}}
	for _, p := range packets {
		s.see(p)
	}
	if s.ended {
		return nil
	}
	return s.closings(max(models, s.models))
}

// scan is what a reading of a log has found open.
type scan struct {
	// blocks are open, in the order in which they were opened.
	blocks []openBlock
	// stopped has the reason of each model that stopped.
	stopped map[int]packet.StopReason
	// failed tells which models have sent their error.
	failed map[int]bool
	models int
	ended  bool
}

type openBlock struct {
	place packet.Placement
	close packet.Obj
	// requests are the resolutions that the block still owes.
	requests []request
}

type request struct {
	id         string
	resolution packet.Obj
}

func (s *scan) see(p packet.Packet) {
	switch o := p.Obj.(type) {
	case packet.RunStarted:
		s.models = len(o.Responses)
	case packet.ReasoningStart:
		s.open(p.Placement, packet.ReasoningDone{})
	case packet.MessageStart:
		s.open(p.Placement, packet.MessageEnd{})
	case packet.IntermediateReportStart:
		s.open(p.Placement, packet.IntermediateReportEnd{})
	case packet.ToolStart:
		s.open(p.Placement, packet.SectionEnd{Outcome: packet.OutcomeInterrupted})
	case packet.ReasoningDone, packet.MessageEnd, packet.IntermediateReportEnd, packet.SectionEnd:
		s.blocks = slices.DeleteFunc(s.blocks, func(b openBlock) bool { return b.place.Key() == p.Placement.Key() })
	case packet.ApprovalRequest:
		resolved := packet.ApprovalResolved{ApprovalID: o.ApprovalID, Decision: "cancelled", By: "host"}
		s.ask(p.Placement, request{o.ApprovalID, resolved})
	case packet.InputRequest:
		s.ask(p.Placement, request{o.InputID, packet.InputResolved{InputID: o.InputID, Action: "cancel"}})
	case packet.ApprovalResolved:
		s.answered(p.Placement, o.ApprovalID)
	case packet.InputResolved:
		s.answered(p.Placement, o.InputID)
	case packet.Error:
		if p.Placement.ModelIndex != nil {
			s.failed[*p.Placement.ModelIndex] = true
		}
	case packet.Stop:
		if p.Placement.ModelIndex == nil {
			s.ended = true
		} else {
			s.stopped[*p.Placement.ModelIndex] = o.Reason
		}
	}
}

func (s *scan) open(place packet.Placement, end packet.Obj) {
	s.blocks = append(s.blocks, openBlock{place: place, close: end})
}

// block returns the open block at place, or nil.
func (s *scan) block(place packet.Placement) *openBlock {
	for i := range s.blocks {
		if s.blocks[i].place.Key() == place.Key() {
			return &s.blocks[i]
		}
	}
	return nil
}

func (s *scan) ask(place packet.Placement, r request) {
	if b := s.block(place); b != nil {
		b.requests = append(b.requests, r)
	}
}

func (s *scan) answered(place packet.Placement, id string) {
	if b := s.block(place); b != nil {
		b.requests = slices.DeleteFunc(b.requests, func(r request) bool { return r.id == id })
	}
}

// closings ends what is open, the youngest block first: a nested block ends
// before the one around it.
func (s *scan) closings(models int) []Closing {
	var out []Closing
	for _, b := range slices.Backward(s.blocks) {
		for _, r := range b.requests {
			out = append(out, Closing{b.place, r.resolution})
		}
		out = append(out, Closing{b.place, b.close})
	}
	var reasons []packet.StopReason
	for m := range models {
		reason, ok := s.stopped[m]
		if !ok {
			reason = packet.StopInterrupted
			if s.failed[m] {
				reason = packet.StopError
			}
			out = append(out, Closing{packet.At(0, 0).ForModel(m), packet.Stop{Reason: reason}})
		}
		reasons = append(reasons, reason)
	}
	return append(out, Closing{packet.At(0, 0), packet.Stop{Reason: packet.RunReason(reasons)}})
}
