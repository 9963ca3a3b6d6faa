package plugin

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Description is an installed plugin as an operator sees it.
type Description struct {
	Name, Version, Title, Text, SHA256 string
	Builtin, Enabled                   bool
	// Dynamic tells that the tools depend on Config and the grants.
	Dynamic bool
	// Tools are those that are offered, each under the name that it has in the plugin;
	// Held are not, until an operator accepts them by
	// HeldDigest.
	Tools      []tool.Spec
	Held       []HeldTool
	HeldDigest string
	// Config is what the plugin reads with config_get.
	Config map[string]string
	Grants []GrantLine
}

// HeldTool is a tool that nobody has seen as it is now.
type HeldTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	// Before is the tool as it was seen, nil for one that is new.
	Before *HeldTool
}

func heldTool(l guest.Listed, before *guest.Listed) HeldTool {
	h := HeldTool{
		Name: l.Name, Title: l.Title, Description: l.Description,
		InputSchema: l.InputSchema, OutputSchema: l.OutputSchema,
	}
	if before != nil {
		old := heldTool(*before, nil)
		h.Before = &old
	}
	return h
}

// GrantLine is what a plugin may do with one capability that it asks for.
type GrantLine struct {
	Capability string
	// Mode is what holds without regard to a user.
	Mode capability.Mode
	// Sentence says it in plain words, and whether this host serves it yet.
	Sentence string
}

// List describes all installed plugins, by name.
func (m *Manager) List(ctx context.Context, by identity.Principal) ([]Description, error) {
	if err := identity.Authorize(by, identity.ListPlugins, identity.PluginKind.All()); err != nil {
		return nil, err
	}
	plugins := m.all()
	list := make([]Description, 0, len(plugins))
	for _, p := range plugins {
		grants, err := m.grants.Grants(ctx, p.record.Name)
		if err != nil {
			return nil, err
		}
		rights := capability.Effective(p.manifest, grants, nil)
		d := Description{
			Name: p.record.Name, Version: p.record.Version, Title: p.manifest.Title, Text: p.manifest.Description,
			SHA256: p.record.SHA256, Dynamic: p.manifest.Dynamic, Builtin: p.record.Builtin, Enabled: p.record.Enabled,
		}
		c := p.catalogue.Load()
		for _, l := range c.held() {
			d.Held = append(d.Held, heldTool(l, c.before(l.Name)))
		}
		if len(d.Held) > 0 {
			d.HeldDigest = digestOf(c.held())
		}
		if d.Config, err = m.Configuration(p.record.Name); err != nil {
			return nil, err
		}
		for _, l := range c.offered() {
			d.Tools = append(d.Tools, spec(p, l, l.Name, rights, m.around(), nil))
		}
		for _, w := range p.manifest.Wishes() {
			sentence := strings.TrimSpace(w.Sentence + " " + w.Gap)
			d.Grants = append(d.Grants, GrantLine{w.Capability, rights.Of(w.Capability).Mode, sentence})
		}
		list = append(list, d)
	}
	return list, nil
}
