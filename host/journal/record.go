package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Record is one entry of a journal: a packet, where Obj is set, or a fact.
type Record struct {
	// Place and Obj are a packet, for clients.
	Place packet.Placement
	Obj   packet.Obj
	// Fact is a fact, for the loop, recovery and history.
	Fact Fact
	// Damaged says why a stored record cannot be read; it is neither then.
	Damaged error
	// Seq and JSON are set where a packet is read: its number in the epoch, and
	// the whole packet as clients get it.
	Seq  int64
	JSON []byte
}

// Packet returns the record of a packet.
func Packet(place packet.Placement, obj packet.Obj) Record { return Record{Place: place, Obj: obj} }

// Of returns the record of a fact.
func Of(f Fact) Record { return Record{Fact: f} }

// ErrDamaged is matched by what Record.Damaged holds.
var ErrDamaged = errors.New("a record of the journal is damaged")

// body is a packet as it is kept: run, epoch and number follow from where it
// stands.
type body struct {
	Placement packet.Placement `json:"placement"`
	Obj       json.RawMessage  `json:"obj"`
}

// encodePacket returns the body of a packet. A payload that cannot be encoded is
// a fault of the host; it becomes a notice, so that the numbering stays whole.
func encodePacket(place packet.Placement, obj packet.Obj) (packet.Obj, []byte) {
	raw, err := packet.EncodeObj(obj)
	if err == nil {
		var data []byte
		if data, err = json.Marshal(body{place, raw}); err == nil {
			return obj, data
		}
	}
	notice := packet.NewNotice(packet.CodeInternal, "")
	raw, _ = packet.EncodeObj(notice) // two strings always encode
	data, _ := json.Marshal(body{place, raw})
	return notice, data
}

// decodePacket reads what encodePacket wrote.
func decodePacket(data []byte) (packet.Placement, packet.Obj, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return packet.Placement{}, nil, fmt.Errorf("decode a packet: %w", err)
	}
	obj, err := packet.DecodeObj(b.Obj)
	return b.Placement, obj, err
}

// wire is a packet as clients get it, and where its body begins in it.
func wire(head string, seq int64, data []byte) (whole []byte, at int) {
	whole = make([]byte, 0, len(head)+20+len(data))
	whole = append(whole, head...)
	whole = strconv.AppendInt(whole, seq, 10)
	whole = append(whole, ',')
	at = len(whole)
	return append(whole, data[1:]...), at
}

// headOf begins every packet of a run in an epoch, up to its number.
func headOf(run string, epoch int64) string {
	name, _ := json.Marshal(run) // a string always encodes
	return fmt.Sprintf(`{"run":%s,"epoch":%d,"seq":`, name, epoch)
}
