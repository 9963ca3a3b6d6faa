package files_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// model is what a tree of files has to do, as simply as it can be said: the files by their
// path, folders as "dir".
type model map[string]string

const folder = "dir"

func (m model) dir(name string) bool { return name == "." || m[name] == folder }

func (m model) below(name string) []string {
	var list []string
	for p := range m {
		if strings.HasPrefix(p, name+"/") {
			list = append(list, p)
		}
	}
	return list
}

func (m model) mkdir(name string) bool {
	if _, there := m[name]; there || !m.dir(path.Dir(name)) {
		return false
	}
	m[name] = folder
	return true
}

func (m model) write(name, text string) bool {
	if m.dir(name) || !m.dir(path.Dir(name)) {
		return false
	}
	m[name] = "file:" + text
	return true
}

func (m model) remove(name string, dir bool) bool {
	at, there := m[name]
	if !there || (at == folder) != dir || len(m.below(name)) > 0 {
		return false
	}
	delete(m, name)
	return true
}

func (m model) rename(from, to string) bool {
	source, there := m[from]
	target, taken := m[to]
	switch {
	case !there || !m.dir(path.Dir(to)) || strings.HasPrefix(to, from+"/"):
		return false
	case from == to:
		return true
	case taken && ((target == folder) != (source == folder) || len(m.below(to)) > 0):
		return false
	}
	for _, p := range m.below(from) {
		m[to+strings.TrimPrefix(p, from)] = m[p]
		delete(m, p)
	}
	delete(m, from)
	m[to] = source
	return true
}

// TestWorkspaceIsATreeOfFiles does random things to a workspace and to the model.
func TestWorkspaceIsATreeOfFiles(t *testing.T) {
	isATree(t, func(func(error)) (*files.Workspace, func() *files.Workspace) {
		w := files.NewWorkspace(1<<20, noon)
		return w, func() *files.Workspace { return w }
	})
}

// isATree plays changes on a new tree and on the model. again returns the tree as who comes
// later finds it.
func isATree(t *testing.T, open func(check func(error)) (w *files.Workspace, again func() *files.Workspace)) {
	names := []string{"a", "b", "a/c", "a/d", "a/c/e", "b/a", "b/a/b"}
	rapid.Check(t, func(t *rapid.T) {
		w, again := open(func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		})
		m := model{}
		name := rapid.SampledFrom(names)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := name.Draw(t, "name")
			var ok, want bool
			what := rapid.SampledFrom([]string{"mkdir", "write", "write", "remove", "rmdir", "rename"}).Draw(t, "what")
			switch what {
			case "mkdir":
				ok, want = w.Mkdir(n) == nil, m.mkdir(n)
			case "write":
				text := rapid.StringN(0, 20, 2000).Draw(t, "text")
				ok, want = put(w, n, text) == nil, m.write(n, text)
			case "remove":
				ok, want = w.Remove(n, false) == nil, m.remove(n, false)
			case "rmdir":
				ok, want = w.Remove(n, true) == nil, m.remove(n, true)
			case "rename":
				to := name.Draw(t, "to")
				ok, want = w.Rename(n, to) == nil, m.rename(n, to)
			}
			if ok != want {
				t.Fatalf("%s %s: %v, want %v, in %v", what, n, ok, want, m)
			}
			if got := dump(t, w); !maps.Equal(got, m) {
				t.Fatalf("after %s %s: %v, want %v", what, n, got, m)
			}
		}
		used := w.Used()
		if w = again(); w.Used() != used {
			t.Fatalf("%d bytes were used, and %d are", used, w.Used())
		}
		if got := dump(t, w); !maps.Equal(got, m) {
			t.Fatalf("later: %v, want %v", got, m)
		}
		for _, p := range slices.Backward(slices.Sorted(maps.Keys(m))) {
			if err := w.Remove(p, m[p] == folder); err != nil {
				t.Fatalf("remove %s: %v", p, err)
			}
		}
		if w.Used() != 0 {
			t.Fatalf("an empty workspace uses %d bytes", w.Used())
		}
	})
}

func put(w vfs.FS, name, text string) error {
	f, err := w.Open(name, vfs.Write|vfs.Create|vfs.Truncate)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	return errors.Join(err, f.Close())
}

func get(w vfs.FS, name string) (string, error) {
	f, err := w.Open(name, vfs.Read)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size+1))
	return string(data), err
}

// dump reads a whole tree.
func dump(t interface{ Fatal(...any) }, w vfs.FS) model {
	all := model{}
	var walk func(dir string)
	walk = func(dir string) {
		f, err := w.Open(dir, vfs.Read)
		if err != nil {
			t.Fatal(err)
		}
		list, err := f.List()
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			name := path.Join(dir, info.Name)
			if info.Dir {
				all[name] = folder
				walk(name)
				continue
			}
			text, err := get(w, name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = "file:" + text
		}
	}
	walk(".")
	return all
}

func TestQuotaBoundsWhateverIsDone(t *testing.T) {
	const quota = 20_000
	staysWithin(t, quota, func(func(error)) *files.Workspace { return files.NewWorkspace(quota, noon) })
	w := files.NewWorkspace(quota, noon)
	hasHoles(t, quota, w)
}

// staysWithin opens, writes, removes and closes in any order.
func staysWithin(t *testing.T, quota int64, tree func(check func(error)) *files.Workspace) {
	rapid.Check(t, func(t *rapid.T) {
		w := tree(func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		})
		var open []vfs.File
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				if f, err := w.Open(n, vfs.Write|vfs.Create); err == nil {
					open = append(open, f)
				}
			case 2, 3:
				if len(open) > 0 {
					f := open[rapid.IntRange(0, len(open)-1).Draw(t, "file")]
					_, _ = f.WriteAt(make([]byte, rapid.IntRange(0, 9000).Draw(t, "length")),
						rapid.Int64Range(0, 30_000).Draw(t, "offset"))
				}
			case 4:
				_ = w.Remove(n, false) // it stays open
			case 5:
				if len(open) > 0 {
					_ = open[0].Close()
					open = open[1:]
				}
			}
			if w.Used() < 0 || w.Used() > quota {
				t.Fatalf("used %d of %d", w.Used(), quota)
			}
		}
	})
}

// hasHoles writes far beyond the end of a file.
func hasHoles(t *testing.T, quota int64, w *files.Workspace) {
	t.Helper()
	f, err := w.Open("a", vfs.Write|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{quota, 1 << 40, 1<<63 - 2} {
		if n, err := f.WriteAt([]byte("xy"), off); n != 0 || err == nil {
			t.Errorf("a write at %d: %d, %v", off, n, err)
		}
	}
	if err := f.Truncate(1 << 50); !errors.Is(err, vfs.ErrQuota) {
		t.Errorf("truncate: %v", err)
	}
	if _, err := f.WriteAt([]byte("x"), 300); err != nil {
		t.Error(err)
	}
	r, err := w.Open("a", vfs.Read)
	if err != nil {
		t.Fatal(err)
	}
	hole := make([]byte, 301)
	if n, err := r.ReadAt(hole, 0); n != 301 || err != nil || !bytes.Equal(hole[:300], make([]byte, 300)) {
		t.Errorf("the hole: %d, %v", n, err)
	}
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Error("a file that was opened to read was written")
	}
}

// What comes back after a file got shorter must not be what stood there.
func TestWhatWasCutOffIsGone(t *testing.T) {
	w := files.NewWorkspace(1<<20, noon)
	f, err := w.Open("a", vfs.Read|vfs.Write|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("secret"), 0)
	if err = errors.Join(err, f.Truncate(0), f.Truncate(6)); err != nil {
		t.Fatal(err)
	}
	if text, err := get(w, "a"); err != nil || text != strings.Repeat("\x00", 6) {
		t.Errorf("%q, %v", text, err)
	}
}

// entry is one file of a test's archive.
type entry struct {
	name, text string
	kind       byte
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o644, Typeflag: e.kind, ModTime: noon()}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.kind == tar.TypeSymlink {
			h.Linkname, h.Size = "/etc/passwd", 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAssetsAreReadAndNeverWritten(t *testing.T) {
	data := archive(t, entry{name: "./", kind: tar.TypeDir}, entry{name: "./lib/a.txt", text: "hello"},
		entry{name: "b.txt", text: "b"}, entry{name: "empty/", kind: tar.TypeDir})
	a, err := files.ReadAssets(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data) // it keeps no reference
	want := model{"lib": folder, "lib/a.txt": "file:hello", "b.txt": "file:b", "empty": folder}
	if got := dump(t, a); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, err := range map[string]error{
		"write": put(a, "b.txt", "x"), "make": put(a, "new", "x"), "mkdir": a.Mkdir("d"),
		"remove": a.Remove("b.txt", false), "rename": a.Rename("b.txt", "c"),
	} {
		if !errors.Is(err, vfs.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := a.Open("none", vfs.Read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open none: %v", err)
	}
	if _, err := a.Open("b.txt/x", vfs.Read); !errors.Is(err, vfs.ErrNotDir) {
		t.Errorf("open below a file: %v", err)
	}
}

func TestBadArchivesAreRefusedWithASentence(t *testing.T) {
	cases := map[string]struct {
		data []byte
		says string
	}{
		"no tar": {[]byte(strings.Repeat("no archive ", 100)), "tar"},
		"cut": {archive(t, entry{name: "b", text: strings.Repeat("x", 5000)},
			entry{name: "a", text: strings.Repeat("x", 5000)})[:9000], "cut off"},
		"link":      {archive(t, entry{name: "a", kind: tar.TypeSymlink}), "neither"},
		"escape":    {archive(t, entry{name: "../a", text: "x"}), "leaves"},
		"rooted":    {archive(t, entry{name: "/etc/a", text: "x"}), "leaves"},
		"twice":     {archive(t, entry{name: "a", text: "x"}, entry{name: "./a", text: "y"}), "twice"},
		"in a file": {archive(t, entry{name: "a", text: "x"}, entry{name: "a/b", text: "y"}), "in a file"},
		"deep":      {archive(t, entry{name: strings.Repeat("d/", 80) + "f", text: "x"}), "deep"},
		"long":      {archive(t, entry{name: strings.Repeat("n", 300), text: "x"}), "long"},
	}
	for name, c := range cases {
		_, err := files.ReadAssets(c.data)
		var bad *files.ArchiveError
		if !errors.As(err, &bad) || !strings.Contains(bad.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadAssets(f *testing.F) {
	f.Add(archive(f, entry{name: "a/b", text: "x"}, entry{name: "c/", kind: tar.TypeDir}))
	f.Add(archive(f, entry{name: "l", kind: tar.TypeSymlink}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := files.ReadAssets(data)
		if err != nil {
			var bad *files.ArchiveError
			if !errors.As(err, &bad) {
				t.Fatalf("untyped: %v", err)
			}
			return
		}
		total := 0
		for name, text := range dump(t, a) {
			if !fs.ValidPath(name) {
				t.Fatalf("the name %q", name)
			}
			total += len(text)
		}
		if total > 2*len(data)+64 {
			t.Fatalf("%d bytes from an archive of %d", total, len(data))
		}
	})
}
