package api

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// startSend starts the run that answers a message, over whichever transport the
// body came.
func (s *Server) startSend(ctx context.Context, who caller, b sendBody) (turn.Ack, error) {
	if field := b.unsupported(); field != "" {
		return turn.Ack{}, fault.New(fault.Unsupported, "This host does not serve "+field+" yet; leave it out.")
	}
	if err := checkRequestID(b.RequestID); err != nil {
		return turn.Ack{}, err
	}
	ack, err := s.cfg.Turns.Send(ctx, who.Principal, turn.Send{
		RequestID: b.RequestID, SessionID: b.SessionID, ParentMessageID: b.ParentMessageID, Text: b.Text,
		Models: b.Models, Tools: b.Tools, ForcedTool: b.ForcedTool, Private: b.Private, Files: b.Files, AgentID: b.AgentID,
	})
	if err != nil {
		return turn.Ack{}, err
	}
	s.publishRun(who, ack)
	return ack, nil
}

// startRegenerate starts a run that answers the same question once more.
func (s *Server) startRegenerate(ctx context.Context, who caller, requestID, message string, models []string) (turn.Ack, error) {
	if err := checkRequestID(requestID); err != nil {
		return turn.Ack{}, err
	}
	ack, err := s.cfg.Turns.Regenerate(ctx, who.Principal, turn.Regenerate{RequestID: requestID, MessageID: message, Models: models})
	if err != nil {
		return turn.Ack{}, err
	}
	s.publishRun(who, ack)
	return ack, nil
}

// startContinue starts a run that goes on with an answer.
func (s *Server) startContinue(ctx context.Context, who caller, requestID, message string) (turn.Ack, error) {
	if err := checkRequestID(requestID); err != nil {
		return turn.Ack{}, err
	}
	ack, err := s.cfg.Turns.Continue(ctx, who.Principal, turn.Continue{RequestID: requestID, MessageID: message})
	if err != nil {
		return turn.Ack{}, err
	}
	s.publishRun(who, ack)
	return ack, nil
}

func checkRequestID(id string) error {
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return invalid("request_id must be a UUID, such as 1b4e28ba-2fa1-4d2b-883f-0016d3cca427.")
	}
	return nil
}

// publish tells a person's clients of a change.
func (s *Server) publish(who caller, topic Topic, id, change string) {
	s.hub.Publish(who.UserID(), Event{Topic: topic, ID: id, Change: change})
}

func (s *Server) publishRun(who caller, ack turn.Ack) {
	s.cfg.Logger.Info("a run began", "request", who.request, "run", ack.Run, "session", ack.SessionID, "user", who.UserID())
	data, err := json.Marshal(struct {
		SessionID string `json:"session_id"`
		Epoch     int64  `json:"epoch"`
	}{ack.SessionID, ack.Epoch})
	if err != nil {
		return // two plain values always encode
	}
	s.hub.Publish(who.UserID(), Event{Topic: TopicRun, ID: ack.Run, Change: "started", Data: data})
}
