package plugin

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

var _ toolset.Source = (*Manager)(nil)

// Entries implements toolset.Source: all tools of what is installed, by plugin and
// then in the plugin's order.
func (m *Manager) Entries(context.Context) ([]toolset.Entry, error) {
	var list []toolset.Entry
	for _, p := range m.all() {
		c := p.catalogue.Load()
		for _, l := range c.listed {
			e := toolset.Entry{
				Provider: p.record.Name, Name: l.Name, Builtin: p.record.Builtin, Since: p.record.InstalledAt,
				Held: !c.seenAs(l),
			}
			switch {
			case !p.record.Enabled:
				e.Unavailable = "its plugin is switched off"
			case p.manifest.Tool(l.Name).Approval == capability.Deny:
				e.Unavailable = "its plugin's manifest denies it"
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// Tools implements toolset.Source: the tools that a user's questions may use now, by
// plugin and then in the plugin's order. Labels and reach follow from the grants of
// this moment; a call looks them up again.
func (m *Manager) Tools(ctx context.Context, user string, name func(id string) string) ([]tool.Tool, error) {
	m.mu.Lock()
	plugins := m.sorted()
	m.mu.Unlock()
	var list []tool.Tool
	for _, p := range plugins {
		rights, err := m.gate.Rights(ctx, p.manifest, user)
		if err != nil {
			return nil, err
		}
		brought, err := m.host.Brought(ctx, p.record.Name, user, rights)
		if err != nil {
			return nil, err
		}
		for _, l := range p.catalogue.Load().offered() {
			exposed := name(tool.ID(p.record.Name, l.Name))
			if exposed == "" || p.manifest.Tool(l.Name).Approval == capability.Deny {
				continue
			}
			list = append(list, &guestTool{
				manager: m, plugin: p, name: l.Name, spec: spec(p, l, exposed, rights, m.around(), brought),
			})
		}
	}
	return list, nil
}
