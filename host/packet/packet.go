// Package packet is the one protocol in which a run tells its clients what
// happens: the browser, the terminal, SSE and stored replays read the same
// packets. If a thing is not a packet, no client can show it.
//
// The package holds the envelope, the placement, every payload type, the
// closed list of codes with their sentences, and the Emitter through which
// whoever works for a run adds to it. It knows nothing of models, tools,
// storage or transport, and imports no other room of host.
package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Packet is one entry of a run's log.
type Packet struct {
	// Run is the id of the run, "r_" and a ULID.
	Run string `json:"run"`
	// Epoch counts the versions of the run's log from 1. A cursor of one epoch
	// means nothing in another.
	Epoch int64 `json:"epoch"`
	// Seq is 1 for the first packet of an epoch and rises by exactly 1.
	Seq int64 `json:"seq"`
	// Placement says where to draw the packet.
	Placement Placement `json:"placement"`
	// Obj is the payload.
	Obj Obj `json:"obj"`
}

// Obj is the payload of a packet. Every implementation is a struct of this
// package whose JSON is flat, with the field "type" added by the codec.
type Obj interface {
	// Type is the payload's name on the wire, such as "message_delta".
	Type() string
}

// Unknown is a payload of a type that this version does not know, kept as it
// was read. Clients ignore it.
type Unknown struct {
	// Name is the value of "type".
	Name string
	// Raw is the whole JSON object.
	Raw json.RawMessage
}

// Type implements Obj.
func (u Unknown) Type() string { return u.Name }

// ErrNoType is returned when a payload's JSON has no "type", and when there is
// no payload at all.
var ErrNoType = errors.New("packet: payload has no type")

// EncodeObj returns the JSON of a payload with "type" as its first field. It
// returns ErrNoType for nil and for an Unknown without its JSON.
func EncodeObj(o Obj) ([]byte, error) {
	if o == nil {
		return nil, ErrNoType
	}
	if u, ok := o.(Unknown); ok {
		if len(u.Raw) == 0 {
			return nil, ErrNoType
		}
		return u.Raw, nil
	}
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode packet %s: %w", o.Type(), err)
	}
	out := make([]byte, 0, len(body)+len(o.Type())+12)
	out = append(out, `{"type":"`...)
	out = append(out, o.Type()...)
	out = append(out, '"')
	if !bytes.Equal(body, []byte("{}")) {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

// DecodeObj reads a payload written by EncodeObj. A type that this version does
// not know becomes Unknown; fields that it does not know are ignored. It
// returns ErrNoType where "type" is missing.
func DecodeObj(data []byte) (Obj, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decode packet: %w", err)
	}
	if head.Type == "" {
		return nil, ErrNoType
	}
	kind, ok := types[head.Type]
	if !ok {
		return Unknown{Name: head.Type, Raw: bytes.Clone(data)}, nil
	}
	obj, err := kind.decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode packet %s: %w", head.Type, err)
	}
	return obj, nil
}

// MarshalJSON implements json.Marshaler.
func (p Packet) MarshalJSON() ([]byte, error) {
	obj, err := EncodeObj(p.Obj)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{p.Run, p.Epoch, p.Seq, p.Placement, obj})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Packet) UnmarshalJSON(data []byte) error {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("decode packet: %w", err)
	}
	obj, err := DecodeObj(e.Obj)
	if err != nil {
		return err
	}
	*p = Packet{Run: e.Run, Epoch: e.Epoch, Seq: e.Seq, Placement: e.Placement, Obj: obj}
	return nil
}

type envelope struct {
	Run       string          `json:"run"`
	Epoch     int64           `json:"epoch"`
	Seq       int64           `json:"seq"`
	Placement Placement       `json:"placement"`
	Obj       json.RawMessage `json:"obj"`
}

// known is what the list below says of a type.
type known struct {
	decode func([]byte) (Obj, error)
	// served tells that this host emits it; goName names its struct.
	served bool
	goName string
}

// types maps each known type to what is known of it.
var types = map[string]known{}

func register[T Obj]() { enter[T](true) }

// registerLater registers a type of the protocol that nothing in this host emits yet.
// It can be read, from another version's log too. A repaired log may close what such a
// version opened.
func registerLater[T Obj]() { enter[T](false) }

func enter[T Obj](served bool) {
	var zero T
	types[zero.Type()] = known{served: served, goName: reflect.TypeFor[T]().Name(),
		decode: func(data []byte) (Obj, error) {
			var v T
			err := json.Unmarshal(data, &v)
			return v, err
		}}
}

// Types returns the names of all payload types that this version knows, in no
// particular order.
func Types() []string { return slices.Collect(maps.Keys(types)) }

func init() {
	register[SessionCreated]()
	register[RunStarted]()
	register[TopLevelBranching]()
	register[SectionEnd]()
	register[Notice]()
	register[Error]()
	register[Usage]()
	register[Stop]()
	register[ReasoningStart]()
	register[ReasoningDelta]()
	register[ReasoningDone]()
	register[MessageStart]()
	register[MessageDelta]()
	register[CitationInfo]()
	registerLater[CitationSupport]()
	register[MessageEnd]()
	register[ToolStart]()
	register[ToolArgsDelta]()
	register[ToolArgs]()
	register[ToolProgress]()
	register[ToolOutput]()
	register[ToolDocuments]()
	register[ToolFiles]()
	register[ToolError]()
	registerLater[ApprovalRequest]()
	registerLater[ApprovalResolved]()
	registerLater[InputRequest]()
	registerLater[InputResolved]()
	register[MemoryChanged]()
	register[ResearchAgentStart]()
	register[IntermediateReportStart]()
	register[IntermediateReportDelta]()
	register[IntermediateReportCitedDocs]()
	register[IntermediateReportEnd]()
}
