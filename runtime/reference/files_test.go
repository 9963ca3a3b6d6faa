//go:build !race

package reference_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// oneFile is a directory with one file.
type oneFile struct {
	name     string
	data     []byte
	writable bool
}

func (o *oneFile) info(name string) (vfs.Info, error) {
	switch name {
	case ".":
		return vfs.Info{Name: ".", Dir: true, Inode: 1, Writable: o.writable}, nil
	case o.name:
		return vfs.Info{Name: name, Size: int64(len(o.data)), Inode: 2, Writable: o.writable}, nil
	}
	return vfs.Info{}, fs.ErrNotExist
}

func (o *oneFile) Open(name string, how int) (vfs.File, error) {
	if _, err := o.info(name); err != nil {
		return nil, err
	}
	if how&(vfs.Write|vfs.Truncate) != 0 && !o.writable {
		return nil, vfs.ErrReadOnly
	}
	if how&vfs.Truncate != 0 {
		o.data = nil
	}
	return &opened{o, name}, nil
}

func (o *oneFile) Stat(name string) (vfs.Info, error) { return o.info(name) }
func (o *oneFile) Mkdir(string) error                 { return vfs.ErrReadOnly }
func (o *oneFile) Remove(string, bool) error          { return vfs.ErrReadOnly }
func (o *oneFile) Rename(string, string) error        { return vfs.ErrReadOnly }

type opened struct {
	of   *oneFile
	name string
}

func (f *opened) Stat() (vfs.Info, error) { return f.of.info(f.name) }
func (f *opened) ReadAt(p []byte, off int64) (int, error) {
	if f.name == "." {
		return 0, vfs.ErrDir
	}
	if off >= int64(len(f.of.data)) {
		return 0, io.EOF
	}
	return copy(p, f.of.data[off:]), nil
}
func (f *opened) WriteAt(p []byte, off int64) (int, error) {
	f.of.data = append(f.of.data[:off], p...)
	return len(p), nil
}
func (f *opened) Truncate(size int64) error {
	f.of.data = f.of.data[:size]
	return nil
}
func (f *opened) List() ([]vfs.Info, error) {
	if f.name != "." {
		return nil, vfs.ErrNotDir
	}
	info, err := f.of.info(f.of.name)
	return []vfs.Info{info}, err
}
func (f *opened) Close() error { return nil }

// TestModulesOfTheSDKSeeTheSameFiles mounts a folder with the file that the SDK's tests
// have under /mnt.
func TestModulesOfTheSDKSeeTheSameFiles(t *testing.T) {
	const text = "hello world!"
	cases := []struct {
		module   string
		writable bool
		steps    []step
		last     string
	}{
		{"fs.wasm", true, []step{{"run_test", ""}}, text},
		{"fs_std.wasm", true, []step{{"run_test", ""}}, text},
		{"read_write.wasm", true, []step{{"try_read", ""}, {"try_write", " and more"}, {"try_read", ""}}, ""},
		{"read_write.wasm", false, []step{{"try_read", ""}}, text},
	}
	for _, c := range cases {
		t.Run(c.module, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "test.txt"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			mine := &oneFile{name: "test.txt", data: []byte(text), writable: c.writable}
			host := dir
			if !c.writable {
				host = "ro:" + dir
			}
			b := startWith(t, sdkModule(t, c.module), map[string]string{"path": "/mnt/test.txt"},
				mount{"/mnt", host, mine})
			var ours ended
			for i, s := range c.steps {
				var theirs ended
				if theirs, ours = b.call(t, s.export, []byte(s.input)); theirs != ours {
					t.Errorf("call %d of %s:\nSDK  %+v\nours %+v", i, s.export, theirs, ours)
				}
			}
			if c.last != "" && ours.output != c.last {
				t.Errorf("output %q", ours.output)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "test.txt")); err != nil ||
				string(data) != string(mine.data) {
				t.Errorf("the file: SDK %q, ours %q, %v", data, mine.data, err)
			}
			if c.writable {
				return
			}
			theirs, ours := b.call(t, "try_write", []byte("no"))
			if theirs.code != ours.code || !strings.Contains(theirs.text, "Failed to write file") ||
				!strings.Contains(ours.text, "Failed to write file") {
				t.Errorf("a write to what is read-only: SDK %+v, ours %+v", theirs, ours)
			}
		})
	}
}
