// Package plugin joins the runtime and the sandbox into tools: it installs
// modules, keeps their grants, and serves each tool call through the engine and
// the gate.
//
// Module bytes, grants and invocations come in; tool.Tool values, results and
// typed errors go out. It names no plugin and no tool: what it knows of one
// stands in its manifest. It must not know models, packets or HTTP.
package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Storage is a key space of its own.
type Storage = audit.Storage

// Tx is one transaction of a Storage.
type Tx = audit.Tx

// Knowledge is what plugins reach of the user's documents. The principal's
// rights are applied by it.
type Knowledge interface {
	Search(ctx context.Context, p identity.Principal, q knowledge.Query) ([]knowledge.Hit, error)
	Read(ctx context.Context, p identity.Principal, id string, offset, limit int) (text string, total int, err error)
}

// Config is what a Manager is made of.
type Config struct {
	// Engine runs the modules. The Manager does not close it.
	Engine *engine.Engine
	// Registry keeps what is installed.
	Registry *registry.Registry
	// Storage keeps grants and the values of capability kv; nothing else may
	// write to it.
	Storage Storage
	// Audit takes the records of host calls, installs and grants.
	Audit audit.Recorder
	// Knowledge is nil where this host has none; then it is unavailable.
	Knowledge Knowledge
	// Memories keeps what is remembered about people, nil for none.
	Memories Memories
	// Models answers what plugins ask of a language model, nil for none.
	Models Models
	// Files keeps what people attached, nil for none.
	Files Files
	// MemoryChanged is told of what a plugin changed: change is created, updated
	// or removed. nil to tell nobody.
	MemoryChanged func(userID, memoryID, change string)
	// Changed is told the name of a plugin whose version, tools or configuration changed;
	// it must not wait. nil to tell nobody.
	Changed func(plugin string)
	// Workspaces are the folders that are kept between calls, nil for none.
	Workspaces *files.Kept
	// Egress lets requests out; nil for none.
	Egress *egress.Guard
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
	marks  *marks
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
	m := &Manager{config: config, grants: &grantStore{config.Storage}, marks: &marks{config.Storage}, plugins: map[string]*installed{}}
	var err error
	functions := hostFunctions(config.Knowledge, config.Storage, web{config.Egress, egress.NewRate(config.Now)})
	functions = append(functions, memory{config.Memories, config.MemoryChanged}.functions()...)
	functions = append(functions, attachments{config.Files}.functions()...)
	functions = append(functions, model{config.Models, &ledger{}}.functions()...)
	through := gate.Config{
		Functions: functions, Grants: m.grants, Users: config.Users, Audit: config.Audit, Now: config.Now, Logger: config.Logger,
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
	if m.config.Models == nil {
		return capability.Surroundings{}
	}
	return capability.Surroundings{LocalModel: m.config.Models.Local}
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
	slices.SortFunc(list, func(a, b *installed) int { return compare(a.record.Name, b.record.Name) })
	return list
}

// Tools returns the tools that a user's questions may use now, by plugin and
// then in the plugin's order. Labels and reach follow from the grants of this
// moment; a call looks them up again.
func (m *Manager) Tools(ctx context.Context, user string) ([]tool.Tool, error) {
	m.mu.Lock()
	plugins := m.sorted()
	m.mu.Unlock()
	names := exposedNames(plugins)
	var list []tool.Tool
	for _, p := range plugins {
		rights, err := m.gate.Rights(ctx, p.manifest, user)
		if err != nil {
			return nil, err
		}
		brought, err := m.brought(ctx, p, rights, user)
		if err != nil {
			return nil, err
		}
		for _, l := range p.catalogue.Load().offered() {
			if p.manifest.Tool(l.Name).Approval == capability.Deny {
				continue
			}
			list = append(list, &guestTool{
				manager: m, plugin: p, name: l.Name, spec: spec(p, l, names[toolKey{p.record.Name, l.Name}], rights, m.around(), brought),
			})
		}
	}
	return list, nil
}

// Description is an installed plugin as an operator sees it.
type Description struct {
	Name, Version, Title, Text, SHA256 string
	Builtin, Enabled                   bool
	// Dynamic tells that the tools depend on Config and the grants.
	Dynamic bool
	// Tools are those that are offered; Held are not, until an operator accepts them by
	// HeldDigest.
	Tools      []tool.Spec
	Held       []HeldTool
	HeldDigest string
	// Config is what the plugin reads with config_get.
	Config map[string]string
	Grants []GrantLine
}

// HeldTool is a tool that nobody has seen as it is now.
type HeldTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	// Before is the tool as it was seen, nil for one that is new.
	Before *HeldTool
}

func heldTool(l listedTool, before *listedTool) HeldTool {
	h := HeldTool{Name: l.Name, Title: l.Title, Description: l.Description, InputSchema: l.InputSchema, OutputSchema: l.OutputSchema}
	if before != nil {
		old := heldTool(*before, nil)
		h.Before = &old
	}
	return h
}

// GrantLine is what a plugin may do with one capability that it asks for.
type GrantLine struct {
	Capability string
	// Mode is what holds without regard to a user.
	Mode capability.Mode
	// Sentence says it in plain words.
	Sentence string
}

// List describes all installed plugins, by name.
func (m *Manager) List(ctx context.Context, by identity.Principal) ([]Description, error) {
	if err := identity.Authorize(by, identity.ListPlugins, identity.PluginKind.All()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	var plugins []*installed
	for _, p := range m.plugins {
		plugins = append(plugins, p)
	}
	names := exposedNames(m.sorted())
	m.mu.Unlock()
	slices.SortFunc(plugins, func(a, b *installed) int { return compare(a.record.Name, b.record.Name) })
	list := make([]Description, 0, len(plugins))
	for _, p := range plugins {
		grants, err := m.grants.Grants(ctx, p.record.Name)
		if err != nil {
			return nil, err
		}
		rights := capability.Effective(p.manifest, grants, nil)
		d := Description{
			Name: p.record.Name, Version: p.record.Version, Title: p.manifest.Title, Text: p.manifest.Description,
			SHA256: p.record.SHA256, Dynamic: p.manifest.Dynamic, Builtin: p.record.Builtin, Enabled: p.record.Enabled,
		}
		c := p.catalogue.Load()
		for _, l := range c.held() {
			d.Held = append(d.Held, heldTool(l, c.before(l.Name)))
		}
		if len(d.Held) > 0 {
			d.HeldDigest = digestOf(c.held())
		}
		if d.Config, err = m.Configuration(p.record.Name); err != nil {
			return nil, err
		}
		for _, l := range c.offered() {
			name := names[toolKey{p.record.Name, l.Name}]
			if name == "" {
				name = l.Name
			}
			d.Tools = append(d.Tools, spec(p, l, name, rights, m.around(), nil))
		}
		for _, w := range p.manifest.Wishes() {
			d.Grants = append(d.Grants, GrantLine{w.Capability, rights.Of(w.Capability).Mode, w.Sentence})
		}
		list = append(list, d)
	}
	return list, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
