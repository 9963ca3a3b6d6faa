package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/runtime/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space is a key space in memory whose failed transactions leave nothing.
type space struct {
	mu   sync.Mutex
	keys map[string][]byte
}

type tx map[string][]byte

func (t tx) Get(key string) ([]byte, bool)      { v, ok := t[key]; return v, ok }
func (t tx) Put(key string, value []byte) error { t[key] = value; return nil }
func (t tx) Delete(key string) error            { delete(t, key); return nil }
func (t tx) Scan(prefix string, visit func(string, []byte) bool) error {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if strings.HasPrefix(key, prefix) && !visit(key, t[key]) {
			break
		}
	}
	return nil
}

func (s *space) View(f func(registry.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(tx(s.keys))
}

func (s *space) Update(f func(registry.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	work := maps.Clone(s.keys)
	if err := f(tx(work)); err != nil {
		return err
	}
	s.keys = work
	return nil
}

func open(t *testing.T) (*registry.Registry, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	r, err := registry.Open(&space{keys: map[string][]byte{"plugin-data": nil}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func install(t *testing.T, r *registry.Registry, name, wasm string) registry.Record {
	t.Helper()
	record, err := r.Install(t.Context(), registry.Record{
		Name: name, Version: "1.0.0", Manifest: json.RawMessage(`{"manifest":1}`), Enabled: true,
		InstalledAt: time.Unix(1, 0).UTC(),
	}, []byte(wasm))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestInstallOpenRemove(t *testing.T) {
	r, dir := open(t)
	installed := install(t, r, "search", "module one")
	record, wasm, err := r.Open(t.Context(), "search")
	if err != nil || string(wasm) != "module one" || record.SHA256 != installed.SHA256 ||
		string(record.Manifest) != `{"manifest":1}` {
		t.Fatalf("Open = %+v, %q, %v", record, wasm, err)
	}
	if info, err := os.Stat(filepath.Join(dir, record.SHA256+".wasm")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file = %v, %v", info, err)
	}
	if err := r.Remove(t.Context(), "search"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Open(t.Context(), "search"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("after Remove: %v", err)
	}
	if err := r.Remove(t.Context(), "search"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("second Remove: %v", err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestListIsSortedByName(t *testing.T) {
	r, _ := open(t)
	for _, name := range []string{"web", "files", "search"} {
		install(t, r, name, name)
	}
	list, err := r.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Name != "files" || list[2].Name != "web" {
		t.Errorf("List = %+v, %v", list, err)
	}
}

func TestUpgradeDropsTheOldFile(t *testing.T) {
	r, dir := open(t)
	install(t, r, "search", "one")
	second := install(t, r, "search", "two")
	if got := files(t, dir); !slices.Equal(got, []string{second.SHA256 + ".wasm"}) {
		t.Errorf("files = %v", got)
	}
	install(t, r, "search", "two")
	if _, wasm, err := r.Open(t.Context(), "search"); err != nil || string(wasm) != "two" {
		t.Errorf("Open = %q, %v", wasm, err)
	}
}

func TestSharedFileStaysUntilTheLastPluginGoes(t *testing.T) {
	r, dir := open(t)
	install(t, r, "a", "same")
	install(t, r, "b", "same")
	if err := r.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, wasm, err := r.Open(t.Context(), "b"); err != nil || string(wasm) != "same" {
		t.Errorf("Open = %q, %v", wasm, err)
	}
	if err := r.Remove(t.Context(), "b"); err != nil || len(files(t, dir)) != 0 {
		t.Errorf("files = %v, %v", files(t, dir), err)
	}
}

func TestDamagedFileIsATypedError(t *testing.T) {
	r, dir := open(t)
	record := install(t, r, "search", "module")
	path := filepath.Join(dir, record.SHA256+".wasm")
	var corrupt *registry.CorruptError
	if err := os.WriteFile(path, []byte("modulf"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, wasm, err := r.Open(t.Context(), "search"); !errors.As(err, &corrupt) || wasm != nil ||
		!strings.Contains(err.Error(), "install the plugin again") {
		t.Errorf("changed file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Open(t.Context(), "search"); !errors.As(err, &corrupt) ||
		!strings.Contains(err.Error(), "missing") {
		t.Errorf("missing file: %v", err)
	}
	install(t, r, "search", "module")
	if _, _, err := r.Open(t.Context(), "search"); err != nil {
		t.Errorf("after installing again: %v", err)
	}
}

func TestInstallMendsADamagedFile(t *testing.T) {
	r, dir := open(t)
	record := install(t, r, "search", "module")
	if err := os.WriteFile(filepath.Join(dir, record.SHA256+".wasm"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, r, "search", "module")
	if _, wasm, err := r.Open(t.Context(), "search"); err != nil || string(wasm) != "module" {
		t.Errorf("Open = %q, %v", wasm, err)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	r, dir := open(t)
	for _, name := range []string{"", "Search", "1a", "a/b", "../x", "a.b", strings.Repeat("a", 64)} {
		if _, err := r.Install(t.Context(), registry.Record{Name: name}, nil); !errors.Is(err, registry.ErrBadName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(files(t, dir)) != 0 {
		t.Error("a refused plugin left a file")
	}
}

func TestUpdateChangesTheRecordOnly(t *testing.T) {
	r, _ := open(t)
	install(t, r, "search", "module")
	err := r.Update(t.Context(), "search", func(rec *registry.Record) error {
		rec.Enabled, rec.Name, rec.SHA256 = false, "other", "other"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rec, _, err := r.Open(t.Context(), "search"); err != nil || rec.Enabled {
		t.Errorf("record = %+v, %v", rec, err)
	}
	refused := errors.New("no")
	err = r.Update(t.Context(), "search", func(rec *registry.Record) error { rec.Version = "9"; return refused })
	if rec, _ := r.Get(t.Context(), "search"); !errors.Is(err, refused) || rec.Version != "1.0.0" {
		t.Errorf("a refused change was kept: %+v, %v", rec, err)
	}
	if err := r.Update(t.Context(), "none", func(*registry.Record) error { return nil }); !errors.Is(err,
		registry.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

func TestConcurrentInstallAndOpen(t *testing.T) {
	r, _ := open(t)
	install(t, r, "p", "0")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 10 {
				if _, err := r.Install(context.Background(), registry.Record{Name: "p"},
					[]byte{byte('0' + i)}); err != nil {
					t.Error(err)
				}
				if _, wasm, err := r.Open(context.Background(), "p"); err != nil || len(wasm) != 1 {
					t.Errorf("%q, %v", wasm, err)
				}
			}
		})
	}
	wg.Wait()
}
