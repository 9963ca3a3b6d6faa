package plugintool_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is what an author's loop runs on: a real engine, a real store and real documents.
type scene struct {
	store  *store.Store
	base   *knowledge.Base
	engine *engine.Engine
	log    *audit.Log
	owner  identity.Principal
}

func open(t *testing.T) *scene {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, dir := &scene{}, t.TempDir()
	var err error
	s.store, err = store.Open(filepath.Join(dir, "bulkhead.db"), store.Options{})
	must(err)
	t.Cleanup(func() { _ = s.store.Close() })
	user, _, err := s.store.Users().EnsureOwner(t.Context())
	must(err)
	s.owner = user.Principal(identity.Command)
	s.base, err = knowledge.Open(t.Context(), knowledge.Config{Dir: filepath.Join(dir, "index"),
		Documents: s.store.Documents(), People: s.store.Users()})
	must(err)
	t.Cleanup(func() { _ = s.base.Close() })
	s.engine, err = engine.New(t.Context(), engine.Config{CacheDir: built.CacheDir})
	must(err)
	t.Cleanup(func() { _ = s.engine.Close(context.Background()) })
	s.log = audit.New(s.store.Space("audit"), func() time.Time { return noon })
	return s
}

// wantFault fails unless err is a *guest.Error of the kind with a sentence.
func wantFault(t *testing.T, err error, kind guest.Kind) {
	t.Helper()
	var e *guest.Error
	if !errors.As(err, &e) || e.Kind != kind || len(e.Message) < 20 {
		t.Fatalf("error is %v, want a *guest.Error of kind %s with a sentence", err, kind)
	}
}
