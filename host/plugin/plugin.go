// Package plugin is plugins as people see them: it installs modules, keeps their
// grants, configuration and versions, holds tools that nobody has seen, and
// offers the others.
//
// Module bytes, grants and what an operator changes come in; tool.Tool values,
// descriptions and typed errors go out. It names no plugin and no tool: what it
// knows of one stands in its manifest. It must not know how a module is spoken
// to (host/guest), what a capability does (host/hostfunc), packets or HTTP.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Config is what a Manager is made of.
type Config struct {
	// Engine runs the modules. The Manager does not close it.
	Engine *engine.Engine
	// Registry keeps what is installed.
	Registry *registry.Registry
	// Services serve the capabilities. Their Storage, which is required, keeps
	// grants and configuration too; nothing else may write to it. Their Now is
	// that of this Config.
	Services hostfunc.Services
	// Audit takes the records of host calls, installs and grants.
	Audit audit.Recorder
	// Changed is told the name of a plugin whose version, tools or configuration changed;
	// it must not wait. nil to tell nobody.
	Changed func(plugin string)
	// Asker is nil where nobody can be asked; then mode ask denies.
	Asker gate.Asker
	// Users is nil where every user has every right.
	Users gate.UserSource
	// Now is the clock, nil for time.Now.
	Now func() time.Time
	// Logger takes what guests log and what a person must not see, nil for none.
	Logger *slog.Logger
}

// Manager is what is installed. It is safe for concurrent use.
type Manager struct {
	config Config
	grants *grantStore
	host   *hostfunc.Host
	gate   *gate.Gate
	// quiet is the gate without anybody to ask, for what no person began.
	quiet *gate.Gate

	// mu guards the fields below.
	mu      sync.Mutex
	plugins map[string]*installed
	closed  bool
	// background are loads and drains that Close waits for; stop ends them.
	background sync.WaitGroup
	life       context.Context
	stop       context.CancelFunc
}

// New returns a Manager of what the registry holds. No module is loaded yet.
func New(ctx context.Context, config Config) (*Manager, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Services.Now = config.Now
	m := &Manager{
		config: config, grants: &grantStore{config.Services.Storage}, host: hostfunc.New(config.Services),
		plugins: map[string]*installed{},
	}
	var err error
	through := gate.Config{
		Functions: m.host.Functions(), Grants: m.grants, Users: config.Users, Audit: config.Audit,
		Now: config.Now, Logger: config.Logger,
	}
	if m.quiet, err = gate.New(through); err != nil {
		return nil, fmt.Errorf("set up the gate: %w", err)
	}
	through.Asker = config.Asker
	if m.gate, err = gate.New(through); err != nil {
		return nil, fmt.Errorf("set up the gate: %w", err)
	}
	records, err := config.Registry.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list installed plugins: %w", err)
	}
	for _, r := range records {
		p, err := fromRecord(r)
		if err != nil {
			// One damaged record must not keep the others from working.
			config.Logger.Error("an installed plugin cannot be read", "plugin", r.Name, "error", err)
			continue
		}
		m.plugins[r.Name] = p
	}
	m.life, m.stop = context.WithCancel(context.Background())
	return m, nil
}

// around is what labels depend on beyond manifests and grants.
func (m *Manager) around() capability.Surroundings {
	return capability.Surroundings{LocalModel: m.host.LocalModels()}
}

// Close ends what runs in the background and closes the loaded modules: running
// calls finish, or are cancelled when ctx is done. A second Close does nothing.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	plugins := m.sorted()
	m.mu.Unlock()
	m.stop()
	m.background.Wait()
	var errs []error
	for _, p := range plugins {
		errs = append(errs, p.unload(ctx))
	}
	return errors.Join(errs...)
}

// Preload loads every enabled module in the background, so that the first call
// does not wait for the compiler.
func (m *Manager) Preload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	plugins := m.sorted()
	m.background.Go(func() {
		for _, p := range plugins {
			if m.life.Err() != nil {
				return
			}
			lease, err := p.load(m.life, m.config.Engine, m.config.Registry)
			if err == nil {
				lease.Release()
			} else if m.life.Err() == nil {
				m.config.Logger.Warn("a plugin cannot be loaded", "plugin", p.record.Name, "error", err)
			}
		}
	})
}

// sorted returns the enabled plugins by name. The caller holds mu.
func (m *Manager) sorted() []*installed {
	var list []*installed
	for _, p := range m.plugins {
		if p.record.Enabled {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *installed) int { return strings.Compare(a.record.Name, b.record.Name) })
	return list
}

// all returns all plugins by name, those that are switched off too.
func (m *Manager) all() []*installed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.plugins), func(a, b *installed) int {
		return strings.Compare(a.record.Name, b.record.Name)
	})
}
