package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

// ForgetUser deletes what plugins keep for a user: values of kv, kept folders and the
// labels of both. It is for operators. It waits for calls that have such a folder.
func (m *Manager) ForgetUser(ctx context.Context, by identity.Principal, user string) error {
	if err := identity.Authorize(by, identity.ForgetPluginUsers, identity.PluginKind.All()); err != nil {
		return err
	}
	var errs []error
	if m.config.Workspaces != nil {
		errs = append(errs, m.config.Workspaces.RemoveUser(ctx, user))
	}
	id := url.PathEscape(user)
	errs = append(errs, m.config.Storage.Update(func(tx Tx) error {
		var theirs []string
		note := func(key string, _ []byte) bool {
			part := strings.SplitN(strings.TrimPrefix(key, placeMark("")), "/", 5)
			value := part[0] == "kv" && len(part) == 5 && part[2] == "user" && part[3] == id
			mark := part[0] == "workspace" && len(part) == 3 && part[2] == id
			if value || mark {
				theirs = append(theirs, key)
			}
			return true
		}
		if err := errors.Join(tx.Scan("kv/", note), tx.Scan(placeMark(""), note), tx.Scan("workspace/", note)); err != nil {
			return err
		}
		for _, key := range theirs {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	}))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("forget what plugins keep for a user: %w", err)
	}
	return nil
}
