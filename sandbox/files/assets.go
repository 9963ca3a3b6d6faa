package files

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// maxAssets is how many files and directories an archive may have.
const maxAssets = 20_000

// ArchiveError is returned when an archive of assets is not what it has to be. Message is
// a sentence.
type ArchiveError struct{ Message string }

// Error implements error.
func (e *ArchiveError) Error() string { return e.Message }

// Assets is a read-only tree. It is safe for concurrent use.
type Assets struct{ root *node }

var _ vfs.FS = (*Assets)(nil)

// ReadAssets reads a tar archive of plain files and directories, without compression, as
// `tar --format=ustar` or pax writes it. It keeps no reference to archive. Anything else
// in it, a path that leaves the tree or a path that stands twice gives an *ArchiveError.
func ReadAssets(archive []byte) (*Assets, error) {
	root := &node{name: ".", dir: true, inode: 1, children: map[string]*node{}}
	count := uint64(1)
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return &Assets{root}, nil
		}
		if err != nil {
			return nil, &ArchiveError{fmt.Sprintf("The assets are not a tar archive that can be read (%v).", err)}
		}
		if count++; count > maxAssets {
			return nil, &ArchiveError{fmt.Sprintf("The assets have more than %d files.", maxAssets)}
		}
		if err := root.unpack(h, r, &count, int64(len(archive))); err != nil {
			return nil, err
		}
	}
}

// unpack adds one entry of an archive of size bytes.
func (n *node) unpack(h *tar.Header, content io.Reader, count *uint64, size int64) error {
	bad := func(why string) error {
		return &ArchiveError{fmt.Sprintf("The file %q in the assets %s.", shorten(h.Name), why)}
	}
	name := path.Clean(strings.TrimPrefix(strings.TrimSuffix(h.Name, "/"), "./"))
	switch {
	case name == "." && h.Typeflag == tar.TypeDir:
		return nil
	case !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0):
		return bad("has a path that leaves the assets")
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return bad("is neither a plain file nor a directory")
	case h.Size > size:
		// Only a sparse file can be larger than its archive.
		return bad("is larger than the archive")
	}
	dir := n
	parts := strings.Split(name, "/")
	if len(parts) > maxDepth {
		return bad("lies too deep")
	}
	for i, part := range parts {
		last := i == len(parts)-1
		next := dir.children[part]
		switch {
		case len(part) > maxName:
			return bad("has too long a name")
		case next != nil && last && (h.Typeflag != tar.TypeDir || !next.dir):
			return bad("stands there twice")
		case next != nil && !next.dir:
			return bad("lies in a file")
		case next == nil:
			*count++
			next = &node{name: part, dir: !last || h.Typeflag == tar.TypeDir, inode: *count,
				modified: modified(h.ModTime)}
			if next.dir {
				next.children = map[string]*node{}
			} else {
				data, err := io.ReadAll(io.LimitReader(content, h.Size))
				if err != nil || int64(len(data)) != h.Size {
					return bad("is cut off")
				}
				next.data = data
			}
			dir.children[part] = next
		}
		dir = next
	}
	return nil
}

// modified keeps a time within what a guest's clock can say.
func modified(t time.Time) time.Time {
	if t.Year() < 1970 || t.Year() > 2200 {
		return time.Unix(0, 0)
	}
	return t
}

func shorten(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// Open implements vfs.FS.
func (a *Assets) Open(name string, how int) (vfs.File, error) {
	n, err := a.root.find(name)
	switch {
	case err != nil && how&vfs.Create != 0, err == nil && how&(vfs.Write|vfs.Truncate) != 0:
		return nil, vfs.ErrReadOnly
	case err != nil:
		return nil, err
	case how&(vfs.Create|vfs.Exclusive) == vfs.Create|vfs.Exclusive:
		return nil, fs.ErrExist
	}
	return asset{n}, nil
}

// Stat implements vfs.FS.
func (a *Assets) Stat(name string) (vfs.Info, error) {
	n, err := a.root.find(name)
	if err != nil {
		return vfs.Info{}, err
	}
	return n.info(false), nil
}

// Mkdir implements vfs.FS; nothing is made.
func (a *Assets) Mkdir(string) error { return vfs.ErrReadOnly }

// Remove implements vfs.FS; nothing is removed.
func (a *Assets) Remove(string, bool) error { return vfs.ErrReadOnly }

// Rename implements vfs.FS; nothing is moved.
func (a *Assets) Rename(string, string) error { return vfs.ErrReadOnly }

// asset is an open file of Assets.
type asset struct{ n *node }

// Stat implements vfs.File.
func (f asset) Stat() (vfs.Info, error) { return f.n.info(false), nil }

// ReadAt implements vfs.File.
func (f asset) ReadAt(p []byte, off int64) (int, error) { return f.n.readAt(p, off) }

// WriteAt implements vfs.File; nothing is written.
func (f asset) WriteAt([]byte, int64) (int, error) { return 0, vfs.ErrReadOnly }

// Truncate implements vfs.File; nothing is changed.
func (f asset) Truncate(int64) error { return vfs.ErrReadOnly }

// List implements vfs.File.
func (f asset) List() ([]vfs.Info, error) { return f.n.list(false) }

// Close implements vfs.File.
func (f asset) Close() error { return nil }
