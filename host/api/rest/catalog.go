package rest

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

type ToolView struct {
	// ID is its identity, Name what models call it by.
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Plugin      string   `json:"plugin"`
	Description string   `json:"description"`
	Labels      []string `json:"labels"`
	// Memory tells that it reads or writes memories: a private conversation does
	// not have it.
	Memory bool `json:"memory,omitempty"`
}

// List lists what the caller's questions may use.
func (s tools) List(c *fiber.Ctx) error {
	if err := identity.Authorize(caller.Of(c).Principal, identity.ListTools, identity.ToolKind.All()); err != nil {
		return err
	}
	tools, err := s.cfg.Plugins.Tools(s.cfg.Context, caller.Of(c).UserID())
	if err != nil {
		return err
	}
	views := make([]ToolView, 0, len(tools))
	for _, t := range tools {
		spec := t.Spec()
		views = append(views, ToolView{
			ID: spec.ID, Name: spec.Name, Title: spec.Title, Plugin: spec.Plugin, Description: spec.Description,
			Labels: append([]string{}, spec.Labels...), Memory: slices.Contains(spec.Reaches, tool.ReachesMemory),
		})
	}
	return c.JSON(fiber.Map{"tools": views})
}
