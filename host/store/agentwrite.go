package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Create adds an agent with all but the id and the times of the record. It is for
// operators. It returns a *FieldError for what is out of the limits, ErrExists when the
// name is taken, and ErrFull when there are MaxAgents.
func (s Agents) Create(ctx context.Context, p identity.Principal, record Agent) (Agent, error) {
	if err := may(p, identity.CreateAgent, identity.AgentKind.All()); err != nil {
		return Agent{}, err
	}
	a, err := checkedAgent(record)
	if err != nil {
		return Agent{}, err
	}
	err = s.update(ctx, func(tx kv.Tx) error {
		if table.AgentNames.Has(tx, agentKey(a.Name)) {
			return ErrExists
		}
		if n := len(table.Agents.Tails(tx, "")); n >= MaxAgents {
			return full("there are %d agents already, which is all that are kept", n)
		}
		a.ID, a.CreatedAt = s.newID("ag"), s.clock()
		a.UpdatedAt = a.CreatedAt
		return putAgent(tx, a)
	})
	if err != nil {
		return Agent{}, err
	}
	return a, nil
}

// Change lets change have an agent's record and keeps what it makes of it but
// for the id and the times. change runs in a transaction, may run more than once, each
// time on the record as it is then, and must not use the Store. It is for operators. It
// returns ErrNotFound, and a *FieldError and ErrExists as CreateAgent does.
func (s Agents) Change(ctx context.Context, p identity.Principal, id string, change func(*Agent)) (Agent, error) {
	if err := may(p, identity.ChangeAgent, agentResource(id)); err != nil {
		return Agent{}, err
	}
	var a Agent
	err := s.update(ctx, func(tx kv.Tx) error {
		old, err := agentByID(tx, id)
		if err != nil {
			return err
		}
		a = old
		a.Tools = slices.Clone(old.Tools)
		change(&a)
		if a, err = checkedAgent(a); err != nil {
			return err
		}
		if holder := table.AgentNames.Text(tx, agentKey(a.Name)); holder != "" && holder != id {
			return ErrExists
		}
		a.ID, a.CreatedAt, a.UpdatedAt = id, old.CreatedAt, s.clock()
		if err := table.AgentNames.Delete(tx, agentKey(old.Name)); err != nil {
			return err
		}
		return putAgent(tx, a)
	})
	if err != nil {
		return Agent{}, err
	}
	return a, nil
}

// Delete removes an agent, or returns ErrNotFound. Answers keep its id. It is for
// operators.
func (s Agents) Delete(ctx context.Context, p identity.Principal, id string) error {
	if err := may(p, identity.DeleteAgent, agentResource(id)); err != nil {
		return err
	}
	return s.update(ctx, func(tx kv.Tx) error {
		a, err := agentByID(tx, id)
		if err != nil {
			return err
		}
		return errors.Join(table.AgentNames.Delete(tx, agentKey(a.Name)), table.Agents.Delete(tx, id))
	})
}

func putAgent(tx kv.Tx, a Agent) error {
	return errors.Join(table.Agents.Put(tx, a.ID, a), table.AgentNames.PutRaw(tx, agentKey(a.Name), []byte(a.ID)))
}

// agentKey is the key of a name in table.AgentNames.
func agentKey(name string) string { return strings.ToLower(name) }

// checkedAgent returns a record as it is kept.
func checkedAgent(a Agent) (Agent, error) {
	a.Name, a.Instructions = strings.TrimSpace(a.Name), strings.TrimSpace(a.Instructions)
	switch {
	case !oneLine(a.Name) || utf8.RuneCountInString(a.Name) > MaxAgentNameRunes:
		return Agent{}, invalidField("name", "an agent's name has 1 to %d characters on one line", MaxAgentNameRunes)
	case !utf8.ValidString(a.Instructions) || strings.ContainsRune(a.Instructions, 0):
		return Agent{}, invalidField("instructions", "an agent's instructions are UTF-8 text")
	case len(a.Instructions) > MaxInstructionBytes:
		return Agent{}, invalidField("instructions", "an agent's instructions have at most %d KiB",
			MaxInstructionBytes>>10)
	case a.MaxCycles < 0 || a.MaxCycles > MaxAgentCycles:
		return Agent{}, invalidField("max_cycles", "an agent's max_cycles is 1 to %d, or 0 for the host's",
			MaxAgentCycles)
	case a.Model != "" && (!oneLine(a.Model) || len(a.Model) > maxAgentWordBytes):
		return Agent{}, invalidField("model", "an agent's model is a name of at most %d bytes", maxAgentWordBytes)
	case len(a.Tools) > MaxAgentTools:
		return Agent{}, invalidField("tools", "an agent names at most %d tools", MaxAgentTools)
	}
	if a.Tools == nil {
		return a, nil
	}
	tools := make([]string, 0, len(a.Tools))
	for _, name := range a.Tools {
		if name = strings.TrimSpace(name); !oneLine(name) || len(name) > maxAgentWordBytes {
			return Agent{}, invalidField("tools", "an agent's tools are names of 1 to %d bytes", maxAgentWordBytes)
		}
		if !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	a.Tools = tools
	return a, nil
}

// oneLine tells whether a text is UTF-8, not empty, and free of control characters.
func oneLine(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
