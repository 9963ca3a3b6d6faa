package catalog

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// Origin is where a model comes from.
type Origin string

// The origins of models.
const (
	// Configured: it stands in the configuration.
	Configured Origin = "configured"
	// Added: it was added while the host ran.
	Added Origin = "added"
	// Found: a server on this machine offers it.
	Found Origin = "found"
	// Builtin: it comes with the host.
	Builtin Origin = "builtin"
)

// Entry is a model as an operator sees it. It holds no key.
type Entry struct {
	llm.Info
	Origin Origin
	// BaseURL is where it is reached, "" for the built-in one.
	BaseURL string
	// HasKey tells whether a key is sent.
	HasKey bool
}

// Entries returns what List does, with where each model comes from. It is for operators
// and the host.
func (c *Catalog) Entries(p identity.Principal) ([]Entry, error) {
	if err := identity.Authorize(p, identity.InspectModels, identity.ModelKind.All()); err != nil {
		return nil, err
	}
	return c.entries(), nil
}

func (c *Catalog) entries() []Entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Entry
	builtin := false
	byName := map[string]config.Model{}
	for _, m := range c.cfg.Models {
		byName[m.Name] = m
	}
	for _, m := range c.configured {
		builtin = builtin || m == c.builtin
		out = append(out, entryOf(m, Configured, byName[m.Info().Name]))
	}
	for _, a := range c.added {
		out = append(out, entryOf(a.Model, Added, a.config))
	}
	for _, p := range c.probed {
		out = append(out, Entry{Info: p.Info(), Origin: Found, BaseURL: p.target.BaseURL})
	}
	if !builtin {
		out = append(out, Entry{Info: c.builtin.Info(), Origin: Builtin})
	}
	return out
}

func entryOf(m llm.Model, origin Origin, cfg config.Model) Entry {
	e := Entry{Info: m.Info(), Origin: origin, BaseURL: cfg.BaseURL, HasKey: !cfg.APIKey.IsZero()}
	e.BaseURL = baseOf(cfg)
	if cfg.Provider == provider.Extractive {
		e.Origin = Builtin
	}
	return e
}

// Local tells whether every model of names runs on this machine; nil stands for all
// that there are. The built-in one does, and what a loopback address serves.
func (c *Catalog) Local(names []string) bool {
	for _, e := range c.entries() {
		if (names == nil || slices.Contains(names, e.Name)) && !e.local() {
			return false
		}
	}
	return true
}

func (e Entry) local() bool {
	if e.Origin == Builtin || e.Origin == Found {
		return true
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(u.Hostname())
	return err == nil && address.Unmap().IsLoopback()
}

// Looks tells whether Refresh looks for model servers on this machine.
func (c *Catalog) Looks() bool { return c.cfg.Probe }

// Offers lists the models that a server says it has: one GET of its list. Of m,
// Provider, BaseURL and APIKey count. It is for operators. The error is a *MistakeError for
// an address that is none, else it says what the server did.
func (c *Catalog) Offers(ctx context.Context, p identity.Principal, m config.Model) ([]string, error) {
	if err := identity.Authorize(p, identity.TestModel, identity.ModelKind.All()); err != nil {
		return nil, err
	}
	m.BaseURL = strings.TrimSpace(m.BaseURL)
	baseURL := strings.TrimRight(baseOf(m), "/")
	if below := kinds[m.Provider].listedBelow; !strings.HasSuffix(baseURL, below) {
		baseURL += below
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, &MistakeError{"base_url", "The address must look like http://127.0.0.1:11434/v1."}
	}
	return c.list(ctx, m.Provider, baseURL, m.APIKey)
}
