package journal

import (
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// joinedBytes bounds a delta that compaction makes, so that no frame to a client
// grows without bounds.
const joinedBytes = 32 << 10

// compact joins deltas of a block that follow each other in it, and tells whether
// there were any. What a client draws stays the same, and facts stand where they
// stood: behind every packet that stood before them.
func compact(records []Record) (kept []Record, joined bool) {
	kept = make([]Record, 0, min(len(records), 256))
	last := map[packet.Key]*growing{} // the newest packet of each block, nil for no delta
	for _, r := range records {
		if r.Obj == nil {
			kept = append(kept, r)
			if r.Fact != nil { // nothing moves across a fact
				for _, d := range last {
					d.write(kept)
				}
				clear(last)
			}
			continue
		}
		key := r.Place.Key()
		thread, text := threadOf(r.Obj)
		if d := last[key]; d != nil {
			if d.thread == thread && d.text.Len()+len(text) <= joinedBytes {
				d.text.WriteString(text)
				d.joined, joined = true, true
				continue
			}
			d.write(kept)
		}
		last[key] = nil
		if thread.kind != "" {
			d := &growing{at: len(kept), thread: thread}
			d.text.WriteString(text)
			last[key] = d
		}
		kept = append(kept, r)
	}
	for _, d := range last {
		d.write(kept)
	}
	return kept, joined
}

// growing is a delta that others are joined to.
type growing struct {
	at     int // its place among what is kept
	thread thread
	text   strings.Builder
	joined bool
}

// write puts what was joined in its place.
func (d *growing) write(kept []Record) {
	if d != nil && d.joined {
		r := &kept[d.at]
		r.Obj, r.stored = withText(r.Obj, d.text.String()), nil
	}
}

// thread is what deltas have in common that can be joined. The zero thread is that
// of a packet which is none.
type thread struct {
	kind      string
	call, key string
}

// threadOf returns the thread of a delta and its text.
func threadOf(obj packet.Obj) (thread, string) {
	switch o := obj.(type) {
	case packet.MessageDelta:
		return thread{kind: o.Type()}, o.Content
	case packet.ReasoningDelta:
		return thread{kind: o.Type()}, o.Reasoning
	case packet.IntermediateReportDelta:
		return thread{kind: o.Type()}, o.Content
	case packet.ToolOutput:
		return thread{o.Type(), o.CallID, string(o.Channel)}, o.Delta
	case packet.ToolArgsDelta:
		return thread{o.Type(), o.CallID, o.Key}, o.Delta
	}
	return thread{}, ""
}

// withText is a delta with another text.
func withText(obj packet.Obj, text string) packet.Obj {
	switch o := obj.(type) {
	case packet.MessageDelta:
		o.Content = text
		return o
	case packet.ReasoningDelta:
		o.Reasoning = text
		return o
	case packet.IntermediateReportDelta:
		o.Content = text
		return o
	case packet.ToolOutput:
		o.Delta = text
		return o
	case packet.ToolArgsDelta:
		o.Delta = text
		return o
	}
	return obj
}
