package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Message is a message of the tree with its content: a question as it is stored, an
// answer as the journals of its runs say it is.
type Message struct {
	store.Message
	// Steps are what the model is shown of an answer later.
	Steps []journal.Taken
	// Citations are those of an answer, by number.
	Citations []packet.CitationInfo
}

// Message returns a message with its content, or a fault with CodeUnknownMessage.
func (s *Service) Message(ctx context.Context, p identity.Principal, id string) (Message, error) {
	m, err := s.cfg.Records.Messages.Get(ctx, p, id)
	if err != nil {
		return Message{}, s.fault(err, CodeUnknownMessage)
	}
	return s.content(ctx, m)
}

// Messages returns all messages of a conversation's tree with their content, oldest
// first. The error is the store's: messages that cannot be read are left out and
// named in it.
func (s *Service) Messages(ctx context.Context, p identity.Principal, session string) ([]Message, error) {
	records, err := s.cfg.Records.Messages.List(ctx, p, session)
	messages, bad := s.contents(ctx, records)
	return messages, errors.Join(err, bad)
}

// branch returns a path of messages with their content.
func (s *Service) branch(ctx context.Context, p identity.Principal, session, leaf string) ([]Message, error) {
	records, err := s.cfg.Records.Messages.Branch(ctx, p, session, leaf)
	if err != nil {
		return nil, err
	}
	return s.contents(ctx, records)
}

func (s *Service) contents(ctx context.Context, records []store.Message) ([]Message, error) {
	messages := make([]Message, len(records))
	for i, m := range records {
		var err error
		if messages[i], err = s.content(ctx, m); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// content folds the journals of an answer. What of one is damaged is left out and
// logged: the rest is worth more than nothing.
func (s *Service) content(ctx context.Context, m store.Message) (Message, error) {
	out := Message{Message: m}
	if m.Role != store.RoleAssistant {
		return out, nil
	}
	for i, run := range slices.Concat([]string{m.Run}, m.LaterRuns) {
		model := 0 // a run that goes on with an answer has one model
		if i == 0 {
			model = m.ModelIndex
		}
		log, err := s.cfg.Journal.Open(ctx, run)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			continue
		case errors.Is(err, journal.ErrDamaged):
			s.cfg.Logger.Error("the journal of an answer cannot be read", "run", run, "message", m.ID, "error", err)
			continue
		case err != nil:
			return Message{}, fmt.Errorf("read the journal of run %s: %w", run, err)
		}
		if damage := log.Damage(); len(damage) > 0 {
			s.cfg.Logger.Error("a part of the journal of an answer cannot be read", "run", run, "message", m.ID,
				"error", errors.Join(damage...))
		}
		out.add(journal.Answers(log.Records(), model+1)[model])
	}
	return out, nil
}

// add adds what a run brought to an answer.
func (m *Message) add(a journal.Answer) {
	m.Text += a.Text
	m.Steps = append(m.Steps, a.Steps...)
	for _, c := range a.Citations { // those from before are told once more
		known := func(b packet.CitationInfo) bool { return b.CitationNumber == c.CitationNumber }
		if !slices.ContainsFunc(m.Citations, known) {
			m.Citations = append(m.Citations, c)
		}
	}
}
