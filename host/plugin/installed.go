package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// installed is one version of an installed plugin. All but its module and its catalogue is
// immutable; another version is another value.
type installed struct {
	record   registry.Record
	manifest capability.Manifest

	// catalogue is never nil. Who changes it holds the one token of listing.
	catalogue atomic.Pointer[catalogue]
	listing   chan struct{}
	// announced are the words of the plugin that its list has changed.
	announced *announcements
	// acts counts the operators' changes that the plugin was not asked about yet.
	acts atomic.Int32

	// lock holds a token while the module is loaded or closed, and guards the
	// fields below.
	lock   chan struct{}
	module *engine.Module
	// assets came with the module, nil for none; they are set with it.
	assets *files.Assets
	gone   bool
}

func newInstalled(r registry.Record, m capability.Manifest, c catalogue) *installed {
	p := &installed{
		record: r, manifest: m, listing: make(chan struct{}, 1), announced: newAnnouncements(),
		lock: make(chan struct{}, 1),
	}
	p.catalogue.Store(&c)
	return p
}

// fromRecord reads what was stored at install.
func fromRecord(r registry.Record) (*installed, error) {
	m := capability.Default(r.Name)
	if len(r.Manifest) > 0 {
		var err error
		if m, err = guest.ParseManifest(r.Manifest); err != nil {
			return nil, err
		}
	}
	var c catalogue
	if err := json.Unmarshal(r.Tools, &c.seen); err != nil {
		return nil, fmt.Errorf("read the stored list of tools: %w", err)
	}
	c.listed = c.seen
	if len(r.Listed) > 0 {
		c.listed = nil
		if err := json.Unmarshal(r.Listed, &c.listed); err != nil {
			return nil, fmt.Errorf("read the list of tools that was given last: %w", err)
		}
	}
	return newInstalled(r, m, c), nil
}

// load returns the right to call the module, which the caller releases; the first call
// compiles it, others wait. A load that failed is tried again by the next call.
func (p *installed) load(ctx context.Context, e *engine.Engine, r *registry.Registry) (*engine.Lease, error) {
	select {
	case p.lock <- struct{}{}:
		defer func() { <-p.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.gone {
		return nil, engine.ErrClosed
	}
	if p.module != nil {
		return p.module.Lease()
	}
	record, wasm, err := r.Open(ctx, p.record.Name)
	if err != nil {
		return nil, err
	}
	if record.SHA256 != p.record.SHA256 {
		return nil, engine.ErrClosed // another version was installed meanwhile
	}
	assets, err := guest.ReadAssets(wasm, p.manifest)
	if err != nil {
		return nil, err
	}
	module, err := guest.Load(ctx, e, wasm, p.manifest)
	if err != nil {
		return nil, err
	}
	p.module, p.assets = module, assets
	return module.Lease()
}

// unload closes the module for good. Calls that run finish, or are cancelled
// when ctx is done. Who wants to load it meanwhile does not wait for them.
func (p *installed) unload(ctx context.Context) error {
	p.lock <- struct{}{}
	p.gone = true
	module := p.module
	<-p.lock
	if module == nil {
		return nil
	}
	return module.Close(ctx)
}
