package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func TestCacheIsPrivateAndUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := asking()
	loadIn(t, dir, wasm)
	before := cacheFiles(t, dir)
	if len(before) != 3 { // the entry, the code and their checksum
		t.Fatalf("cache = %v", before)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	loadIn(t, dir, wasm)
	for path, info := range cacheFiles(t, dir) {
		if old, ok := before[path]; !ok || !os.SameFile(old, info) {
			t.Errorf("%s was written again", path)
		}
	}
}

func TestDamagedCacheIsMadeAgain(t *testing.T) {
	wasm := asking()
	damages := map[string]func(path string, data []byte) error{
		"flipped": func(path string, data []byte) error {
			data[len(data)/2] ^= 0xff
			return os.WriteFile(path, data, 0o600)
		},
		// Read as code the compiler would allocate for 2³²−1 functions, and as an entry its
		// summary would have 4 GiB.
		"lying count": func(path string, data []byte) error {
			at := 0
			if filepath.Base(path) != "module" {
				at = 7 + int(data[6])
			}
			copy(data[at:], []byte{0xff, 0xff, 0xff, 0xff})
			return os.WriteFile(path, data, 0o600)
		},
		"cut":     func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/3], 0o600) },
		"empty":   func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"removed": func(path string, _ []byte) error { return os.Remove(path) },
		"longer":  func(path string, data []byte) error { return os.WriteFile(path, append(data, 0), 0o600) },
		"a folder": func(path string, _ []byte) error {
			return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o700))
		},
		"a link": func(path string, _ []byte) error {
			return errors.Join(os.Rename(path, path+"-"), os.Symlink(path+"-", path))
		},
	}
	for name, damage := range damages {
		for _, part := range []string{"module", "code"} {
			t.Run(name+" "+part, func(t *testing.T) {
				dir := t.TempDir()
				e := loadIn(t, dir, wasm)
				path := filepath.Join(e.Folder(wasm), part)
				if part == "code" {
					path = codeFile(t, dir)
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage(path, bytes.Clone(data)); err != nil {
					t.Fatal(err)
				}
				loadIn(t, dir, wasm)
				files := cacheFiles(t, dir)
				info, ok := files[path]
				if len(files) != 3 || !ok || info.Size() != int64(len(data)) || !info.Mode().IsRegular() {
					t.Errorf("cache = %v", files)
				}
			})
		}
	}
}

// codeFile returns the path of the compiled code in a cache with one module.
func codeFile(t *testing.T, dir string) string {
	t.Helper()
	for path := range cacheFiles(t, dir) {
		if base := filepath.Base(path); base != "sum" && base != "module" {
			return path
		}
	}
	t.Fatal("the cache has no code")
	return ""
}

// TestSealedDamageIsMadeAgain damages what is kept and its checksum together: the errors of
// who reads it are the last guard.
func TestSealedDamageIsMadeAgain(t *testing.T) {
	cases := map[string]struct {
		part string
		data []byte
	}{
		"code that is none":                  {"code", []byte("WAZEVO")},
		"an entry that is none":              {"module", []byte("no entry")},
		"an entry without a module":          {"module", []byte("\x02\x00\x00\x00{}")},
		"an entry of a summary that is none": {"module", []byte("\x02\x00\x00\x00[]\x00asm\x01\x00\x00\x00")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			wasm := asking()
			e := loadIn(t, dir, wasm)
			path := filepath.Join(e.Folder(wasm), c.part)
			if c.part == "code" {
				path = codeFile(t, dir)
			}
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := e.Reseal(wasm); err != nil {
				t.Fatal(err)
			}
			loadIn(t, dir, wasm)
			if data, err := os.ReadFile(path); err != nil || bytes.Equal(data, c.data) {
				t.Errorf("what was damaged is still there: %v", err)
			}
		})
	}
}

// giving is a module whose version is n.
func giving(n byte) []byte {
	var b w.Module
	b.Func("call", number, 0, w.Const32(0))
	b.Func("version", number, 0, w.Const32(int32(n)))
	return b.Bytes()
}

// version calls a module that giving made.
func version(t *testing.T, m *engine.Module) int32 {
	t.Helper()
	_, err := m.Call(t.Context(), engine.Call{Export: "version"})
	var failed *engine.CallError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if failed == nil {
		return 0
	}
	return failed.Code
}

// TestKeptModuleIsNotCheckedAgain puts the folder of one module under the name of another:
// what is kept is what runs, without a look at the bytes. (So the cache is as trusted as the
// binary itself.)
func TestKeptModuleIsNotCheckedAgain(t *testing.T) {
	dir := t.TempDir()
	e := loadIn(t, dir, giving(1))
	if err := os.Rename(e.Folder(giving(1)), e.Folder(giving(2))); err != nil {
		t.Fatal(err)
	}
	m, err := newEngine(t, engine.Config{CacheDir: dir}).Load(t.Context(), giving(2), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := version(t, m); got != 1 {
		t.Errorf("version = %d", got)
	}
}

// TestKeptModuleIsTheSame compares all that a module tells when it was checked and when it
// came from the cache.
func TestKeptModuleIsTheSame(t *testing.T) {
	modules := map[string][]byte{"asking": asking(), "with tables": traces(true), "without": traces(false)}
	if !engine.UnderRace { // with it the compiler may take longer than a load waits
		modules["go"] = goPlugin
	}
	for seed := range byte(30) {
		modules[fmt.Sprint("generated ", seed)] = w.Generate([]byte{seed})
	}
	for name, wasm := range modules {
		dir := t.TempDir()
		var told [2]string
		for n := range told {
			m, err := newEngine(t, engine.Config{CacheDir: dir}).Load(t.Context(), wasm, engine.Limits{})
			if err != nil {
				t.Fatal(name, err)
			}
			told[n] = fmt.Sprint(m.Exports(), m.Imports(), m.Protocol(), m.Limits(), m.Resettable(), m.SHA256())
		}
		if told[0] != told[1] {
			t.Errorf("%s: %s\nfrom the cache: %s", name, told[0], told[1])
		}
	}
}

// TestWhatIsNotCodeIsNotCompiledAgain gives one module sections that the compiler does not
// see. Names of functions are another matter: errors have them.
func TestWhatIsNotCodeIsNotCompiledAgain(t *testing.T) {
	dir := t.TempDir()
	wasm := giving(1)
	loadIn(t, dir, wasm)
	first := cacheFiles(t, dir)
	described := wasmbin.AppendCustom(bytes.Clone(wasm), "bulkhead.manifest", []byte("{}"))
	e := loadIn(t, dir, described)
	if e.Folder(described) != e.Folder(wasm) {
		t.Error("the manifest has a part in the key")
	}
	for path, info := range cacheFiles(t, dir) {
		if old, ok := first[path]; !ok || !os.SameFile(old, info) {
			t.Errorf("%s was written again", path)
		}
	}
	m, err := e.Load(t.Context(), described, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(described); m.SHA256() != hex.EncodeToString(sum[:]) {
		t.Error("the hash is not that of all bytes")
	}
	named := wasmbin.AppendCustom(bytes.Clone(wasm), "name", []byte{1, 4, 1, 0, 1, 'f'})
	for what, other := range map[string][]byte{"names": named, "code": giving(2)} {
		if e.Folder(other) == e.Folder(wasm) {
			t.Errorf("%s have no part in the key", what)
		}
	}
	if _, err := e.Load(t.Context(), append(bytes.Clone(wasm), 0, 9), engine.Limits{}); err == nil {
		t.Error("a module with half a section was loaded from the cache")
	}
}

func TestLimitsHoldForAKeptModule(t *testing.T) {
	var b w.Module
	b.Memory(100)
	b.Func("call", number, 0, w.Const32(0))
	dir := t.TempDir()
	e := loadIn(t, dir, b.Bytes())
	var refused *engine.LoadError
	if _, err := e.Load(t.Context(), b.Bytes(), engine.Limits{MemoryMiB: 1}); !errors.As(err, &refused) ||
		refused.Kind != engine.TooLarge {
		t.Errorf("err = %v", err)
	}
	if files := cacheFiles(t, dir); len(files) != 3 {
		t.Errorf("a limit took the module from the cache: %v", files)
	}
}

// TestEnginesShareACache loads the same modules with several engines at once, as processes
// on one data folder do.
func TestEnginesShareACache(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 6 {
		e := newEngine(t, engine.Config{CacheDir: dir})
		group.Go(func() {
			for n := range byte(8) {
				m, err := e.Load(t.Context(), giving(n), engine.Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				if got := version(t, m); got != int32(n) {
					t.Errorf("version = %d, not %d", got, n)
				}
			}
		})
	}
	group.Wait()
	files := cacheFiles(t, dir)
	if len(files) != 8*3 {
		t.Errorf("the cache has %d files: %v", len(files), files)
	}
	e := newEngine(t, engine.Config{CacheDir: dir})
	for n := range byte(8) {
		if _, err := e.Load(t.Context(), giving(n), engine.Limits{}); err != nil {
			t.Error(err)
		}
	}
	for path, info := range cacheFiles(t, dir) {
		if old, ok := files[path]; !ok || !os.SameFile(old, info) {
			t.Errorf("%s was not fit for use", path)
		}
	}
}

// TestUnfinishedFoldersAreSwept has one folder of a process that ended long ago and one of a
// process that may still compile.
func TestUnfinishedFoldersAreSwept(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	old, young := filepath.Join(dir, "new-1"), filepath.Join(dir, "new-2")
	for _, folder := range []string{old, young} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, now, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	loadIn(t, dir, asking())
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old folder: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young folder: %v", err)
	}
}

// rewritten is the hash of what the modules below are rewritten to. When it changes, change
// meter.Version or cacheVersion with it: caches on disk have what the old code made.
const rewritten = "v3-3 1401c5a1107787c6"

func TestCacheVersionFollowsTheRewriter(t *testing.T) {
	sum := sha256.New()
	for n := range byte(100) {
		out, err := engine.Hardened(w.Generate([]byte{n}))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(out)
	}
	key := fmt.Sprintf("%s %x", engine.CacheVersion, sum.Sum(nil)[:8])
	if key != rewritten {
		t.Errorf("version and hash are %q; the test knows %q. If modules are rewritten differently now, change the "+
			"version too.", key, rewritten)
	}
}

func TestRefusedModuleLeavesNothingInCache(t *testing.T) {
	dir := t.TempDir()
	var b w.Module
	b.Func("call", number, 0)
	e := newEngine(t, engine.Config{CacheDir: dir})
	if _, err := e.Load(t.Context(), b.Bytes(), engine.Limits{}); err == nil {
		t.Fatal("an invalid module was loaded")
	}
	if got := cacheFiles(t, dir); len(got) != 0 {
		t.Errorf("cache = %v", got)
	}
}

// TestCacheKeepsWhatWasUsedLast has room for three modules' code of four.
func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "not-ours"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "not-ours", "file")
	if err := os.WriteFile(foreign, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	loadAll := func(max int64, versions ...byte) {
		e := newEngine(t, engine.Config{CacheDir: dir, CacheBytes: max, Now: func() time.Time { return now }})
		for _, n := range versions {
			now = now.Add(time.Minute)
			m, err := e.Load(t.Context(), giving(n), engine.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	folders := func() map[string]int64 {
		sizes := map[string]int64{}
		for path, info := range cacheFiles(t, dir) {
			name, _, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
			if name != "not-ours" {
				sizes[name] += info.Size()
			}
		}
		return sizes
	}
	loadAll(-1, 1)
	first := folders()
	var each int64
	var oldest string
	for oldest, each = range first {
	}
	room := 3*each + each/2
	loadAll(room, 2, 3, 1, 4) // 2 was used least recently
	after := folders()
	if len(after) != 3 || after[oldest] == 0 {
		t.Fatalf("the cache has %d modules; the one that was used again is there: %v", len(after), after[oldest] > 0)
	}
	loadAll(room, 2) // compiled again; 3 goes
	loadAll(room, 1, 4)
	if again := folders(); len(again) != 3 || again[oldest] == 0 {
		t.Errorf("cache = %v", again)
	}
	loadAll(1, 5) // nothing fits; the last one stays
	if last := folders(); len(last) != 1 || last[oldest] != 0 {
		t.Errorf("cache = %v", last)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("what is not the cache's was deleted: %v", err)
	}
}

// TestUnusableCacheKeepsNoModuleFromRunning puts a file where the cache's folder was.
func TestUnusableCacheKeepsNoModuleFromRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	e := newEngine(t, engine.Config{CacheDir: dir})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), asking(), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
		t.Error(err)
	}
}

// loadIn loads and calls wasm in a new engine with that cache.
func loadIn(t *testing.T, dir string, wasm []byte) *engine.Engine {
	t.Helper()
	e := newEngine(t, engine.Config{CacheDir: dir})
	m, err := e.Load(t.Context(), wasm, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), engine.Call{Export: "call"}); err != nil {
		t.Fatal(err)
	}
	return e
}

func cacheFiles(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	files := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = d.Info()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
