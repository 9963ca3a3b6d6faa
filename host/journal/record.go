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
	// stored is the record's encoding, without the first brace of a packet's, where
	// it goes unchanged from one log to another.
	stored []byte
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

// encode returns a packet that is appended next, as clients get it, and where its
// body begins there, behind the brace. A payload that cannot be encoded is a fault
// of the host; it becomes a notice, so that the numbering stays whole. The caller
// holds mu.
func (l *Log) encode(r *Record) (p packet.Packet, whole []byte, at int) {
	p = packet.Packet{Placement: r.Place, Obj: r.Obj}
	if r.stored != nil {
		whole, at = l.wire(len(r.stored))
		return p, append(whole, r.stored...), at
	}
	raw, err := encodeObj(r.Obj)
	if err != nil {
		p.Obj = packet.NewNotice(packet.CodeInternal, "")
		raw, _ = packet.EncodeObj(p.Obj) // two strings always encode
	}
	whole, at = l.wire(len(raw) + maxPlacement)
	whole = append(whole, `"placement":`...)
	whole = appendPlacement(whole, r.Place)
	whole = append(whole, `,"obj":`...)
	whole = append(whole, raw...)
	return p, append(whole, '}'), at
}

// encodeObj is packet.EncodeObj, but that what nobody knows has to be JSON.
func encodeObj(obj packet.Obj) ([]byte, error) {
	raw, err := packet.EncodeObj(obj)
	if _, ok := obj.(packet.Unknown); ok && err == nil {
		return json.Marshal(json.RawMessage(raw))
	}
	return raw, err
}

// wire begins the next packet as clients get it, up to the body behind its brace,
// with room for that. The caller holds mu.
func (l *Log) wire(size int) (whole []byte, at int) {
	whole = make([]byte, 0, len(l.head)+len(`1000000,`)+size)
	whole = append(whole, l.head...)
	whole = strconv.AppendInt(whole, int64(len(l.packed))+1, 10)
	whole = append(whole, ',')
	return whole, len(whole)
}

// maxPlacement is what stands around a payload at most, with numbers of four digits.
const maxPlacement = len(`"placement":{"turn_index":1000,"tab_index":1000,` +
	`"sub_turn_index":null,"sub_tab_index":null,"model_index":1000},"obj":}`)

// appendPlacement writes what json.Marshal makes of a placement.
func appendPlacement(out []byte, p packet.Placement) []byte {
	out = strconv.AppendInt(append(out, `{"turn_index":`...), int64(p.TurnIndex), 10)
	out = strconv.AppendInt(append(out, `,"tab_index":`...), int64(p.TabIndex), 10)
	out = appendIndex(append(out, `,"sub_turn_index":`...), p.SubTurnIndex)
	out = appendIndex(append(out, `,"sub_tab_index":`...), p.SubTabIndex)
	return append(appendIndex(append(out, `,"model_index":`...), p.ModelIndex), '}')
}

func appendIndex(out []byte, n *int) []byte {
	if n == nil {
		return append(out, "null"...)
	}
	return strconv.AppendInt(out, int64(*n), 10)
}

// decodePacket reads the body of a packet.
func decodePacket(data []byte) (packet.Placement, packet.Obj, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return packet.Placement{}, nil, fmt.Errorf("decode a packet: %w", err)
	}
	obj, err := packet.DecodeObj(b.Obj)
	return b.Placement, obj, err
}

// headOf begins every packet of a run in an epoch, up to its number.
func headOf(run string, epoch int64) string {
	name, _ := json.Marshal(run) // a string always encodes
	return fmt.Sprintf(`{"run":%s,"epoch":%d,"seq":`, name, epoch)
}
