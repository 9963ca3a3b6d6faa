package rest

import (
	"errors"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/aggregate"
	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// newSessionID in place of a session's id opens one.
const newSessionID = "new"

// postBody is the body of POST messages: that of a send and how to answer.
type postBody struct {
	frame.SendBody
	// Stream false asks for the whole answer in one reply.
	Stream *bool `json:"stream"`
}

// PostAck is the reply of a request that started a run.
type PostAck struct {
	Run           string   `json:"run"`
	Epoch         int64    `json:"epoch"`
	SessionID     string   `json:"session_id"`
	UserMessageID string   `json:"user_message_id,omitempty"`
	MessageIDs    []string `json:"message_ids,omitempty"`
	// Text is the message as it is stored, where that is not what was sent.
	Text string `json:"text,omitempty"`
}

func ackOf(a turn.Ack) PostAck {
	return PostAck{a.Run, a.Epoch, a.SessionID, a.UserMessageID, a.MessageIDs, a.Text}
}

// Post starts a run and answers with its ack, its events or its whole.
func (s messages) Post(c *fiber.Ctx) error {
	var b postBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	if id := c.Params("id"); id != newSessionID {
		if b.SessionID != "" && b.SessionID != id {
			return fault.New(fault.Invalid, "session_id is not the session of the address.")
		}
		b.SessionID = id
	}
	if err := s.takeRequestID(c, &b.RequestID); err != nil {
		return err
	}
	who := caller.Of(c)
	ack, err := s.ask.Send(s.cfg.Context, who, b.SendBody)
	if err != nil {
		return err
	}
	switch {
	case b.Stream != nil && !*b.Stream:
		return s.replyWhole(c, who, ack)
	case wantsEvents(c):
		cursor, err := s.cfg.Turns.Open(s.cfg.Context, who.Principal, ack.Run, ack.Epoch, 0)
		if err != nil {
			return err
		}
		return s.streams.Run(c, cursor)
	default:
		return c.Status(fiber.StatusAccepted).JSON(ackOf(ack))
	}
}

// takeRequestID fills in the request id from the header, or makes one.
func (s messages) takeRequestID(c *fiber.Ctx, id *string) error {
	key := c.Get("Idempotency-Key")
	switch {
	case key != "" && *id != "" && key != *id:
		return fault.New(fault.Invalid, "request_id and Idempotency-Key differ.")
	case *id != "":
	case key != "":
		*id = key
	default:
		*id = s.cfg.NewRequestID()
	}
	return nil
}

func wantsEvents(c *fiber.Ctx) bool {
	return strings.Contains(c.Get(fiber.HeaderAccept), "text/event-stream")
}

// replyWhole waits for the run's end and answers with all of it.
func (s messages) replyWhole(c *fiber.Ctx, who caller.Caller, ack turn.Ack) error {
	cursor, err := s.cfg.Turns.Open(s.cfg.Context, who.Principal, ack.Run, ack.Epoch, 0)
	if err != nil {
		return err
	}
	var whole aggregate.Aggregator
	for {
		entries, err := cursor.Next(s.streams.Ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if s.streams.Ctx.Err() != nil {
			return fault.New(fault.Closing, "The host is shutting down. The answer is kept as far as it came.")
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			whole.Add(e.Packet)
		}
	}
	// The run is over for its readers a moment before it is kept.
	if err := s.cfg.Turns.Wait(s.cfg.Context, who.Principal, ack.Run); err != nil {
		return err
	}
	run := whole.Run()
	run.SessionID = ack.SessionID
	return c.JSON(run)
}
