package turn

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Continue asks an answer to go on.
type Continue struct {
	RequestID string
	// MessageID is the answer; nothing may follow it yet.
	MessageID string
}

// Continue goes on with an answer that ended early, in the same message.
func (s *Service) Continue(ctx context.Context, p identity.Principal, in Continue) (Ack, error) {
	return s.goOn(ctx, p, in, false)
}

// Select lets the conversation go on with the branch of a message. Where that is an
// answer whose calls were held back while models were compared, and nothing follows
// it, these calls run now, once, and the answer goes on: runs then is true, and the
// Ack is that of the run.
func (s *Service) Select(ctx context.Context, p identity.Principal, in Continue) (ack Ack, runs bool, err error) {
	m, err := s.cfg.Records.Messages.Get(ctx, p, in.MessageID)
	if err != nil {
		return Ack{}, false, s.fault(err, CodeUnknownMessage)
	}
	if m.Role == store.RoleAssistant {
		ack, err = s.goOn(ctx, p, in, true)
		if err == nil || !errors.Is(err, store.ErrNothingHeld) {
			return ack, err == nil, err
		}
	}
	if _, err := s.cfg.Records.Sessions.SelectLeaf(ctx, p, m.Session, m.ID); err != nil {
		return Ack{}, false, s.fault(err, CodeUnknownMessage)
	}
	return Ack{}, false, nil
}

func (s *Service) goOn(ctx context.Context, p identity.Principal, in Continue, onlyHeld bool) (Ack, error) {
	if in.MessageID == "" {
		return Ack{}, invalid("Say which answer is to go on.")
	}
	m, err := s.cfg.Records.Messages.Get(ctx, p, in.MessageID)
	if err != nil {
		return Ack{}, s.fault(err, CodeUnknownMessage)
	}
	if m.Role != store.RoleAssistant {
		return Ack{}, invalid("Only an answer can go on.")
	}
	if onlyHeld && !s.mayHold(m) {
		return Ack{}, store.ErrNothingHeld
	}
	body := struct {
		Continue
		OnlyHeld bool
	}{in, onlyHeld}
	sum := hash(body)
	if ack, repeated, err := s.repeated(ctx, p, in.RequestID, sum, ""); repeated || err != nil {
		return ack, err
	}
	begin := store.BeginRun{RequestID: in.RequestID, BodyHash: sum, SessionID: m.Session, Continue: m.ID,
		OnlyHeld: onlyHeld, Agent: m.Agent}
	return s.begin(ctx, p, begin, []string{m.Model}, selection{allow: m.Allowed}, CodeUnknownMessage)
}

// mayHold tells whether an answer holds calls, or did until a run took them up. It
// spares selecting an answer of a model that is gone from asking for that model.
func (s *Service) mayHold(m store.Message) bool {
	return len(m.LaterRuns) > 0 || len(m.Held) > 0
}
