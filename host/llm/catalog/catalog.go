// Package catalog is the set of models that a person may pick.
//
// The configured models come in, and what a look at this machine finds; llm.Model
// values go out, by name. The built-in model is always among them.
//
// Operators change it, and identity says who is one; everybody who is signed in may pick
// from it. It does not know what is asked of a model.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/extractive"
	"github.com/bulkhead-host/bulkhead/host/llm/intext"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
)

// ErrUnknown is returned when no model has the name.
var ErrUnknown = errors.New("there is no model of that name")

// Config is what a catalog is made of.
type Config struct {
	// Models are the configured ones, in the order in which they are shown.
	Models []config.Model
	// DefaultModel is the name for new conversations, "" for the first.
	DefaultModel string
	// Probe tells whether Refresh looks for model servers.
	Probe bool
	// Targets are the addresses to look at; nil for DefaultTargets.
	Targets []Target
	// ProbeTimeout bounds one look, 0 for a second.
	ProbeTimeout time.Duration
	// Client gives the client that reaches one model server, by its address, and
	// nothing else; nil for egress.ModelClient.
	Client func(baseURL string) *http.Client
	// Storage keeps the models that are added while the host runs, with their keys,
	// and the default that was chosen; nil for a catalog that takes none.
	Storage Storage
	// Logger gets a line for each server found or unusable; nil for none.
	Logger *slog.Logger
}

// Catalog holds the models. It is safe for concurrent use.
type Catalog struct {
	cfg Config

	configured []llm.Model
	builtin    llm.Model

	// change is held by whoever changes what is stored.
	change sync.Mutex

	mu     sync.RWMutex // guards probed, added and chosen
	probed []probed
	// added are the models of Storage, in the order of their names.
	added []addedModel
	// chosen is the default that a person chose, "" for none.
	chosen string

	clientMu sync.Mutex // guards clients
	// clients are those made so far, by address.
	clients map[string]*http.Client
}

// probed is a model that was found, and where.
type probed struct {
	llm.Model
	key    string // address and the endpoint's name
	target Target
}

// New returns a catalog of the configured models and the built-in one; it does
// not touch the network. The error is a sentence that names the model it is
// about. The caller closes the catalog.
func New(cfg Config) (*Catalog, error) {
	c := &Catalog{cfg: cfg, clients: map[string]*http.Client{}, builtin: extractive.New()}
	if c.cfg.Client == nil {
		c.cfg.Client = egress.ModelClient
	}
	if c.cfg.Targets == nil {
		c.cfg.Targets = DefaultTargets()
	}
	c.cfg.ProbeTimeout = cmp.Or(c.cfg.ProbeTimeout, time.Second)
	if c.cfg.Logger == nil {
		c.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	for _, m := range cfg.Models {
		if known, _ := provider.Get(m.Provider); known.Builtin { // there is no other
			c.builtin = extractive.Named(m.Name)
			c.configured = append(c.configured, c.builtin)
			continue
		}
		if m.Name == extractive.Name {
			return nil, fmt.Errorf("model %q: this name belongs to the built-in model", m.Name)
		}
		model, err := c.build(m)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", m.Name, err)
		}
		c.configured = append(c.configured, model)
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// build makes the adapter of one configured model.
func (c *Catalog) build(m config.Model) (llm.Model, error) {
	adapter, err := c.adapter(m)
	if err != nil || m.NativeTools != config.NativeToolsNo {
		return adapter, err
	}
	return intext.Wrap(adapter), nil
}

// client returns the one client of a model server.
func (c *Catalog) client(base string) *http.Client {
	c.clientMu.Lock()
	defer c.clientMu.Unlock()
	client, there := c.clients[base]
	if !there {
		client = c.cfg.Client(base)
		c.clients[base] = client
	}
	return client
}

// Get returns the model of that name; an empty name is the default model. It
// returns ErrUnknown when there is none.
func (c *Catalog) Get(name string) (llm.Model, error) {
	if name == "" {
		name = c.Default()
	}
	for _, m := range c.all() {
		if m.Info().Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%q: %w", name, ErrUnknown)
}

// List returns what a person may pick: the configured models, those added
// while the host ran, those found on this machine, the built-in one.
func (c *Catalog) List() []llm.Info {
	models := c.all()
	infos := make([]llm.Info, 0, len(models))
	for _, m := range models {
		infos = append(infos, m.Info())
	}
	return infos
}

// Default returns the name of the model of a new conversation: the one that was
// chosen while the host ran, else the one that the configuration names, where it
// is there, else the first of List.
func (c *Catalog) Default() string {
	models := c.all()
	c.mu.RLock()
	chosen := c.chosen
	c.mu.RUnlock()
	for _, wanted := range []string{chosen, c.cfg.DefaultModel} {
		if slices.ContainsFunc(models, func(m llm.Model) bool { return m.Info().Name == wanted }) {
			return wanted
		}
	}
	return models[0].Info().Name
}

// MissingDefault returns the default that the configuration names where there is no
// such model now, else "".
func (c *Catalog) MissingDefault() string {
	if _, err := c.Get(c.cfg.DefaultModel); err != nil {
		return c.cfg.DefaultModel
	}
	return ""
}

// Close drops idle connections. Models stay usable.
func (c *Catalog) Close() error {
	c.clientMu.Lock()
	defer c.clientMu.Unlock()
	for _, client := range c.clients {
		client.CloseIdleConnections()
	}
	return nil
}

// all returns every model; there is always one.
func (c *Catalog) all() []llm.Model {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := slices.Clone(c.configured)
	for _, a := range c.added {
		out = append(out, a.Model)
	}
	for _, p := range c.probed {
		out = append(out, p.Model)
	}
	if !slices.Contains(out, c.builtin) {
		out = append(out, c.builtin)
	}
	return out
}

// Refresh looks for model servers and takes in what they offer; models that are
// gone leave the list, those that stay are the same values. Without Probe it
// does nothing. It is for operators and the host. It returns ctx.Err() when ctx ended first, and leaves the list
// alone then; a server that is not there is no error.
func (c *Catalog) Refresh(ctx context.Context, p identity.Principal) error {
	if err := identity.Authorize(p, identity.RefreshModels, identity.ModelKind.All()); err != nil {
		return err
	}
	if !c.cfg.Probe {
		return nil
	}
	found := c.look(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probed = c.merge(found)
	return nil
}
