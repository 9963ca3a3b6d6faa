package plugin

import (
	"context"
	"fmt"
)

// ForgetUser deletes what plugins keep for a user: values of kv, kept folders and the
// labels of both. It waits for calls that have such a folder.
func (m *Manager) ForgetUser(ctx context.Context, user string) error {
	if err := m.host.Forget(ctx, user); err != nil {
		return fmt.Errorf("forget what plugins keep for a user: %w", err)
	}
	return nil
}
