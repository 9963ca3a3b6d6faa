package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// grantStore keeps the grants of all plugins.
type grantStore struct{ space hostfunc.Storage }

var _ gate.GrantSource = (*grantStore)(nil)

func grantPrefix(plugin string) string { return "grant/" + plugin + "/" }

// Grants implements gate.GrantSource. A grant that cannot be read is an error,
// which denies.
func (s *grantStore) Grants(_ context.Context, plugin string) (capability.Grants, error) {
	grants := capability.Grants{}
	err := s.space.View(func(tx hostfunc.Tx) error {
		var bad error
		err := tx.Scan(grantPrefix(plugin), func(key string, value []byte) bool {
			var g capability.Grant
			if bad = json.Unmarshal(value, &g); bad == nil {
				grants[g.Capability] = g
			}
			return bad == nil
		})
		if bad != nil {
			return bad
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	return grants, nil
}

// Grant implements gate.GrantSource. A grant that cannot be read is an error, which denies.
func (s *grantStore) Grant(_ context.Context, plugin, name string) (g capability.Grant, found bool, err error) {
	err = s.space.View(func(tx hostfunc.Tx) error {
		var data []byte
		if data, found = tx.Get(grantPrefix(plugin) + name); !found {
			return nil
		}
		return json.Unmarshal(data, &g)
	})
	if err == nil && found && g.Capability != name {
		err = fmt.Errorf("it is a grant of %q", g.Capability)
	}
	if err != nil {
		return capability.Grant{}, false, fmt.Errorf("read the grant of %s: %w", name, err)
	}
	return g, found, nil
}

// put stores grants in one transaction and leaves others as they are.
func (s *grantStore) put(plugin string, grants ...capability.Grant) error {
	return s.space.Update(func(tx hostfunc.Tx) error {
		for _, g := range grants {
			data, err := json.Marshal(g)
			if err != nil {
				return err
			}
			if err := tx.Put(grantPrefix(plugin)+g.Capability, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetGrant records an operator's word on one capability of a plugin. It holds at
// once, on running calls too; mode deny revokes. It returns an *Error of kind
// UnknownPlugin, or what capability.Grant.Check returns.
func (m *Manager) SetGrant(ctx context.Context, by identity.Principal, plugin string, g capability.Grant) error {
	if err := identity.Authorize(by, identity.SetGrant, identity.PluginKind.All()); err != nil {
		return err
	}
	if err := g.Check(); err != nil {
		return fmt.Errorf("set a grant: %w", err)
	}
	p, err := m.known(plugin)
	if err != nil {
		return err
	}
	defer p.act()()
	if err := m.grants.put(plugin, g); err != nil {
		return fmt.Errorf("set a grant: %w", err)
	}
	err = m.config.Audit.Record(audit.Entry{
		Time: m.config.Now(), Kind: audit.KindGrant, Plugin: plugin, Version: p.record.Version, User: by.UserID(),
		Capability: g.Capability, Decision: string(g.Mode),
	})
	m.listAgain(ctx, p)
	return err
}
