package api

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// ackFrame grants a client frame; which fields it has depends on the type.
type ackFrame struct {
	Type          string          `json:"type"`
	ID            json.RawMessage `json:"id,omitempty"`
	Run           string          `json:"run,omitempty"`
	Epoch         int64           `json:"epoch,omitempty"`
	Reset         bool            `json:"reset,omitempty"`
	SessionID     string          `json:"session_id,omitempty"`
	UserMessageID string          `json:"user_message_id,omitempty"`
	MessageID     string          `json:"message_id,omitempty"`
	MessageIDs    []string        `json:"message_ids,omitempty"`
	// Text is the message as it is stored, where that is not what was sent.
	Text string `json:"text,omitempty"`
}

// attachAck grants an attach.
type attachAck struct {
	Type      string          `json:"type"`
	ID        json.RawMessage `json:"id,omitempty"`
	LiveRuns  []frame.LiveRun `json:"live_runs"`
	LatestRun string          `json:"latest_run,omitempty"`
}

// handle answers one well-formed frame.
func (s *socket) handle(ctx context.Context, id json.RawMessage, got any) {
	var err error
	switch f := got.(type) {
	case *frame.Send:
		err = s.handleSend(ctx, id, f.SendBody)
	case *frame.Regenerate:
		err = s.handleRegenerate(ctx, id, f)
	case *frame.Continue:
		err = s.handleContinue(ctx, id, f)
	case *frame.Select:
		err = s.handleSelect(ctx, id, f)
	case *frame.Resume:
		err = s.handleResume(ctx, id, f)
	case *frame.Attach:
		err = s.handleAttach(ctx, id, f)
	case *frame.Detach:
		s.unfollow(f.Run)
		s.sendJSON(ctx, ackFrame{Type: "ack", ID: id, Run: f.Run})
	case *frame.Stop:
		if err = s.srv.cfg.Turns.Stop(ctx, s.who.Principal, f.Run, f.ModelIndex); err == nil {
			s.sendJSON(ctx, ackFrame{Type: "ack", ID: id, Run: f.Run})
		}
	case *frame.Ping:
		s.sendJSON(ctx, ackFrame{Type: "pong", ID: id})
	}
	if err != nil {
		s.nack(ctx, id, s.srv.tell.Of(err, s.who.Request))
	}
}

func (s *socket) handleSend(ctx context.Context, id json.RawMessage, body frame.SendBody) error {
	if err := s.room(""); err != nil {
		return err
	}
	ack, err := s.srv.ask.Send(ctx, s.who, body)
	if err != nil {
		return err
	}
	return s.begin(ctx, ack, ackFrame{Type: "ack", ID: id, Run: ack.Run, Epoch: ack.Epoch, SessionID: ack.SessionID,
		UserMessageID: ack.UserMessageID, MessageIDs: ack.MessageIDs, Text: ack.Text})
}

func (s *socket) handleRegenerate(ctx context.Context, id json.RawMessage, f *frame.Regenerate) error {
	if err := s.room(""); err != nil {
		return err
	}
	ack, err := s.srv.ask.Regenerate(ctx, s.who, f.RequestID, f.MessageID, f.Models)
	if err != nil {
		return err
	}
	reply := ackFrame{Type: "ack", ID: id, Run: ack.Run, Epoch: ack.Epoch, SessionID: ack.SessionID,
		UserMessageID: ack.UserMessageID, MessageIDs: ack.MessageIDs}
	if len(ack.MessageIDs) > 0 {
		reply.MessageID = ack.MessageIDs[0]
	}
	return s.begin(ctx, ack, reply)
}

// begin acknowledges a run and follows it from its first packet.
func (s *socket) begin(ctx context.Context, ack turn.Ack, reply ackFrame) error {
	cursor, err := s.srv.cfg.Turns.Open(ctx, s.who.Principal, ack.Run, ack.Epoch, 0)
	if err != nil {
		return err
	}
	s.unfollow(ack.Run)
	// Between the ack and now the log may have been compacted; what the client
	// gets is the cursor's epoch.
	reply.Epoch = cursor.Epoch
	if s.sendJSON(ctx, reply) {
		s.follow(ctx, ack.Run, cursor)
	}
	return nil
}

func (s *socket) handleResume(ctx context.Context, id json.RawMessage, f *frame.Resume) error {
	if f.AfterSeq < 0 {
		return fault.New(fault.Invalid, "after_seq must not be negative.")
	}
	if err := s.room(f.Run); err != nil {
		return err
	}
	cursor, err := s.srv.cfg.Turns.Open(ctx, s.who.Principal, f.Run, f.Epoch, f.AfterSeq)
	if err != nil {
		return err
	}
	s.unfollow(f.Run)
	if s.sendJSON(ctx, ackFrame{Type: "ack", ID: id, Run: f.Run, Epoch: cursor.Epoch, Reset: cursor.Reset}) {
		s.follow(ctx, f.Run, cursor)
	}
	return nil
}

// room tells whether this connection may follow one more run.
func (s *socket) room(run string) error {
	s.sweep()
	if _, again := s.followed[run]; !again && len(s.followed) >= maxFollowed {
		return fault.New(fault.Invalid, "This connection follows too many runs. Detach from one first.")
	}
	return nil
}

func (s *socket) handleAttach(ctx context.Context, id json.RawMessage, f *frame.Attach) error {
	runs, latest, err := s.srv.cfg.Turns.Live(ctx, s.who.Principal, f.SessionID)
	if err != nil {
		return err
	}
	s.sendJSON(ctx, attachAck{"ack", id, frame.LiveRuns(runs), latest})
	return nil
}

func (s *socket) handleSelect(ctx context.Context, id json.RawMessage, f *frame.Select) error {
	if err := s.room(""); err != nil {
		return err
	}
	ack, runs, err := s.srv.ask.Select(ctx, s.who, f.RequestID, f.MessageID)
	if err != nil {
		return err
	}
	if !runs {
		s.sendJSON(ctx, ackFrame{Type: "ack", ID: id})
		return nil
	}
	return s.begin(ctx, ack, ackFrame{Type: "ack", ID: id, Run: ack.Run, Epoch: ack.Epoch, SessionID: ack.SessionID,
		MessageID: f.MessageID})
}

func (s *socket) handleContinue(ctx context.Context, id json.RawMessage, f *frame.Continue) error {
	if err := s.room(""); err != nil {
		return err
	}
	ack, err := s.srv.ask.Continue(ctx, s.who, f.RequestID, f.MessageID)
	if err != nil {
		return err
	}
	return s.begin(ctx, ack, ackFrame{Type: "ack", ID: id, Run: ack.Run, Epoch: ack.Epoch, SessionID: ack.SessionID,
		MessageID: f.MessageID})
}
