package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

const (
	// MaxAgents is how many agents there are at most.
	MaxAgents = 200
	// MaxAgentNameRunes is the greatest length of an agent's name, in code points.
	MaxAgentNameRunes = 80
	// MaxInstructionBytes is the greatest length of an agent's instructions, in bytes.
	MaxInstructionBytes = 16 << 10
	// MaxAgentTools is how many tools an agent names at most.
	MaxAgentTools = 256
	// MaxAgentCycles is the greatest limit of cycles that an agent can set.
	MaxAgentCycles = 50
	// maxAgentWordBytes is the greatest length of the names of tools and models in an
	// agent, in bytes.
	maxAgentWordBytes = 256
)

// Agent is a way to answer that the operators set up and every user may choose.
type Agent struct {
	ID string `json:"id"`
	// Name is unique without regard to case: 1 to MaxAgentNameRunes code points of
	// one line, without surrounding space.
	Name string `json:"name"`
	// Instructions are what the model is told besides; at most MaxInstructionBytes.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the names of those that it may use, at most MaxAgentTools; nil for
	// all, empty for none. They need not be there.
	Tools []string `json:"tools"`
	// Model is the name of the model that answers where the person picks none, ""
	// for the host's default. It need not be there.
	Model string `json:"model,omitempty"`
	// MaxCycles is the limit of cycles, 1 to MaxAgentCycles; 0 for the host's.
	MaxCycles int       `json:"max_cycles,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Names tells whether the agent may use the tool of that name.
func (a Agent) Names(tool string) bool { return a.Tools == nil || slices.Contains(a.Tools, tool) }

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
		return cmp.Or(cmp.Compare(agentKey(a.Name), agentKey(b.Name)), cmp.Compare(a.ID, b.ID))
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
