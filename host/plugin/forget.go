package plugin

import (
	"context"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

// ForgetUser deletes what plugins keep for a user: values of kv, kept folders and the
// labels of both. It is for operators. It waits for calls that have such a folder.
func (m *Manager) ForgetUser(ctx context.Context, by identity.Principal, user string) error {
	if err := identity.Authorize(by, identity.ForgetPluginUsers, identity.PluginKind.All()); err != nil {
		return err
	}
	if err := m.host.Forget(ctx, user); err != nil {
		return fmt.Errorf("forget what plugins keep for a user: %w", err)
	}
	return nil
}
