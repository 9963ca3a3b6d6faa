package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// spec describes a tool under the name that a model calls it by.
// brought are the labels of what it finds that was kept.
func spec(
	p *installed, l guest.Listed, name string, rights capability.Rights, around capability.Surroundings,
	brought []string,
) tool.Spec {
	e := p.manifest.Tool(l.Name)
	title := l.Title
	if title == "" {
		title = name
	}
	return tool.Spec{
		ID: tool.ID(p.record.Name, l.Name), Name: name, Builtin: p.record.Builtin,
		Plugin: p.record.Name, PluginVersion: p.record.Version, Title: title,
		Description: l.Description, InputSchema: l.InputSchema,
		Labels: joinLabels(capability.ToolLabels(e, rights, around), brought),
		Cites:  e.Cites, Merge: e.Merge, StreamArgs: e.StreamArgs, StopsLoop: e.StopsLoop,
		Needs: e.Needs, Reminder: e.Reminder, Reaches: reaches(rights),
	}
}

// reaches names the capabilities that are not denied, in a fixed order.
func reaches(rights capability.Rights) []string {
	var names []string
	for _, c := range capability.Catalogue() {
		if rights.Of(c.Name).Mode != capability.Deny {
			names = append(names, c.Name)
		}
	}
	return names
}

// guestTool is a tool of an installed plugin.
type guestTool struct {
	manager *Manager
	plugin  *installed
	// name is the module's own.
	name string
	spec tool.Spec
}

var _ tool.Tool = (*guestTool)(nil)

// Spec implements tool.Tool.
func (t *guestTool) Spec() tool.Spec { return t.spec }

// Call implements tool.Tool. A version that was replaced meanwhile is followed by
// its successor.
func (t *guestTool) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	p, lease, err := t.manager.lease(ctx, t.plugin)
	if err != nil {
		return t.unloadable(ctx, err), nil
	}
	defer lease.Release()
	if !p.catalogue.Load().offers(t.name) {
		return t.notOffered(), nil
	}
	config, err := t.manager.Configuration(p.record.Name)
	if err != nil {
		return t.unloadable(ctx, err), nil
	}
	c := guest.Call{
		Gate: t.manager.gate, Host: t.manager.host, Module: lease, Manifest: p.manifest, Assets: p.assets,
		Tool: t.name, Title: t.spec.Title, Exposed: t.spec.Name, Config: config, Logger: t.manager.config.Logger,
		Changed: func() { t.manager.refresh(p) },
		Carries: func() ([]string, error) { return t.carries(ctx, p, in.User, in.Met) },
	}
	result, _ := c.Do(ctx, in)
	return result, nil
}

// lease returns the right to call the plugin, or the version that has come in its place
// meanwhile: it is taken before anything of the call is done, so that a call finishes on
// the version that it began with.
func (m *Manager) lease(ctx context.Context, p *installed) (*installed, *engine.Lease, error) {
	for {
		lease, err := p.load(ctx, m.config.Engine, m.config.Registry)
		if !errors.Is(err, engine.ErrClosed) {
			return p, lease, err
		}
		next := m.current(p.record.Name)
		if next == nil || next == p {
			return p, nil, err
		}
		p = next
	}
}

func (m *Manager) current(name string) *installed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plugins[name]
}

// unloadable is the result of a call whose module cannot be had.
func (t *guestTool) unloadable(ctx context.Context, err error) tool.Result {
	if ctx.Err() != nil {
		return guest.Stopped(t.spec.Title)
	}
	t.manager.config.Logger.Error("a plugin cannot be loaded", "plugin", t.spec.Plugin, "error", err)
	why := "It cannot be loaded."
	var refused *engine.LoadError
	var corrupt *registry.CorruptError
	switch {
	case errors.As(err, &refused):
		why = refused.Message
	case errors.As(err, &corrupt):
		why = corrupt.Error()
	case errors.Is(err, engine.ErrClosed):
		why = "It was removed or the host is closing."
	}
	return tool.Fail(tool.FailureUnavailable, fmt.Sprintf("%s is not available. %s", t.spec.Title, why),
		fmt.Sprintf("The tool %s is not available now. Go on without it.", t.spec.Name))
}

// notOffered is the result of a call of a tool that was listed when the turn began, and is
// gone or another one now.
func (t *guestTool) notOffered() tool.Result {
	return tool.Fail(tool.FailureUnavailable,
		fmt.Sprintf("%s is not offered any more: the plugin %s has changed or removed it. "+
			"A changed tool is offered again when an operator has looked at it.", t.spec.Title, t.spec.Plugin),
		fmt.Sprintf("The tool %s is not available any more. Go on without it.", t.spec.Name))
}

// carries returns the labels of what a call of a tool may store at this moment: those that the
// tool had when the turn began and those that grants and what was kept give it now, and what
// the path to the call has met. What the tool is told can come from any of these.
func (t *guestTool) carries(ctx context.Context, p *installed, user string, met []string) ([]string, error) {
	rights, err := t.manager.gate.Rights(ctx, p.manifest, user)
	if err != nil {
		return nil, err
	}
	brought, err := t.manager.host.Brought(ctx, p.record.Name, user, rights)
	if err != nil {
		return nil, err
	}
	now := capability.ToolLabels(p.manifest.Tool(t.name), rights, t.manager.around())
	return hostfunc.Lasting(append(now, met...), append(brought, t.spec.Labels...)), nil
}

// joinLabels returns the labels of a tool and of what it reads, each once, in the order of
// capability.AllLabels.
func joinLabels(labels, more []string) []string {
	var all []string
	for _, l := range capability.AllLabels() {
		if slices.Contains(labels, l) || slices.Contains(more, l) {
			all = append(all, l)
		}
	}
	return all
}
