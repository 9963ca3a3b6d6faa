package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/store"
)

type AgentView struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Instructions string `json:"instructions"`
	// Tools are the identities of its tools and ToolNames what models call them by, in
	// the same order; each is null for all.
	Tools     []string `json:"tools"`
	ToolNames []string `json:"tool_names"`
	Model     string   `json:"model,omitempty"`
	MaxCycles int      `json:"max_cycles,omitempty"`
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
}

func (s agents) viewAgent(a store.Agent) (AgentView, error) {
	view := AgentView{
		ID: a.ID, Name: a.Name, Instructions: a.Instructions, Model: a.Model, MaxCycles: a.MaxCycles,
		CreatedAt: stamp(a.CreatedAt), UpdatedAt: stamp(a.UpdatedAt),
	}
	if a.Tools == nil {
		return view, nil
	}
	meant, err := s.cfg.Plugins.Resolve(s.cfg.Context, a.Tools)
	if err != nil {
		return view, err
	}
	view.Tools, view.ToolNames = []string{}, []string{}
	for _, m := range meant {
		view.Tools, view.ToolNames = append(view.Tools, m.ID), append(view.ToolNames, m.Name)
	}
	return view, nil
}

// agentBody is what a new agent is made of, or what changes in one; a field that is
// absent stays as it is.
type agentBody struct {
	Name         *string `json:"name"`
	Instructions *string `json:"instructions"`
	// Tools is a list of identities or names, or null for all.
	Tools json.RawMessage `json:"tools"`
	Model *string         `json:"model"`
	// MaxCycles is 0 for the host's limit.
	MaxCycles *int `json:"max_cycles"`
}

// readAgent reads an agent's body and returns what it does to a record.
func (s agents) readAgent(c *fiber.Ctx) (func(*store.Agent), error) {
	var b agentBody
	if err := readJSON(c, &b); err != nil {
		return nil, err
	}
	var tools []string
	if b.Tools != nil && json.Unmarshal(b.Tools, &tools) != nil {
		return nil, fault.New(fault.Invalid, "The body's field tools must be a list of names, or null for all tools.")
	}
	if tools != nil {
		for i := range tools {
			tools[i] = strings.TrimSpace(tools[i])
		}
		meant, err := s.cfg.Plugins.Resolve(s.cfg.Context, tools)
		if err != nil {
			return nil, err
		}
		for i, m := range meant {
			tools[i] = m.ID
		}
	}
	if b.Model != nil && *b.Model != "" && !slices.ContainsFunc(s.cfg.Models.List(),
		func(m llm.Info) bool { return m.Name == *b.Model }) {
		f := fault.New(fault.UnknownModel,
			"There is no model of that name. Add it first, or leave the model out for the default.")
		f.Field = "model"
		return nil, f
	}
	return func(a *store.Agent) {
		set(&a.Name, b.Name)
		set(&a.Instructions, b.Instructions)
		set(&a.Model, b.Model)
		set(&a.MaxCycles, b.MaxCycles)
		if b.Tools != nil {
			a.Tools = tools
		}
	}, nil
}

// set writes a value that is there.
func set[T any](into, value *T) {
	if value != nil {
		*into = *value
	}
}

// agentFault names the agent, and says what is wrong with one.
func agentFault(err error) error {
	var wrong *store.FieldError
	switch {
	case errors.As(err, &wrong):
		f := fault.New(fault.Invalid, strings.ToUpper(wrong.Rule[:1])+wrong.Rule[1:]+".")
		f.Field = wrong.Field
		return f
	case errors.Is(err, store.ErrNotFound):
		return fault.New(fault.UnknownAgent, "There is no such agent. It may have been removed.")
	case errors.Is(err, store.ErrExists):
		f := fault.New(fault.Conflict, "There is an agent of that name already. Choose another name.")
		f.Field = "name"
		return f
	case errors.Is(err, store.ErrFull):
		return fault.New(fault.Full,
			fmt.Sprintf("There are %d agents, which is all that are kept. Remove some first.", store.MaxAgents))
	}
	return err
}

// List lists the agents that a message may go to, by name.
func (s agents) List(c *fiber.Ctx) error {
	list, err := s.cfg.Records.Agents.List(s.cfg.Context, caller.Of(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]AgentView, 0, len(list))
	for _, a := range list {
		view, err := s.viewAgent(a)
		if err != nil {
			return err
		}
		views = append(views, view)
	}
	return c.JSON(fiber.Map{"agents": views})
}

// Post adds an agent.
func (s agents) Post(c *fiber.Ctx) error {
	change, err := s.readAgent(c)
	if err != nil {
		return err
	}
	var record store.Agent
	change(&record)
	a, err := s.cfg.Records.Agents.Create(s.cfg.Context, caller.Of(c).Principal, record)
	if err != nil {
		return agentFault(err)
	}
	s.cfg.Hub.Broadcast(event.Event{Topic: event.TopicAgent, ID: a.ID, Change: "created"})
	view, err := s.viewAgent(a)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(fiber.Map{"agent": view})
}

// Patch changes an agent. Runs that are live go on with what they began with.
func (s agents) Patch(c *fiber.Ctx) error {
	change, err := s.readAgent(c)
	if err != nil {
		return err
	}
	a, err := s.cfg.Records.Agents.Change(s.cfg.Context, caller.Of(c).Principal, c.Params("id"), change)
	if err != nil {
		return agentFault(err)
	}
	s.cfg.Hub.Broadcast(event.Event{Topic: event.TopicAgent, ID: a.ID, Change: "updated"})
	view, err := s.viewAgent(a)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"agent": view})
}

// Delete removes an agent. Its answers stay.
func (s agents) Delete(c *fiber.Ctx) error {
	id := c.Params("id")
	if err := s.cfg.Records.Agents.Delete(s.cfg.Context, caller.Of(c).Principal, id); err != nil {
		return agentFault(err)
	}
	s.cfg.Hub.Broadcast(event.Event{Topic: event.TopicAgent, ID: id, Change: "removed"})
	return c.SendStatus(fiber.StatusNoContent)
}
