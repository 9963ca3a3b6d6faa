package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// Plugins lists what is installed.
type Plugins interface {
	// Tools returns the tools that the user's questions may use.
	Tools(ctx context.Context, user string) ([]tool.Tool, error)
	// List describes the installed plugins, by name.
	List(ctx context.Context) ([]Plugin, error)
}

// Plugin is an installed plugin as an operator sees it.
type Plugin struct {
	Name        string       `json:"name"`
	Version     string       `json:"version"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	SHA256      string       `json:"sha256"`
	Builtin     bool         `json:"builtin"`
	Enabled     bool         `json:"enabled"`
	Tools       []PluginTool `json:"tools"`
	Grants      []Grant      `json:"grants"`
}

// PluginTool is a tool of a plugin.
type PluginTool struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Labels      []string `json:"labels"`
}

// Grant is what a plugin may do, and how.
type Grant struct {
	Capability string `json:"capability"`
	// Mode is allow, ask or deny.
	Mode string `json:"mode"`
	// Summary says it in plain words.
	Summary string `json:"summary"`
}

// listPlugins lists the installed plugins.
func (s *Server) listPlugins(c *fiber.Ctx) error {
	list, err := s.cfg.Plugins.List(s.ctx)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"plugins": append([]Plugin{}, list...)})
}
