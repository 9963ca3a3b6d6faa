package loop

import (
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// inside takes the packets of an agent and places them inside the tool block of the
// call in which it works: its turns are sub-turns there, its text is a report, its
// calls name their parent. What ends a model is not passed on: the agent's end is the
// result of its call.
type inside struct {
	emit  packet.Emitter
	place packet.Placement
	call  string

	// mu guards what follows: the agent's calls emit in parallel.
	mu sync.Mutex
	// cited are the documents of the open report; begun says that it has text.
	cited []packet.Document
	begun bool
	open  []openBlock
}

// openBlock is a block that is open, and what closes it.
type openBlock struct {
	place packet.Placement
	close packet.Obj
}

var _ packet.Sink = (*inside)(nil)

// Append implements packet.Sink.
func (s *inside) Append(place packet.Placement, obj packet.Obj) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.place.Nested(place.TurnIndex, place.TabIndex)
	switch o := obj.(type) {
	case packet.TopLevelBranching, packet.CitationSupport, packet.Error, packet.Stop:
	case packet.CitationInfo:
		s.cited = append(s.cited, o.Document)
	case packet.ReasoningStart:
		s.begin(at, o, packet.ReasoningDone{})
	case packet.MessageStart:
		s.cited, s.begun = nil, false
		s.begin(at, packet.IntermediateReportStart{}, packet.IntermediateReportEnd{})
	case packet.MessageDelta:
		if !s.begun { // what sets it off from an earlier block
			o.Content = strings.TrimLeft(o.Content, "\n")
		}
		if s.begun = s.begun || o.Content != ""; o.Content != "" {
			s.emit.Emit(at, packet.IntermediateReportDelta(o))
		}
	case packet.MessageEnd:
		if len(s.cited) > 0 {
			s.emit.Emit(at, packet.IntermediateReportCitedDocs{Documents: s.cited})
		}
		s.finish(at, packet.IntermediateReportEnd{})
	case packet.ToolStart:
		o.ParentCallID = s.call
		s.begin(at, o, packet.SectionEnd{Outcome: packet.OutcomeInterrupted})
	case packet.ReasoningDone, packet.SectionEnd:
		s.finish(at, obj)
	default:
		s.emit.Emit(at, obj)
	}
}

// begin opens a block. mu is held.
func (s *inside) begin(at packet.Placement, obj, end packet.Obj) {
	s.open = append(s.open, openBlock{at, end})
	s.emit.Emit(at, obj)
}

// finish closes a block. mu is held.
func (s *inside) finish(at packet.Placement, obj packet.Obj) {
	s.open = slices.DeleteFunc(s.open, func(b openBlock) bool { return b.place.Key() == at.Key() })
	s.emit.Emit(at, obj)
}

// end closes what is open still, the youngest first.
func (s *inside) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range slices.Backward(s.open) {
		s.emit.Emit(b.place, b.close)
	}
	s.open = nil
}
