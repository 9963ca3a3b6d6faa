package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// entry is what checking and rewriting a module gave: it is the same each time, so the
// cache keeps it beside the compiled code, and a later load neither validates nor rewrites.
type entry struct {
	summary *summary
	// hardened are the bytes for the compiler, in an entry of the cache without the code
	// that is compiled already (summary.Code).
	hardened []byte
}

// errEntry is returned when the bytes of an entry are not such.
var errEntry = errors.New("the cache's entry of a module is damaged")

// lengthBytes is the size of the number before the summary.
const lengthBytes = 4

// encode returns the entry as it is kept: the length of the summary (4 bytes, the lowest
// first), the summary as JSON, and the hardened bytes to the end.
func (e *entry) encode() ([]byte, error) {
	text, err := json.Marshal(e.summary)
	if err != nil {
		return nil, fmt.Errorf("encode a module's summary: %w", err)
	}
	out := make([]byte, lengthBytes, lengthBytes+len(text)+len(e.hardened))
	binary.LittleEndian.PutUint32(out, uint32(len(text)))
	return append(append(out, text...), e.hardened...), nil
}

// decodeEntry reads what encode returned. The entry's bytes are a view into data. Bytes
// that are no entry give an error that is errEntry.
func decodeEntry(data []byte) (*entry, error) {
	if len(data) < lengthBytes {
		return nil, errEntry
	}
	length := uint64(binary.LittleEndian.Uint32(data))
	if length > uint64(len(data)-lengthBytes) {
		return nil, errEntry
	}
	text, hardened := data[lengthBytes:lengthBytes+length], data[lengthBytes+length:]
	s := &summary{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%w: %w", errEntry, err)
	}
	return &entry{s, hardened}, nil
}
