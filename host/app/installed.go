package app

import (
	"cmp"
	"context"
	"net/url"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/plugin"
	"github.com/bulkhead-host/bulkhead/host/store/space"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// installed tells the api what the plugin manager has.
type installed struct{ app *App }

// Tools implements api.Plugins.
func (i installed) Tools(ctx context.Context, user string) ([]tool.Tool, error) {
	return i.app.tools(ctx, user)
}

// Resolve implements api.Plugins.
func (i installed) Resolve(ctx context.Context, words []string) ([]toolset.Meant, error) {
	return i.app.resolve(ctx, words)
}

// List implements api.Plugins.
func (i installed) List(ctx context.Context, p identity.Principal) ([]rest.Plugin, error) {
	if err := i.app.awaitBuiltins(ctx); err != nil {
		return nil, err
	}
	list, err := i.app.Plugins.List(ctx, p)
	if err != nil {
		return nil, err
	}
	names, err := i.app.toolset.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]rest.Plugin, 0, len(list))
	for _, d := range list {
		shown := rest.Plugin{Name: d.Name, Version: d.Version, Title: d.Title, Description: d.Text, SHA256: d.SHA256,
			Builtin: d.Builtin, Enabled: d.Enabled, Dynamic: d.Dynamic, Tools: []rest.PluginTool{},
			Held: []rest.HeldTool{}, HeldDigest: d.HeldDigest,
			Config: d.Config, Grants: []rest.Grant{}}
		for _, h := range d.Held {
			held := heldTool(h)
			held.ID = tool.ID(d.Name, h.Name)
			shown.Held = append(shown.Held, held)
		}
		for _, t := range d.Tools {
			shown.Tools = append(shown.Tools, rest.PluginTool{
				ID: t.ID, Name: cmp.Or(names[t.ID], t.Name), Title: t.Title, Description: t.Description,
				Labels: append([]string{}, t.Labels...),
			})
		}
		for _, g := range d.Grants {
			grant := rest.Grant{Capability: g.Capability, Mode: string(g.Mode), Summary: g.Sentence}
			shown.Grants = append(shown.Grants, grant)
		}
		out = append(out, shown)
	}
	return out, nil
}

func heldTool(h plugin.HeldTool) rest.HeldTool {
	out := rest.HeldTool{Name: h.Name, Title: h.Title, Description: h.Description, InputSchema: h.InputSchema,
		OutputSchema: h.OutputSchema}
	if h.Before != nil {
		before := heldTool(*h.Before)
		out.Before = &before
	}
	return out
}

// Configure implements api.Plugins.
func (i installed) Configure(ctx context.Context, p identity.Principal, name string, change map[string]*string) error {
	return i.app.Plugins.Configure(ctx, p, name, change)
}

// Accept implements api.Plugins.
func (i installed) Accept(ctx context.Context, p identity.Principal, name, digest string) error {
	return i.app.Plugins.AcceptTools(ctx, p, name, digest)
}

// ForgetUser implements api.Plugins.
func (i installed) ForgetUser(ctx context.Context, p identity.Principal, user string) error {
	return i.app.Plugins.ForgetUser(ctx, p, user)
}

// hostsOf are the hosts of origins.
func hostsOf(origins []string) []string {
	var hosts []string
	for _, o := range origins {
		if u, err := url.Parse(o); err == nil && u.Host != "" {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}

// signedInKey is set once somebody has signed in.
const signedInKey = "signed_in"

// signedIn remembers that somebody has signed in, which ends the first start.
func (a *App) signedIn() {
	err := a.Store.Space("app").Update(func(tx space.Tx) error { return tx.Put(signedInKey, []byte("1")) })
	if err != nil {
		a.options.Logger.Error("remember the first sign-in", "error", err)
	}
}

// FirstStart tells whether nobody has signed in yet.
func (a *App) FirstStart() (bool, error) {
	first := true
	err := a.Store.Space("app").View(func(tx space.Tx) error {
		_, found := tx.Get(signedInKey)
		first = !found
		return nil
	})
	return first, err
}
