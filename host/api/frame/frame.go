// Package frame has what goes over a WebSocket, and what of it HTTP shares.
//
// Bytes of a client come in and leave as a struct of this package, or as the fault that is
// wrong with them; packets leave as frames. It must not know who is on the other side, nor
// what is done with a frame.
package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

// MaxFrameBytes is the largest client frame and the largest JSON request body.
const MaxBytes = 1 << 20

// maxIDBytes bounds the id that a client pairs replies with.
const maxIDBytes = 128

// frameHead is what every client frame has.
type frameHead struct {
	Type string `json:"type"`
	// ID is a JSON string or number and comes back as it was.
	ID json.RawMessage `json:"id,omitempty"`
}

// SendBody is the body of a send, over the WebSocket and over HTTP alike.
type SendBody struct {
	RequestID       string          `json:"request_id"`
	SessionID       string          `json:"session_id"`
	ParentMessageID string          `json:"parent_message_id"`
	Text            string          `json:"text"`
	Files           []string        `json:"files"`
	Models          []string        `json:"models"`
	AgentID         string          `json:"agent_id"`
	Tools           []string        `json:"tools"`
	ForcedTool      string          `json:"forced_tool"`
	TimeZone        string          `json:"time_zone"`
	DeepResearch    bool            `json:"deep_research"`
	Private         bool            `json:"private"`
	Options         json.RawMessage `json:"options"`
}

// Unsupported names the first field that asks for what this host has not.
func (b SendBody) Unsupported() string {
	switch {
	case b.DeepResearch:
		return "deep_research"
	case len(b.Options) > 0 && string(b.Options) != "null" && string(b.Options) != "{}":
		return "options"
	}
	return ""
}

// Send is the frame that asks; those after it are the other frames of clients, as the
// protocol has them.
type Send struct {
	frameHead
	SendBody
}

type Regenerate struct {
	frameHead
	RequestID string   `json:"request_id"`
	MessageID string   `json:"message_id"`
	Models    []string `json:"models"`
}

type Continue struct {
	frameHead
	RequestID string `json:"request_id"`
	MessageID string `json:"message_id"`
}

type Select struct {
	frameHead
	RequestID string `json:"request_id"`
	MessageID string `json:"message_id"`
}

type Resume struct {
	frameHead
	Run      string `json:"run"`
	Epoch    int64  `json:"epoch"`
	AfterSeq int64  `json:"after_seq"`
}

type Attach struct {
	frameHead
	SessionID string `json:"session_id"`
}

type Detach struct {
	frameHead
	Run string `json:"run"`
}

type Stop struct {
	frameHead
	Run        string `json:"run"`
	ModelIndex *int   `json:"model_index"`
}

type Ping struct{ frameHead }

// Frames gives, for each type of client frame, an empty one to decode into.
var Frames = map[string]func() any{
	"send":       func() any { return new(Send) },
	"regenerate": func() any { return new(Regenerate) },
	"continue":   func() any { return new(Continue) },
	"select":     func() any { return new(Select) },
	"resume":     func() any { return new(Resume) },
	"attach":     func() any { return new(Attach) },
	"detach":     func() any { return new(Detach) },
	"stop":       func() any { return new(Stop) },
	"ping":       func() any { return new(Ping) },
}

// LaterFrames are types of the protocol that this host does not serve yet; they
// are refused by name, so that a client can tell them from a mistake.
var LaterFrames = map[string]bool{"approve": true, "answer": true}

// Decode reads a client frame. It returns a pointer to one of the frame
// structs, and the frame's id wherever it could be read. The fault has code
// too_large, invalid or unsupported.
func Decode(data []byte) (frame any, id json.RawMessage, f *fault.Error) {
	if len(data) > MaxBytes {
		return nil, nil, fault.New(fault.TooLarge, "The frame is larger than 1 MiB.")
	}
	if !utf8.Valid(data) {
		return nil, nil, fault.New(fault.Invalid, "The frame is not valid UTF-8.")
	}
	var head frameHead
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, nil, fault.New(fault.Invalid, "The frame is not a JSON object with a type.")
	}
	if string(head.ID) == "null" {
		head.ID = nil
	}
	if !validID(head.ID) {
		return nil, nil, fault.New(fault.Invalid, "The frame's id must be a short string or a number.")
	}
	empty, known := Frames[head.Type]
	switch {
	case known:
		frame = empty()
	case head.Type == "":
		return nil, head.ID, fault.New(fault.Invalid, "The frame has no type.")
	case LaterFrames[head.Type]:
		return nil, head.ID, fault.New(fault.Unsupported, "This host does not serve "+head.Type+".")
	default:
		return nil, head.ID, fault.New(fault.Unsupported, "The frame's type is not known.")
	}
	if err := DecodeStrict(data, frame); err != nil {
		return nil, head.ID, fault.New(fault.Invalid, Sentence("frame", err))
	}
	return frame, head.ID, nil
}

// validID tells whether id is absent, a short string or a number.
func validID(id json.RawMessage) bool {
	if len(id) == 0 {
		return true
	}
	if len(id) > maxIDBytes {
		return false
	}
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// errTrailing is returned when something follows a JSON value.
var errTrailing = errors.New("something follows the JSON value")

// DecodeStrict reads one JSON value and nothing else, with no unknown field.
func DecodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// Sentence says in a sentence what is wrong with a client's JSON.
func Sentence(what string, err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Sprintf("The %s's field %s cannot be a %s.", what, wrong.Field, wrong.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fmt.Sprintf("The %s has an unknown field %s.", what,
			Clip(strings.TrimPrefix(err.Error(), "json: unknown field "), 80))
	case errors.Is(err, errTrailing):
		return fmt.Sprintf("The %s is more than one JSON value.", what)
	default:
		return fmt.Sprintf("The %s is not valid JSON.", what)
	}
}

// Clip shortens s to at most n bytes at a rune's border.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
