package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// agent loads the agent that answers, the zero one for none. A message to an agent
// that is not there is refused. An answer that is written again or goes on is
// worth more than its agent: where that was removed, in loses it and the default
// answers, with a notice.
func (s *Service) agent(
	ctx context.Context, p identity.Principal, in *store.BeginRun,
) (store.Agent, []packet.Notice, error) {
	if in.Agent == "" {
		return store.Agent{}, nil, nil
	}
	a, err := s.cfg.Records.Agents.Get(ctx, p, in.Agent)
	switch {
	case err == nil:
		return a, nil, nil
	case !errors.Is(err, store.ErrNotFound):
		return store.Agent{}, nil, s.fault(err, CodeUnknownAgent)
	case in.Regenerate == "" && in.Continue == "":
		return store.Agent{}, nil, s.fault(err, CodeUnknownAgent)
	}
	in.Agent = ""
	return store.Agent{}, []packet.Notice{packet.NewNotice(packet.CodeAgentUnavailable,
		"The agent of this answer was removed; it is written without its instructions and with the tools that are "+
			"there.")}, nil
}

// answering returns the models that a request names, else the agent's, else the
// default. An agent's model that is not there is a notice: the person did not
// choose it, and cannot repair it.
func (s *Service) answering(names []string, a store.Agent) ([]llm.Model, []packet.Notice, error) {
	if len(names) > 0 || a.Model == "" {
		models, err := s.models(names)
		return models, nil, err
	}
	if m, ok := s.cfg.Models.Get(a.Model); ok {
		return []llm.Model{m}, nil, nil
	}
	models, err := s.models(nil)
	return models, []packet.Notice{packet.NewNotice(packet.CodeAgentUnavailable, fmt.Sprintf(
		"%s, the model of the agent %s, is not there now; %s answers.", shown(a.Model), a.Name,
		s.cfg.Models.Default()))}, err
}
