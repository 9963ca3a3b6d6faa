package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
)

// The bounds of a plugin's configuration.
const (
	maxConfigKeys  = 64
	maxConfigKey   = 128
	maxConfigBytes = 64 << 10
)

func configKey(plugin string) string { return "config/" + plugin }

// Configuration returns what a plugin reads with config_get, never nil.
func (m *Manager) Configuration(plugin string) (map[string]string, error) {
	config := map[string]string{}
	err := m.config.Services.Storage.View(func(tx hostfunc.Tx) error {
		data, found := tx.Get(configKey(plugin))
		if !found {
			return nil
		}
		return json.Unmarshal(data, &config)
	})
	if err != nil {
		return nil, fmt.Errorf("read the configuration of plugin %q: %w", plugin, err)
	}
	return config, nil
}

// Configure changes what a plugin reads with config_get, from its next call on: each value
// is set, and nil takes its key away. A plugin whose tools depend on it is then asked for
// them. Values are no secrets: the guest sees them. It returns an *Error of kind
// UnknownPlugin or BadConfig.
func (m *Manager) Configure(
	ctx context.Context, by identity.Principal, plugin string, change map[string]*string,
) error {
	if err := identity.Authorize(by, identity.ConfigurePlugin, identity.PluginKind.All()); err != nil {
		return err
	}
	p, err := m.known(plugin)
	if err != nil {
		return err
	}
	defer p.act()()
	err = m.config.Services.Storage.Update(func(tx hostfunc.Tx) error {
		config := map[string]string{}
		if data, found := tx.Get(configKey(plugin)); found {
			if err := json.Unmarshal(data, &config); err != nil {
				return err
			}
		}
		for key, value := range change {
			if value == nil {
				delete(config, key)
			} else {
				config[key] = *value
			}
		}
		if err := checkConfig(config); err != nil {
			return err
		}
		data, err := json.Marshal(config)
		if err != nil {
			return err
		}
		return tx.Put(configKey(plugin), data)
	})
	if err != nil {
		return fmt.Errorf("configure plugin %q: %w", plugin, err)
	}
	err = m.config.Audit.Record(audit.Entry{
		Time: m.config.Now(), Kind: audit.KindConfig, Plugin: plugin, Version: p.record.Version, User: by.UserID(),
		Summary: fmt.Sprintf("set or removed %q", slices.Sorted(maps.Keys(change))),
	})
	m.tell(plugin)
	m.listAgain(ctx, p)
	return err
}

func checkConfig(config map[string]string) error {
	bad := func(format string, args ...any) error {
		return &Error{Kind: BadConfig, Message: fmt.Sprintf(format, args...)}
	}
	total := 0
	for key, value := range config {
		if key == "" || len(key) > maxConfigKey {
			return bad("A key of a plugin's configuration has 1 to %d bytes.", maxConfigKey)
		}
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return bad("The configuration of a plugin is UTF-8 text.")
		}
		total += len(key) + len(value)
	}
	if len(config) > maxConfigKeys || total > maxConfigBytes {
		return bad("The configuration would have %d keys and %d bytes; %d keys and %d bytes are allowed.",
			len(config), total, maxConfigKeys, maxConfigBytes)
	}
	return nil
}
