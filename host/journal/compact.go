package journal

import "github.com/bulkhead-host/bulkhead/host/packet"

// joinedBytes bounds a delta that compaction makes, so that no frame to a client
// grows without bounds.
const joinedBytes = 32 << 10

// compact joins deltas of a block that follow each other in it, and tells whether
// there were any. What a client draws stays the same, and facts stand where they
// stood: behind every packet that stood before them.
func compact(records []Record) (kept []Record, joined bool) {
	last := map[packet.Key]int{} // the block's newest packet in kept
	for _, r := range records {
		if r.Obj == nil {
			kept = append(kept, r)
			if r.Fact != nil {
				clear(last) // nothing moves across a fact
			}
			continue
		}
		key := r.Place.Key()
		if i, ok := last[key]; ok {
			if one, ok := join(kept[i].Obj, r.Obj); ok {
				kept[i].Obj, joined = one, true
				continue
			}
		}
		last[key] = len(kept)
		kept = append(kept, r)
	}
	return kept, joined
}

// join makes one delta of two of the same kind.
func join(last, next packet.Obj) (packet.Obj, bool) {
	switch a := last.(type) {
	case packet.MessageDelta:
		b, ok := next.(packet.MessageDelta)
		ok = ok && len(a.Content)+len(b.Content) <= joinedBytes
		a.Content += b.Content
		return a, ok
	case packet.ReasoningDelta:
		b, ok := next.(packet.ReasoningDelta)
		ok = ok && len(a.Reasoning)+len(b.Reasoning) <= joinedBytes
		a.Reasoning += b.Reasoning
		return a, ok
	case packet.IntermediateReportDelta:
		b, ok := next.(packet.IntermediateReportDelta)
		ok = ok && len(a.Content)+len(b.Content) <= joinedBytes
		a.Content += b.Content
		return a, ok
	case packet.ToolOutput:
		b, ok := next.(packet.ToolOutput)
		ok = ok && a.CallID == b.CallID && a.Channel == b.Channel && len(a.Delta)+len(b.Delta) <= joinedBytes
		a.Delta += b.Delta
		return a, ok
	case packet.ToolArgsDelta:
		b, ok := next.(packet.ToolArgsDelta)
		ok = ok && a.CallID == b.CallID && a.Key == b.Key && len(a.Delta)+len(b.Delta) <= joinedBytes
		a.Delta += b.Delta
		return a, ok
	}
	return nil, false
}
