package store

import (
	"context"
	"errors"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/agent"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Create adds an agent with all but the id and the times of the record. It is for
// operators. It returns a *FieldError for what is out of the limits, ErrExists when the
// name is taken, and ErrFull when there are agent.Max.
func (s Agents) Create(ctx context.Context, p identity.Principal, record Agent) (Agent, error) {
	if err := may(p, identity.CreateAgent, identity.AgentKind.All()); err != nil {
		return Agent{}, err
	}
	a, err := agent.Checked(record)
	if err != nil {
		return Agent{}, err
	}
	err = s.update(ctx, func(tx kv.Tx) error {
		if table.AgentNames.Has(tx, agent.Key(a.Name)) {
			return ErrExists
		}
		if n := len(table.Agents.Tails(tx, "")); n >= agent.Max {
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
		if a, err = agent.Checked(a); err != nil {
			return err
		}
		if holder := table.AgentNames.Text(tx, agent.Key(a.Name)); holder != "" && holder != id {
			return ErrExists
		}
		a.ID, a.CreatedAt, a.UpdatedAt = id, old.CreatedAt, s.clock()
		if err := table.AgentNames.Delete(tx, agent.Key(old.Name)); err != nil {
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
		return errors.Join(table.AgentNames.Delete(tx, agent.Key(a.Name)), table.Agents.Delete(tx, id))
	})
}

func putAgent(tx kv.Tx, a Agent) error {
	return errors.Join(table.Agents.Put(tx, a.ID, a), table.AgentNames.PutRaw(tx, agent.Key(a.Name), []byte(a.ID)))
}
