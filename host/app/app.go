// Package app puts the rooms of a host together: it opens them in order from a
// configuration and a data folder, hands each what it needs, and closes them in
// the reverse order.
//
// It decides nothing of its own. It must not know flags, terminals or how a
// reply looks.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/metrics"
	"github.com/bulkhead-host/bulkhead/host/plugin"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
	"github.com/bulkhead-host/bulkhead/host/turn"
	"github.com/bulkhead-host/bulkhead/plugins"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
	"github.com/bulkhead-host/bulkhead/web"
)

// Names below the data folder.
const (
	storeFile    = "bulkhead.db"
	indexDir     = "index"
	modulesDir   = "plugins"
	moduleCache  = "cache/modules"
	workspaceDir = "workspaces"
	probeTimeout = 3 * time.Second
)

// CacheDir is where compiled modules of the data folder are kept.
func CacheDir(data string) string { return filepath.Join(data, filepath.FromSlash(moduleCache)) }

// Options say what to open.
type Options struct {
	// DataDir holds all state; it is made with mode 0700 if it is missing.
	DataDir string
	// Config is checked already.
	Config config.Config
	// Version is the host's own, for people.
	Version string
	// Holder names this process to others that want the data folder, such as
	// "bulkhead serve".
	Holder string
	// OnDemand leaves the built-in plugins and the local model servers alone until
	// they are asked for, for a command that may need neither.
	OnDemand bool
	// Logger gets what goes wrong; nil for none.
	Logger *slog.Logger
}

// App is an open host. It is safe for concurrent use.
type App struct {
	options   Options
	Store     *store.Store
	Owner     store.User
	Knowledge *knowledge.Base
	Models    *catalog.Catalog
	Plugins   *plugin.Manager
	Turns     *turn.Service
	Hub       *event.Hub
	Metrics   *metrics.Set

	engine *engine.Engine
	egress *egress.Guard
	// toolset has the tools that the plugins bring.
	toolset *toolset.Set
	// closers are run from the last to the first.
	closers []func(context.Context) error

	// ready is closed when the built-in plugins are installed, and failed says
	// which are not; it may be read after ready.
	ready  chan struct{}
	failed error
	// prepare begins the work in the background, once.
	prepare func()
	// work counts what runs in the background; stop ends it.
	work sync.WaitGroup
	stop context.CancelFunc
}

// Open opens a host. Built-in plugins are installed, and local model servers
// looked for, in the background, unless OnDemand is set; Settle waits for both. The caller closes the
// App. The error matches store.ErrLocked when another process has the data
// folder.
func Open(ctx context.Context, o Options) (*App, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &App{options: o, Hub: new(event.Hub), Metrics: metrics.New(nil), ready: make(chan struct{}), stop: func() {}}
	for _, open := range []func(context.Context) error{a.openStore, a.openEngine, a.openEgress, a.openKnowledge,
		a.openPlugins, a.openModels, a.openTurns} {
		if err := open(ctx); err != nil {
			return nil, errors.Join(err, a.Close(context.WithoutCancel(ctx)))
		}
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	a.prepare = sync.OnceFunc(func() {
		a.work.Go(func() { a.installBuiltins(background) })
		a.work.Go(func() { a.probe(background) })
	})
	if !o.OnDemand {
		a.prepare()
	}
	return a, nil
}

func (a *App) onClose(f func(context.Context) error) { a.closers = append(a.closers, f) }

func (a *App) openStore(ctx context.Context) error {
	if err := os.MkdirAll(a.options.DataDir, 0o700); err != nil {
		return fmt.Errorf("open the data folder: %w", err)
	}
	var err error
	if a.Store, err = store.Open(filepath.Join(a.options.DataDir, storeFile),
		store.Options{Holder: a.options.Holder}); err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return a.Store.Close() })
	if a.Owner, _, err = a.Store.Users().EnsureOwner(ctx); err != nil {
		return fmt.Errorf("make sure of the owner: %w", err)
	}
	return nil
}

func (a *App) openEngine(ctx context.Context) (err error) {
	if a.engine, err = engine.New(ctx, engine.Config{CacheDir: CacheDir(a.options.DataDir),
		Logger: a.options.Logger}); err != nil {
		return fmt.Errorf("start the runtime: %w", err)
	}
	a.onClose(a.engine.Close)
	return nil
}

func (a *App) openEgress(context.Context) (err error) {
	a.egress, err = NewEgress(a.options.Config)
	return err
}

// NewEgress returns the guard that a configuration describes.
func NewEgress(c config.Config) (*egress.Guard, error) {
	g, err := egress.New(egress.Config{Level: egress.Level(c.Egress), LocalServices: c.LocalServices})
	if err != nil {
		return nil, fmt.Errorf("set up egress: %w", err)
	}
	return g, nil
}

func (a *App) openKnowledge(ctx context.Context) (err error) {
	a.Knowledge, err = knowledge.Open(ctx, knowledge.Config{Dir: filepath.Join(a.options.DataDir, indexDir),
		Documents: a.Store.Documents(), People: a.Store.Users(), Logger: a.options.Logger})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return a.Knowledge.Close() })
	return nil
}

func (a *App) openPlugins(ctx context.Context) error {
	reg, err := registry.Open(a.Store.Space("registry"), filepath.Join(a.options.DataDir, modulesDir))
	if err != nil {
		return err
	}
	a.Plugins, err = plugin.New(ctx, plugin.Config{
		Engine: a.engine, Registry: reg, Audit: audit.New(a.Store.Space("audit"), time.Now), Logger: a.options.Logger,
		Services: hostfunc.Services{
			Knowledge: a.Knowledge, Memories: a.Store.Memories(), Sessions: a.Store.Sessions(), Files: a.Store.Files(),
			Runs: a.Store.Runs(), Messages: a.Store.Messages(), Egress: a.egress,
			Models:     completer{func() *catalog.Catalog { return a.Models }},
			Storage:    a.Store.Space("plugin"),
			Workspaces: files.NewKept(filepath.Join(a.options.DataDir, workspaceDir), time.Now),
			MemoryChanged: func(user, memory, change string) {
				a.Hub.Publish(user, event.Event{Topic: event.TopicMemory, ID: memory, Change: change})
			},
		},
		Changed: func(plugin string) {
			a.Hub.Broadcast(event.Event{Topic: event.TopicPlugin, ID: plugin, Change: "updated"})
		},
	})
	if err != nil {
		return err
	}
	a.onClose(a.Plugins.Close)
	a.toolset, err = toolset.New(toolset.Config{
		Sources: []toolset.Source{a.Plugins}, Storage: a.Store.Space("toolset"), Kept: []string{llm.SearchTool},
	})
	return err
}

func (a *App) openModels(context.Context) (err error) {
	a.Models, err = catalog.New(catalog.Config{
		Models: a.options.Config.Models, DefaultModel: a.options.Config.DefaultModel, Probe: a.options.Config.Probe,
		Client: egress.ModelClient, Storage: a.Store.Space("models"), Logger: a.options.Logger,
	})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return a.Models.Close() })
	return nil
}

func (a *App) openTurns(ctx context.Context) error {
	screened, err := a.screen()
	if err != nil {
		return err
	}
	records, err := journal.Open(ctx, a.Store.DB(), journal.Options{Logger: a.options.Logger})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return records.Close() })
	a.Turns = turn.New(turn.Config{
		Records: turn.RecordsOf(a.Store), Journal: records, Models: models{a.Models}, Tools: a.tools,
		Resolve: a.resolve, Screen: screened,
		Logger: a.options.Logger, Observe: a.Metrics.Observe,
		Changed: func(user, session string) {
			a.Hub.Publish(user, event.Event{Topic: event.TopicSession, ID: session, Change: "updated"})
		},
	})
	a.onClose(a.Turns.Close)
	// One run that cannot be recovered must not keep the host from serving.
	if err := a.Turns.Recover(ctx); err != nil {
		a.options.Logger.Error("recover what a crash cut off", "error", err)
	}
	return ctx.Err()
}

// models gives the turn what the catalog has.
type models struct{ *catalog.Catalog }

// Get implements turn.Models.
func (m models) Get(name string) (llm.Model, bool) {
	model, err := m.Catalog.Get(name)
	return model, err == nil
}

// installBuiltins installs what the binary brings, and loads all modules.
func (a *App) installBuiltins(ctx context.Context) {
	defer close(a.ready)
	if err := a.Plugins.InstallBuiltins(ctx, plugins.Dist); err != nil && ctx.Err() == nil {
		a.failed = err
		a.options.Logger.Error("install the built-in plugins", "error", err)
	}
	a.Plugins.Preload()
}

// probe looks for local model servers.
func (a *App) probe(ctx context.Context) {
	if !a.options.Config.Probe {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := a.Models.Refresh(ctx, identity.ForHost("look for model servers at the start")); err != nil {
		a.options.Logger.Debug("look for local model servers", "error", err)
	}
}

// tools are the tools of a user, once the built-in ones are installed.
func (a *App) tools(ctx context.Context, user string) ([]tool.Tool, error) {
	if err := a.awaitBuiltins(ctx); err != nil {
		return nil, err
	}
	return a.toolset.Tools(ctx, user)
}

// resolve says which tools are meant by words, once the built-in ones are installed.
func (a *App) resolve(ctx context.Context, words []string) ([]toolset.Meant, error) {
	if err := a.awaitBuiltins(ctx); err != nil {
		return nil, err
	}
	return a.toolset.Resolve(ctx, words)
}

// awaitBuiltins waits until the built-in plugins are installed: they come first when names
// are dealt.
func (a *App) awaitBuiltins(ctx context.Context) error {
	a.prepare()
	select {
	case <-a.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Settle waits until what Open began in the background is done. It returns
// which built-in plugins cannot be used.
func (a *App) Settle(ctx context.Context) error {
	a.prepare()
	done := make(chan struct{})
	go func() { // it ends with the work, which Close ends
		defer close(done)
		a.work.Wait()
	}()
	select {
	case <-done:
		return a.failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends live runs as interrupted, and closes every room in the reverse
// order of Open. What was produced is kept. The api.Servers of this App are shut
// down before.
func (a *App) Close(ctx context.Context) error {
	a.stop()
	a.work.Wait()
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i](ctx))
	}
	a.closers = nil
	return errors.Join(errs...)
}

// Door is where and how a host is reached.
type Door struct {
	// BaseURL is what browsers open, such as "http://127.0.0.1:8420".
	BaseURL string
	// LoopbackOnly tells that the listener is on loopback.
	LoopbackOnly bool
}

// Server returns a server of this host. The caller shuts it down before Close.
func (a *App) Server(d Door) *api.Server {
	return api.New(api.Config{
		Records: rest.RecordsOf(a.Store), Doors: a.Store.SignIns(), Turns: a.Turns, Knowledge: a.Knowledge,
		Models: a.Models, Plugins: installed{a}, Hub: a.Hub,
		Page: web.Dist, Version: a.options.Version, BaseURL: d.BaseURL, LoopbackOnly: d.LoopbackOnly,
		Hosts: hostsOf(a.options.Config.AllowedOrigins), Origins: a.options.Config.AllowedOrigins, Ready: a.isReady,
		SignedIn: a.signedIn, Metrics: a.Metrics, Logger: a.options.Logger,
	})
}

// errPreparing is returned while the built-in plugins are being installed.
var errPreparing = errors.New("the built-in plugins are being prepared")

func (a *App) isReady() error {
	select {
	case <-a.ready:
		return nil
	default:
		return errPreparing
	}
}
