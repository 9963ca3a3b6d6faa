// Package ask starts the runs that people ask for, whichever way they come in.
//
// The body of a request comes in with who sent it; an acknowledgement goes out, and an
// event for the person's other clients. It must not know how the request came, nor how a
// run works.
package ask

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// Turns starts runs; turn.Service is the one that serves.
type Turns interface {
	Send(ctx context.Context, p identity.Principal, in turn.Send) (turn.Ack, error)
	Regenerate(ctx context.Context, p identity.Principal, in turn.Regenerate) (turn.Ack, error)
	Continue(ctx context.Context, p identity.Principal, in turn.Continue) (turn.Ack, error)
	Select(ctx context.Context, p identity.Principal, in turn.Continue) (ack turn.Ack, runs bool, err error)
}

// Asker starts the runs that people ask for, over whichever transport.
type Asker struct {
	turns    Turns
	messages MessagesOf
	hub      *event.Hub
	log      *slog.Logger
}

// MessagesOf finds a message.
type MessagesOf interface {
	Get(ctx context.Context, p identity.Principal, id string) (store.Message, error)
}

// New returns an Asker.
func New(turns Turns, messages MessagesOf, hub *event.Hub, log *slog.Logger) Asker {
	return Asker{turns, messages, hub, log}
}

// Send starts the run that answers a message, over whichever transport the
// body came.
func (a Asker) Send(ctx context.Context, who caller.Caller, b frame.SendBody) (turn.Ack, error) {
	if field := b.Unsupported(); field != "" {
		return turn.Ack{}, fault.New(fault.Unsupported, "This host does not serve "+field+" yet; leave it out.")
	}
	if err := checkRequestID(b.RequestID); err != nil {
		return turn.Ack{}, err
	}
	ack, err := a.turns.Send(ctx, who.Principal, turn.Send{
		RequestID: b.RequestID, SessionID: b.SessionID, ParentMessageID: b.ParentMessageID, Text: b.Text,
		Models: b.Models, Tools: b.Tools, ForcedTool: b.ForcedTool, Private: b.Private, Files: b.Files, Zone: b.TimeZone,
		AgentID: b.AgentID,
	})
	if err != nil {
		return turn.Ack{}, err
	}
	a.publishRun(who, ack)
	return ack, nil
}

// Regenerate starts a run that answers the same question once more.
func (a Asker) Regenerate(
	ctx context.Context, who caller.Caller, requestID, message string, models []string,
) (turn.Ack, error) {
	if err := checkRequestID(requestID); err != nil {
		return turn.Ack{}, err
	}
	ack, err := a.turns.Regenerate(ctx, who.Principal,
		turn.Regenerate{RequestID: requestID, MessageID: message, Models: models})
	if err != nil {
		return turn.Ack{}, err
	}
	a.publishRun(who, ack)
	return ack, nil
}

// Continue starts a run that goes on with an answer.
func (a Asker) Continue(ctx context.Context, who caller.Caller, requestID, message string) (turn.Ack, error) {
	if err := checkRequestID(requestID); err != nil {
		return turn.Ack{}, err
	}
	ack, err := a.turns.Continue(ctx, who.Principal, turn.Continue{RequestID: requestID, MessageID: message})
	if err != nil {
		return turn.Ack{}, err
	}
	a.publishRun(who, ack)
	return ack, nil
}

func checkRequestID(id string) error {
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return fault.New(fault.Invalid, "request_id must be a UUID, such as 1b4e28ba-2fa1-4d2b-883f-0016d3cca427.")
	}
	return nil
}

// Publish tells a person's clients of a change.
func (a Asker) Publish(who caller.Caller, topic event.Topic, id, change string) {
	a.hub.Publish(who.UserID(), event.Event{Topic: topic, ID: id, Change: change})
}

func (a Asker) publishRun(who caller.Caller, ack turn.Ack) {
	a.log.Info("a run began", "request", who.Request, "run", ack.Run, "session", ack.SessionID, "user", who.UserID())
	data, err := json.Marshal(struct {
		SessionID string `json:"session_id"`
		Epoch     int64  `json:"epoch"`
	}{ack.SessionID, ack.Epoch})
	if err != nil {
		return // two plain values always encode
	}
	a.hub.Publish(who.UserID(), event.Event{Topic: event.TopicRun, ID: ack.Run, Change: "started", Data: data})
}

// Select lets the conversation go on with the branch of a message, and
// starts the run of the calls that were held back in it, if there are any.
func (a Asker) Select(
	ctx context.Context, who caller.Caller, requestID, id string,
) (ack turn.Ack, runs bool, err error) {
	ack, runs, err = a.turns.Select(ctx, who.Principal, turn.Continue{RequestID: requestID, MessageID: id})
	if err != nil {
		return turn.Ack{}, false, err
	}
	if runs {
		a.publishRun(who, ack)
		return ack, true, nil
	}
	if m, err := a.messages.Get(ctx, who.Principal, id); err == nil { // else it was deleted meanwhile
		a.Publish(who, event.TopicSession, m.Session, "updated")
	}
	return turn.Ack{}, false, nil
}
