//go:build unix

package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

func freely() error { return nil }

// keep opens a kept workspace, which is closed with the test.
func keep(t *testing.T, k *files.Kept, owner, user string, quota int64) *files.Workspace {
	t.Helper()
	w, done, err := k.Open(t.Context(), owner, user, quota, freely)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestKeptWorkspaceIsATreeOfFiles closes and opens the folder after each sequence of changes:
// what it holds and what it takes is the same.
func TestKeptWorkspaceIsATreeOfFiles(t *testing.T) {
	var n int
	dir := t.TempDir()
	var last func() error
	isATree(t, func(check func(error)) (*files.Workspace, func() *files.Workspace) {
		if last != nil {
			check(last())
		}
		n++
		k := files.NewKept(filepath.Join(dir, fmt.Sprint(n)), noon)
		open := func() (w *files.Workspace) {
			var err error
			w, last, err = k.Open(t.Context(), "p", "u", 1<<20, freely)
			check(err)
			return w
		}
		return open(), func() *files.Workspace {
			check(last())
			return open()
		}
	})
	if err := last(); err != nil {
		t.Error(err)
	}
}

// A folder that is moved takes what is in it along: what a guest can make must be opened again.
func TestAKeptFolderThatWasMovedIntoADeepOneOpensAgain(t *testing.T) {
	k := files.NewKept(t.TempDir(), noon)
	w, done, err := k.Open(t.Context(), "p", "u", 1<<20, freely)
	if err != nil {
		t.Fatal(err)
	}
	deep := func(name string, n int) string {
		for i := range n {
			if i > 0 {
				name += "/d"
			}
			if err := w.Mkdir(name); err != nil {
				t.Fatal(err)
			}
		}
		return name
	}
	target := deep("a", 40)
	deep("b", 30)
	deep("c", 20)
	if err := w.Rename("b", target+"/b"); !errors.Is(err, vfs.ErrNameTooLong) {
		t.Errorf("beyond the deepest path: %v", err)
	}
	if err := w.Rename("c", target+"/c"); err != nil {
		t.Error(err)
	}
	if err := done(); err != nil {
		t.Fatal(err)
	}
	again := keep(t, k, "p", "u", 1<<20)
	for _, name := range []string{"b", target + "/c"} {
		if _, err := again.Stat(name); err != nil {
			t.Errorf("%s: %v", name[:1], err)
		}
	}
}

func TestQuotaBoundsWhateverIsDoneOnDisk(t *testing.T) {
	const quota = 20_000
	var n int
	dir := t.TempDir()
	last := func() error { return nil }
	staysWithin(t, quota, func(check func(error)) (w *files.Workspace) {
		check(last())
		n++
		var err error
		w, last, err = files.NewKept(filepath.Join(dir, fmt.Sprint(n)), noon).Open(t.Context(), "p", "u", quota, freely)
		check(err)
		return w
	})
	if err := last(); err != nil {
		t.Error(err)
	}
	hasHoles(t, quota, keep(t, files.NewKept(t.TempDir(), noon), "p", "u", quota))
}

// TestQuotaHoldsAcrossCalls writes a file in each call until no room is left.
func TestQuotaHoldsAcrossCalls(t *testing.T) {
	const quota = 100_000
	dir := t.TempDir()
	written, full := 0, false
	for n := 0; !full && n < 100; n++ {
		w, done, err := files.NewKept(dir, noon).Open(t.Context(), "p", "u", quota, freely)
		if err != nil {
			t.Fatal(err)
		}
		if err := put(w, fmt.Sprint("f", n), strings.Repeat("x", 5000)); errors.Is(err, vfs.ErrQuota) {
			full = true
		} else if err != nil {
			t.Fatal(err)
		} else {
			written++
		}
		if w.Used() > quota {
			t.Errorf("%d bytes are used", w.Used())
		}
		if err := done(); err != nil {
			t.Fatal(err)
		}
	}
	if !full || written != 11 { // 8,192 and 512 bytes and the name, each
		t.Errorf("%d files were written; full: %v", written, full)
	}
	w := keep(t, files.NewKept(dir, noon), "p", "u", quota/2)
	if err := put(w, "g", "y"); !errors.Is(err, vfs.ErrQuota) {
		t.Errorf("a new file under a quota that is passed: %v", err)
	}
	for n := range written {
		if err := w.Remove(fmt.Sprint("f", n), false); err != nil {
			t.Error(err)
		}
	}
	if err := put(w, "g", "y"); err != nil {
		t.Errorf("after others were removed: %v", err)
	}
}

func TestEachOwnerAndUserHasAFolderOfItsOwn(t *testing.T) {
	k := files.NewKept(t.TempDir(), noon)
	users := []string{"u1", "u2", "..", "", "a/b", "u1/", strings.Repeat("x", 5000), "\x00"}
	for _, owner := range []string{"p", "q"} {
		for _, user := range users {
			w, done, err := k.Open(t.Context(), owner, user, 1<<20, freely)
			if err != nil {
				t.Fatalf("%q: %v", user, err)
			}
			if all := dump(t, w); len(all) != 0 {
				t.Errorf("%s and %q find %v", owner, user, all)
			}
			if err := errors.Join(put(w, "a", owner+user), done()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := k.RemoveUser(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"p", "q"} {
		for _, user := range users {
			text, err := get(keep(t, k, owner, user, 1<<20), "a")
			if user == "u1" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a removed user's file is there: %q, %v", text, err)
			}
			if user != "u1" && text != owner+user {
				t.Errorf("%s and %q read %q, %v", owner, user, text, err)
			}
		}
	}
}

// TestNothingLeadsOutOfAKeptFolder puts into a folder what no guest can.
func TestNothingLeadsOutOfAKeptFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(folder string) error{
		"a link to a file": func(folder string) error {
			return os.Symlink(outside,
				filepath.Join(folder, "sub", "bad"))
		},
		"a link to a folder": func(folder string) error { return os.Symlink("/", filepath.Join(folder, "sub", "bad")) },
		"a link within": func(folder string) error {
			return os.Symlink("../good",
				filepath.Join(folder, "sub", "bad"))
		},
		"a pipe": func(folder string) error {
			return syscall.Mkfifo(filepath.Join(folder, "sub", "bad"),
				0o600)
		},
		"a name in bytes": func(folder string) error {
			return os.WriteFile(filepath.Join(folder, "sub", "b\xff"), nil,
				0o600)
		},
		"folders too deep": func(folder string) error {
			return os.MkdirAll(filepath.Join(folder, strings.Repeat("d/", 70)), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			k := files.NewKept(dir, noon)
			w, done, err := k.Open(t.Context(), "p", "u", 1<<20, freely)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Mkdir("sub"), put(w, "good", "text"), done()); err != nil {
				t.Fatal(err)
			}
			found, err := filepath.Glob(filepath.Join(dir, "p", "*"))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if err := make(found[0]); err != nil {
				t.Fatal(err)
			}
			var broken *files.BrokenError
			if _, _, err := k.Open(t.Context(), "p", "u", 1<<20, freely); !errors.As(err, &broken) ||
				len(broken.Error()) < 40 {
				t.Errorf("err = %v", err)
			}
			if err := os.RemoveAll(found[0]); err != nil {
				t.Fatal(err)
			}
			keep(t, k, "p", "u", 1<<20) // the folder was given back
		})
	}
	// A link that comes while the folder is open.
	dir := t.TempDir()
	w := keep(t, files.NewKept(dir, noon), "p", "u", 1<<20)
	if err := errors.Join(w.Mkdir("sub"), put(w, "sub/a", "text")); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "p", "*", "sub"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := errors.Join(os.RemoveAll(found[0]), os.Symlink(filepath.Dir(outside), found[0])); err != nil {
		t.Fatal(err)
	}
	if err := put(w, "sub/secret", "overwritten"); err == nil {
		t.Error("a file was written through a link")
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestAFolderHasOneCallAtATime lets many calls count in one file.
func TestAFolderHasOneCallAtATime(t *testing.T) {
	k := files.NewKept(t.TempDir(), noon)
	var inside, most atomic.Int32
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			w, done, err := k.Open(t.Context(), "p", "u", 1<<20, freely)
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), inside.Add(1)))
			text, err := get(w, "n")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			err = put(w, "n", text+"x")
			inside.Add(-1)
			if err := errors.Join(err, done()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if text, err := get(keep(t, k, "p", "u", 1<<20), "n"); len(text) != 20 || err != nil || most.Load() != 1 {
		t.Errorf("%d calls counted, %d at a time, %v", len(text), most.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := k.Open(ctx, "p", "u", 1<<20, freely); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that waits and was stopped: %v", err)
	}
}

// TestNothingChangesWithoutTheWordBefore has the hook refuse, as when labels cannot be kept.
func TestNothingChangesWithoutTheWordBefore(t *testing.T) {
	k := files.NewKept(t.TempDir(), noon)
	w, done, err := k.Open(t.Context(), "p", "u", 1<<20, freely)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(w, "a", "text"), w.Mkdir("d"), done()); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	w, done, err = k.Open(t.Context(), "p", "u", 1<<20, func() error { return no })
	if err != nil {
		t.Fatal(err)
	}
	used, before := w.Used(), dump(t, w)
	f, err := w.Open("a", vfs.Write)
	if err != nil {
		t.Fatal(err)
	}
	_, write := f.WriteAt([]byte("y"), 0)
	for what, err := range map[string]error{
		"write": write, "truncate": f.Truncate(0), "create": put(w, "b", ""), "folder": w.Mkdir("e"),
		"remove": w.Remove("a", false), "remove a folder": w.Remove("d", true), "rename": w.Rename("a", "b"),
		"empty": put(w, "a", ""),
	} {
		if !errors.Is(err, no) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if after := dump(t, w); w.Used() != used || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%d bytes and %v became %d and %v", used, before, w.Used(), after)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}

// TestFilesThatStayOpenAreClosed opens more files than a guest may, and leaves them open.
func TestFilesThatStayOpenAreClosed(t *testing.T) {
	k := files.NewKept(t.TempDir(), noon)
	w, done, err := k.Open(t.Context(), "p", "u", 1<<30, freely)
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	opened := 0
	for n := range 1000 {
		if _, err := w.Open(fmt.Sprint(n), vfs.Write|vfs.Create); err == nil {
			opened++
		}
	}
	if now := descriptors(t); opened != 256 || now > before+300 {
		t.Errorf("%d files are open, %d descriptors", opened, now-before)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if now := descriptors(t); now > before {
		t.Errorf("%d descriptors are left", now-before)
	}
}

// descriptors is how many this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not tell descriptors: ", err)
	}
	return len(list)
}

// FuzzKept plays calls on a kept folder and on one in memory: with room enough both answer
// the same.
func FuzzKept(f *testing.F) {
	f.Add([]byte("\x00a\x01b\x02c\x03d"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
	f.Fuzz(func(t *testing.T, data []byte) {
		kept, memory := keep(t, files.NewKept(t.TempDir(), noon), "p", "u", 1<<30), files.NewWorkspace(1<<30, noon)
		names := []string{"a", "b", "a/c", "a/b", "", "..", "/a", "a/../b", "a//c", "\xff", strings.Repeat("n", 300)}
		data = data[:min(len(data), 900)] // what takes the disk for long is no hang
		for len(data) >= 3 {
			name, other := names[int(data[1])%len(names)], names[int(data[2])%len(names)]
			var got [2]string
			for n, w := range []*files.Workspace{kept, memory} {
				var err error
				switch data[0] % 5 {
				case 0:
					err = put(w, name, other)
				case 1:
					err = w.Mkdir(name)
				case 2:
					err = w.Remove(name, data[2]%2 == 0)
				case 3:
					err = w.Rename(name, other)
				case 4:
					var text string
					text, err = get(w, name)
					got[n] = text
				}
				got[n] += fmt.Sprint(" ", err)
			}
			if got[0] != got[1] {
				t.Fatalf("%d %q %q: on disk %s, in memory %s", data[0]%5, name, other, got[0], got[1])
			}
			data = data[3:]
		}
		if a, b := dump(t, kept), dump(t, memory); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("on disk %v, in memory %v", a, b)
		}
	})
}
