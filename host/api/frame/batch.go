package frame

import "github.com/bulkhead-host/bulkhead/host/journal"

// MaxBatchBytes is about how large a packets frame may grow. A reader that comes
// late gets a long run in several.
const MaxBatchBytes = 256 << 10

// NextBatch splits off as many entries as one frame takes, at least one.
func NextBatch(entries []journal.Entry) (batch, rest []journal.Entry) {
	size := 0
	for i, e := range entries {
		size += len(e.JSON) + 1
		if size > MaxBatchBytes && i > 0 {
			return entries[:i], entries[i:]
		}
	}
	return entries, nil
}

// Packets is the frame that carries a batch.
func Packets(batch []journal.Entry) []byte {
	const head, tail = `{"type":"packets","packets":[`, `]}`
	size := len(head) + len(tail)
	for _, e := range batch {
		size += len(e.JSON) + 1
	}
	frame := append(make([]byte, 0, size), head...)
	for i, e := range batch {
		if i > 0 {
			frame = append(frame, ',')
		}
		frame = append(frame, e.JSON...)
	}
	return append(frame, tail...)
}
