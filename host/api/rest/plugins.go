package rest

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// Plugins lists what is installed. What only operators may do it refuses by itself, with an
// error of identity.
type Plugins interface {
	// Tools returns the tools that the user's questions may use.
	Tools(ctx context.Context, user string) ([]tool.Tool, error)
	// Resolve says which tools are meant by words, which are identities or names.
	Resolve(ctx context.Context, words []string) ([]toolset.Meant, error)
	// List describes the installed plugins, by name.
	List(ctx context.Context, p identity.Principal) ([]Plugin, error)
	// Configure sets what a plugin reads as its configuration; nil takes a key away. A
	// mistake is a *fault.Error.
	Configure(ctx context.Context, p identity.Principal, plugin string, change map[string]*string) error
	// Accept offers the tools of a plugin that are held under this digest. A mistake is a
	// *fault.Error.
	Accept(ctx context.Context, p identity.Principal, plugin, digest string) error
	// ForgetUser deletes what plugins keep for a user.
	ForgetUser(ctx context.Context, p identity.Principal, user string) error
}

// Plugin is an installed plugin as an operator sees it.
type Plugin struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Title       string `json:"title"`
	Description string `json:"description"`
	SHA256      string `json:"sha256"`
	Builtin     bool   `json:"builtin"`
	Enabled     bool   `json:"enabled"`
	// Dynamic tells that the tools depend on the configuration and the grants.
	Dynamic bool         `json:"dynamic"`
	Tools   []PluginTool `json:"tools"`
	// Held are tools that are not offered, because nobody has seen them as they are now;
	// HeldDigest is what they are accepted by, absent for none.
	Held       []HeldTool `json:"held"`
	HeldDigest string     `json:"held_digest,omitempty"`
	// Config is what the plugin reads as its configuration.
	Config map[string]string `json:"config"`
	Grants []Grant           `json:"grants"`
}

// HeldTool is a tool as it would be offered.
type HeldTool struct {
	// ID is its identity, absent in Before. Name is the plugin's own: it has no other
	// before it is offered.
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Before is the tool as it was seen, absent for one that is new.
	Before *HeldTool `json:"before,omitempty"`
}

// PluginTool is a tool of a plugin.
type PluginTool struct {
	// ID is its identity, Name what models call it by.
	ID          string   `json:"id"`
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

// List lists the installed plugins.
func (s plugins) List(c *fiber.Ctx) error {
	list, err := s.cfg.Plugins.List(s.cfg.Context, caller.Of(c).Principal)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"plugins": append([]Plugin{}, list...)})
}

// configBody is a change of a plugin's configuration.
type configBody struct {
	Config map[string]*string `json:"config"`
}

// PatchConfig changes a plugin's configuration.
func (s plugins) PatchConfig(c *fiber.Ctx) error {
	var b configBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	if len(b.Config) == 0 {
		return fault.New(fault.Invalid, `Say what is to change, such as {"config":{"key":"value"}}; null takes a key away.`)
	}
	name, err := pluginName(c)
	if err != nil {
		return err
	}
	if err := s.cfg.Plugins.Configure(s.cfg.Context, caller.Of(c).Principal, name, b.Config); err != nil {
		return err
	}
	return s.List(c)
}

// acceptBody names what was seen.
type acceptBody struct {
	Seen string `json:"seen"`
}

// Accept offers the held tools of a plugin.
func (s plugins) Accept(c *fiber.Ctx) error {
	var b acceptBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	if b.Seen == "" {
		return fault.New(fault.Invalid, `Say which tools you saw, as {"seen":"…"} with the plugin's held_digest.`)
	}
	name, err := pluginName(c)
	if err != nil {
		return err
	}
	if err := s.cfg.Plugins.Accept(s.cfg.Context, caller.Of(c).Principal, name, b.Seen); err != nil {
		return err
	}
	return s.List(c)
}

func pluginName(c *fiber.Ctx) (string, error) {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return "", fault.New(fault.Invalid, "The name in the address is not encoded rightly.")
	}
	return name, nil
}
