package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/plugin"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// anOperator is an operator of no account, for what only operators may do.
var anOperator = identity.New(identity.Account{ID: "u_operator", Roles: []identity.Role{identity.Operator}},
	identity.Command)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a host's plugins on a real store, a real engine and real documents.
type scene struct {
	dir     string
	store   *store.Store
	base    *knowledge.Base
	engine  *engine.Engine
	log     *audit.Log
	manager *plugin.Manager
	owner   identity.Principal
	// guard lets requests out, nil for none.
	guard *egress.Guard
	// logger takes what the manager logs, nil for nobody.
	logger *slog.Logger
	// models answer plugins, nil for none.
	models hostfunc.Models
	// changes are what was told of memories.
	changes []string
	// told is called with the name of a plugin that changed, nil for nobody.
	told func(plugin string)
}

func open(t *testing.T, change ...func(*scene)) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir()}
	for _, f := range change {
		f(s)
	}
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.store, err = store.Open(filepath.Join(s.dir, "bulkhead.db"), store.Options{})
	must(err)
	t.Cleanup(func() { _ = s.store.Close() })
	user, _, err := s.store.Users().EnsureOwner(t.Context())
	must(err)
	s.owner = user.Principal(identity.Command)
	s.base, err = knowledge.Open(t.Context(), knowledge.Config{Dir: filepath.Join(s.dir, "index"),
		Documents: s.store.Documents(), People: s.store.Users()})
	must(err)
	t.Cleanup(func() { _ = s.base.Close() })
	s.engine, err = engine.New(t.Context(), engine.Config{CacheDir: built.CacheDir})
	must(err)
	t.Cleanup(func() { _ = s.engine.Close(context.Background()) })
	s.log = audit.New(s.store.Space("audit"), func() time.Time { return noon })
	s.start(t)
	return s
}

// start opens the manager, as a start of the host does.
func (s *scene) start(t *testing.T) {
	t.Helper()
	reg, err := registry.Open(s.store.Space("plugins"), filepath.Join(s.dir, "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	s.manager, err = plugin.New(t.Context(), plugin.Config{
		Engine: s.engine, Registry: reg, Audit: s.log, Logger: s.logger, Now: func() time.Time { return noon },
		Services: hostfunc.Services{
			Knowledge: s.base, Memories: s.store.Memories(), Sessions: s.store.Sessions(), Files: s.store.Files(),
			Runs: s.store.Runs(), Messages: s.store.Messages(), Models: s.models, Egress: s.guard,
			Storage:       s.store.Space("sandbox"),
			Workspaces:    files.NewKept(filepath.Join(s.dir, "workspaces"), time.Now),
			MemoryChanged: func(user, id, change string) { s.changes = append(s.changes, change) },
		},
		Changed: func(plugin string) {
			if s.told != nil {
				s.told(plugin)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.manager.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func (s *scene) add(t *testing.T, name, text string) string {
	t.Helper()
	added, err := s.base.Add(t.Context(), s.owner,
		knowledge.Source{URI: name, Name: name, Data: []byte(text), ModTime: noon})
	if err != nil {
		t.Fatal(err)
	}
	return added.Document.ID
}

func (s *scene) install(t *testing.T, files map[string][]byte) error {
	t.Helper()
	dist := fstest.MapFS{"dist/.gitkeep": {}}
	for name, data := range files {
		dist["dist/"+name] = &fstest.MapFile{Data: data}
	}
	return s.manager.InstallBuiltins(t.Context(), dist)
}

// ownName is the name that a tool has in its plugin, by its identity.
func ownName(id string) string {
	_, name, _ := strings.Cut(id, "/")
	return name
}

// tool returns the tool of a name or an identity; it must be there.
func (s *scene) tool(t *testing.T, name string) tool.Tool {
	t.Helper()
	tools, err := s.manager.Tools(t.Context(), s.owner.UserID(), ownName)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tl := range tools {
		if tl.Spec().In([]string{name}) {
			return tl
		}
		names = append(names, tl.Spec().Name)
	}
	t.Fatalf("there is no tool %q among %v", name, names)
	return nil
}

// call calls a tool as the runner does.
func (s *scene) call(t *testing.T, name, arguments string, change ...func(*tool.Invocation)) tool.Result {
	t.Helper()
	in := tool.Invocation{
		CallID: "call_1", Run: "run_1", Session: "ses_1", User: s.owner.UserID(), Arguments: json.RawMessage(arguments),
		Refs: tool.Refs{Start: 101, Count: 100}, Now: noon, Report: &watcher{},
	}
	for _, f := range change {
		f(&in)
	}
	result, err := s.tool(t, name).Call(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// watcher keeps what a call shows.
type watcher struct {
	mu    sync.Mutex
	shown []string
	docs  []tool.Document
}

func (w *watcher) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, s)
}

func (w *watcher) Progress(message string, fraction *float64) {
	if fraction != nil && *fraction == 0.5 {
		message += " 0.5"
	}
	w.note("progress " + message)
}
func (w *watcher) Output(channel, delta string) { w.note(channel + " " + delta) }
func (w *watcher) Documents(docs []tool.Document) {
	w.docs = append(w.docs, docs...)
	w.note("documents")
}
func (w *watcher) Files([]tool.File) { w.note("files") }
func (w *watcher) Memory(operation, _, text string) {
	w.note("memory " + operation + " " + text)
}

// wantKind fails unless err is an *Error of the kind with a sentence.
func wantKind(t *testing.T, err error, kind plugin.Kind) {
	t.Helper()
	var e *plugin.Error
	if !errors.As(err, &e) || e.Kind != kind || len(e.Message) < 20 {
		t.Fatalf("error is %v, want a *plugin.Error of kind %s with a sentence", err, kind)
	}
}

// wantFault fails unless err is a *guest.Error of the kind with a sentence.
func wantFault(t *testing.T, err error, kind guest.Kind) {
	t.Helper()
	var e *guest.Error
	if !errors.As(err, &e) || e.Kind != kind || len(e.Message) < 20 {
		t.Fatalf("error is %v, want a *guest.Error of kind %s with a sentence", err, kind)
	}
}

var denyKnowledge = capability.Grant{Capability: capability.Knowledge, Mode: capability.Deny}
