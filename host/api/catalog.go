package api

import (
	"github.com/gofiber/fiber/v2"
)

type toolView struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Plugin      string   `json:"plugin"`
	Description string   `json:"description"`
	Labels      []string `json:"labels"`
}

// listTools lists what the caller's questions may use.
func (s *Server) listTools(c *fiber.Ctx) error {
	tools, err := s.cfg.Plugins.Tools(s.ctx, whoOf(c).UserID)
	if err != nil {
		return err
	}
	views := make([]toolView, 0, len(tools))
	for _, t := range tools {
		spec := t.Spec()
		views = append(views, toolView{spec.Name, spec.Title, spec.Plugin, spec.Description, append([]string{}, spec.Labels...)})
	}
	return c.JSON(fiber.Map{"tools": views})
}
