package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// startSend starts the run that answers a message, over whichever transport the
// body came.
func (s *Server) startSend(ctx context.Context, who caller, b sendBody) (turn.Ack, error) {
	if field := b.unsupported(); field != "" {
		return turn.Ack{}, fault(codeUnsupported, "This host does not serve "+field+" yet; leave it out.")
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
func (s *Server) publish(who caller, topic, id, change string) {
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
	s.hub.Publish(who.UserID(), Event{Topic: "run", ID: ack.Run, Change: "started", Data: data})
}

// faultOf is what a client is told of an error. What it cannot act on is logged
// and told as internal; request is the id that the log names it by.
func (s *Server) faultOf(err error, request string) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	var t *turn.Error
	if errors.As(err, &t) {
		f = fault(t.Code, t.Message)
		f.Run = t.Run
		if f.Status >= 500 {
			s.cfg.Logger.Error("turn", "request", request, "run", t.Run, "error", err)
		}
		return f
	}
	if f, ok := fiberFault(err); ok {
		return f
	}
	if f := roomFault(err); f != nil {
		return f
	}
	s.cfg.Logger.Error("request", "request", request, "error", err)
	if store.NoSpace(err) {
		return fault(codeDiskFull, "The disk is full. Free some space on the host's machine and try again.")
	}
	return internalFault()
}

// roomFault reads the refusals of identity and the errors of the store and of the
// knowledge base.
func roomFault(err error) *Fault {
	var busy *store.BusyError
	switch {
	case errors.Is(err, identity.ErrNobody):
		return signedOut()
	case errors.Is(err, identity.ErrForbidden):
		return forbidden()
	case errors.Is(err, identity.ErrNotYours):
		return fault(codeNotFound, "There is no such record.")
	case errors.As(err, &busy):
		f := fault("busy", "A run is still live there. Stop it first.")
		f.Run = busy.Run
		return f
	case errors.Is(err, store.ErrNotFound):
		return fault(codeNotFound, "There is no such record.")
	case errors.Is(err, store.ErrExists):
		return fault(codeConflict, "The name is taken already.")
	case errors.Is(err, store.ErrConflict):
		return fault(codeConflict, "This request id was used for another request.")
	case errors.Is(err, store.ErrLastOperator):
		return fault(codeConflict, "This is the only operator, and one must remain.")
	case errors.Is(err, store.ErrInvalid):
		return invalid("The value cannot be kept: " + clip(err.Error(), 200) + ".")
	}
	return documentFault(err)
}

// documentFault reads the errors of the knowledge base.
func documentFault(err error) *Fault {
	switch {
	case errors.Is(err, knowledge.ErrNotFound):
		return fault("unknown_document", "There is no such document.")
	case errors.Is(err, knowledge.ErrInvalid):
		return invalid("The request cannot be taken: " + clip(err.Error(), 200) + ".")
	case errors.Is(err, knowledge.ErrTooDeep):
		return invalid("The document is nested too deeply to be read.")
	case errors.Is(err, knowledge.ErrUnsupportedType):
		return fault("unsupported_type", "Documents of this type cannot be read; Markdown, plain text and HTML can.")
	case errors.Is(err, knowledge.ErrTooLarge):
		return fault(codeTooLarge, "The document is too large.")
	case errors.Is(err, knowledge.ErrBadEncoding):
		return fault("bad_encoding", "The document's text is not in an encoding that can be read; save it as UTF-8.")
	}
	return nil
}
