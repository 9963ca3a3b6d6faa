package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// InstallBuiltins installs every .wasm file of dist that is not installed with
// the same bytes already. Its grants are recorded equal to its manifest when it
// comes for the first time; afterwards only for what a new version asks anew, so
// that what an operator took back stays taken back. A file that cannot be
// installed does not keep the others from it; the errors come back joined, each
// an *Error where the file is at fault.
func (m *Manager) InstallBuiltins(ctx context.Context, dist fs.FS) error {
	var errs []error
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".wasm" {
			return err
		}
		wasm, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		if err := m.installBuiltin(ctx, wasm, strings.TrimSuffix(path.Base(name), ".wasm")); err != nil {
			errs = append(errs, fmt.Errorf("install built-in plugin %q: %w", name, err))
		}
		return ctx.Err()
	})
	return errors.Join(append(errs, err)...)
}

func (m *Manager) installBuiltin(ctx context.Context, wasm []byte, fallback string) error {
	manifest, raw, err := guest.ReadManifest(wasm, fallback)
	if err != nil {
		return err
	}
	m.mu.Lock()
	old := m.plugins[manifest.Name]
	m.mu.Unlock()
	sum := sha256.Sum256(wasm)
	if old != nil && old.record.SHA256 == hex.EncodeToString(sum[:]) {
		return m.repair(ctx, old, wasm)
	}
	p, err := m.prepare(ctx, wasm, manifest, raw)
	if err != nil {
		return err
	}
	p.record.Builtin = true
	if old != nil {
		p.record.Enabled = old.record.Enabled
	}
	if err := m.grants.put(manifest.Name, newGrants(manifest, old)...); err != nil {
		return errors.Join(fmt.Errorf("record grants: %w", err), p.unload(ctx))
	}
	return m.publish(ctx, p, wasm)
}

// repair puts a built-in module's file back where it is gone or damaged.
func (m *Manager) repair(ctx context.Context, p *installed, wasm []byte) error {
	record, _, err := m.config.Registry.Open(ctx, p.record.Name)
	if corrupt := (*registry.CorruptError)(nil); !errors.As(err, &corrupt) {
		return err
	}
	m.config.Logger.Warn("a built-in plugin's file is put back", "plugin", p.record.Name, "error", err)
	_, err = m.config.Registry.Install(ctx, record, wasm)
	return err
}

// newGrants are the grants equal to a manifest, without those of capabilities
// that the version before asked for too.
func newGrants(m capability.Manifest, old *installed) []capability.Grant {
	var list []capability.Grant
	for name, g := range capability.GrantAll(m) {
		if old != nil {
			if _, asked := old.manifest.Asks(name); asked {
				continue
			}
		}
		list = append(list, g)
	}
	return list
}

// prepare loads a module and lists its tools, with nothing granted.
func (m *Manager) prepare(
	ctx context.Context, wasm []byte, manifest capability.Manifest, raw json.RawMessage,
) (*installed, error) {
	if manifest.Name == tool.HostSource {
		return nil, &guest.Error{Kind: guest.BadManifest, Message: fmt.Sprintf(
			"A plugin cannot be named %q: the host's own tools go by that name. Give it another name in its manifest.",
			manifest.Name)}
	}
	assets, err := guest.ReadAssets(wasm, manifest)
	if err != nil {
		return nil, err
	}
	module, err := guest.Load(ctx, m.config.Engine, wasm, manifest)
	if err != nil {
		return nil, err
	}
	tools, err := guest.ListTools(ctx, module, manifest, nil)
	if err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	stored, err := json.Marshal(tools)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the list of tools: %w", err), module.Close(ctx))
	}
	p := newInstalled(registry.Record{
		Name: manifest.Name, Version: manifest.Version, Manifest: raw, Tools: stored,
		Enabled: true, InstalledAt: m.config.Now().UTC(),
	}, manifest, installedList(tools))
	p.module, p.assets = module, assets
	for _, w := range manifest.Wishes() {
		if w.Gap != "" {
			m.config.Logger.Warn("a plugin asks for what is not served", "plugin", manifest.Name, "why", w.Gap)
		}
	}
	return p, nil
}

// publish stores the plugin and puts it in the place of the version before,
// whose running calls finish on the old module.
func (m *Manager) publish(ctx context.Context, p *installed, wasm []byte) error {
	if before := m.current(p.record.Name); before != nil {
		// Nobody loads the version before while its file is replaced.
		select {
		case before.lock <- struct{}{}:
			defer func() { <-before.lock }()
		case <-ctx.Done():
			return errors.Join(ctx.Err(), p.unload(context.WithoutCancel(ctx)))
		}
	}
	record, err := m.config.Registry.Install(ctx, p.record, wasm)
	if err != nil {
		return errors.Join(err, p.unload(ctx))
	}
	p.record = record
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return errors.Join(engine.ErrClosed, p.unload(ctx))
	}
	old := m.plugins[record.Name]
	m.plugins[record.Name] = p
	if old != nil {
		m.background.Go(func() {
			if err := old.unload(m.life); err != nil {
				m.config.Logger.Warn("the old version of a plugin cannot be closed",
					"plugin", record.Name, "error", err)
			}
		})
	}
	m.mu.Unlock()
	m.tell(record.Name)
	m.listAgain(ctx, p)
	return m.config.Audit.Record(audit.Entry{
		Time: m.config.Now(), Kind: audit.KindInstall, Plugin: record.Name, Version: record.Version,
		SHA256: record.SHA256, Decision: string(capability.Allow),
	})
}
