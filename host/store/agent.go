package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/agent"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Agent is a way to answer that the operators set up and every user may choose.
type Agent = agent.Record

// The limits of agents.
const (
	MaxAgents           = agent.Max
	MaxAgentNameRunes   = agent.MaxNameRunes
	MaxInstructionBytes = agent.MaxInstructionBytes
	MaxAgentTools       = agent.MaxTools
	MaxAgentCycles      = agent.MaxCycles
)

// Get returns an agent by id to a user, or ErrNotFound.
func (s Agents) Get(ctx context.Context, p identity.Principal, id string) (Agent, error) {
	if err := may(p, identity.ReadAgent, agentResource(id)); err != nil {
		return Agent{}, err
	}
	var a Agent
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		a, err = agentByID(tx, id)
		return err
	})
	return a, err
}

// List returns all agents to a user, in the order of their names. Records that cannot
// be read are left out and named in the error.
func (s Agents) List(ctx context.Context, p identity.Principal) ([]Agent, error) {
	if err := may(p, identity.ListAgents, identity.AgentKind.All()); err != nil {
		return nil, err
	}
	var agents []Agent
	var bad []error
	err := s.view(ctx, func(tx kv.Tx) error {
		table.Agents.Scan(tx, "", func(key string, data []byte) bool {
			a, err := table.Decode[Agent](table.Agents, key, data)
			if err != nil {
				bad = append(bad, err)
			} else {
				agents = append(agents, a)
			}
			return true
		})
		return nil
	})
	slices.SortFunc(agents, func(a, b Agent) int {
		return cmp.Or(cmp.Compare(agent.Key(a.Name), agent.Key(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	return agents, errors.Join(append(bad, err)...)
}

func agentByID(tx kv.Tx, id string) (Agent, error) {
	a, err := table.Get[Agent](tx, table.Agents, id)
	if err == ErrNotFound {
		return Agent{}, notFound("agent", id)
	}
	return a, err
}
