package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
)

// The tools of a plugin whose manifest says "dynamic" depend on its configuration and on
// what it was granted. It is asked for them again when an operator changes either, and when
// it says that its list has changed.

// errHeld is returned by AcceptTools for a list that is not the one that was seen.
var errHeld = errors.New("other tools are held now")

// act begins an operator's change of what the tools of a plugin depend on. It is over when
// the function that act returns is called, after the plugin was asked again. A list that the
// plugin announced itself and that is made in between may show the change already and would
// pass for the plugin's own doing, so it is dropped: the operator's follows.
func (p *installed) act() (over func()) {
	p.acts.Add(1)
	return func() { p.acts.Add(-1) }
}

// relist asks a plugin for its tools and keeps what it says. byOperator says that it follows
// what an operator did. After an error the list is as it was.
func (m *Manager) relist(ctx context.Context, p *installed, byOperator bool) error {
	select {
	case p.listing <- struct{}{}:
		defer func() { <-p.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	tools, err := m.askForTools(ctx, p)
	if err != nil {
		return fmt.Errorf("list the tools of plugin %q again: %w", p.record.Name, err)
	}
	if !byOperator && p.acts.Load() > 0 {
		p.announced.keep() // what the operator does may fail before a list follows it
		return nil
	}
	return m.change(ctx, p, func(c catalogue) (catalogue, error) { return c.list(tools, byOperator), nil })
}

// askForTools makes the call, with the plugin's configuration and what it was granted
// without asking anybody.
func (m *Manager) askForTools(ctx context.Context, p *installed) ([]guest.Listed, error) {
	lease, err := p.load(ctx, m.config.Engine, m.config.Registry)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	config, err := m.Configuration(p.record.Name)
	if err != nil {
		return nil, err
	}
	c := guest.Call{
		Gate: m.quiet, Host: m.host, Module: lease, Manifest: p.manifest, Title: p.manifest.Title,
		Config: config, Logger: m.config.Logger,
	}
	return c.List(ctx)
}

// change stores another catalogue of a plugin, records and tells it. The caller holds
// p.listing. If both are the same nothing is done.
func (m *Manager) change(ctx context.Context, p *installed, f func(catalogue) (catalogue, error)) error {
	before := *p.catalogue.Load()
	next, err := f(before)
	if err != nil || next.equal(before) {
		return err
	}
	seen, err := json.Marshal(next.seen)
	if err != nil {
		return fmt.Errorf("write the list of tools: %w", err)
	}
	listed, err := json.Marshal(next.listed)
	if err != nil {
		return fmt.Errorf("write the list of tools: %w", err)
	}
	err = m.config.Registry.Update(ctx, p.record.Name, func(r *registry.Record) error {
		if r.SHA256 != p.record.SHA256 {
			return engine.ErrClosed // another version was installed meanwhile
		}
		r.Tools, r.Listed = seen, listed
		return nil
	})
	if err != nil {
		return err
	}
	p.catalogue.Store(&next)
	m.tell(p.record.Name)
	held := next.held()
	if len(held) == 0 && len(before.held()) == 0 {
		return nil
	}
	return m.config.Audit.Record(audit.Entry{
		Time: m.config.Now(), Kind: audit.KindTools, Plugin: p.record.Name, Version: p.record.Version,
		Summary: fmt.Sprintf("%d tools are offered, %d are held", len(next.offered()), len(held)),
	})
}

// tell says that a plugin changed.
func (m *Manager) tell(plugin string) {
	if m.config.Changed != nil {
		m.config.Changed(plugin)
	}
}

// listAgain lists the tools of a dynamic plugin after an operator changed what they depend
// on. What was changed stands whatever comes of it, so an error goes to the log.
func (m *Manager) listAgain(ctx context.Context, p *installed) {
	if !p.manifest.Dynamic {
		return
	}
	if err := m.relist(ctx, p, true); err != nil {
		m.config.Logger.Warn("the tools of a plugin stay as they were", "plugin", p.record.Name, "error", err)
	}
}

// AcceptTools lets the held tools of a plugin be offered. digest is the one that the
// operator saw them under (Description.HeldDigest). It returns an *Error: UnknownPlugin, or
// NotSeen when other tools, or none, are held now.
func (m *Manager) AcceptTools(ctx context.Context, by identity.Principal, plugin, digest string) error {
	if err := identity.Authorize(by, identity.AcceptTools, identity.PluginKind.All()); err != nil {
		return err
	}
	p, err := m.known(plugin)
	if err != nil {
		return err
	}
	select {
	case p.listing <- struct{}{}:
		defer func() { <-p.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var names []string
	err = m.change(ctx, p, func(c catalogue) (catalogue, error) {
		for _, l := range c.held() {
			names = append(names, l.Name)
		}
		next, ok := c.accept(digest)
		if !ok {
			return c, errHeld
		}
		return next, nil
	})
	if errors.Is(err, errHeld) {
		return &Error{Kind: NotSeen, Message: fmt.Sprintf("The tools of %q that are held are not those that you saw. "+
			"Look at them again; plugin held %s shows them.", plugin, plugin)}
	}
	if err != nil {
		return fmt.Errorf("accept the tools of plugin %q: %w", plugin, err)
	}
	return m.config.Audit.Record(audit.Entry{
		Time: m.config.Now(), Kind: audit.KindTools, Plugin: plugin, Version: p.record.Version, User: by.UserID(),
		Decision: "allow", Summary: fmt.Sprintf("accepted %q", names),
	})
}

// known returns an installed plugin, or an *Error of kind UnknownPlugin.
func (m *Manager) known(plugin string) (*installed, error) {
	if p := m.current(plugin); p != nil {
		return p, nil
	}
	return nil, &Error{Kind: UnknownPlugin, Message: fmt.Sprintf("No plugin %q is installed; see plugin list.", plugin)}
}
