// Package files is the file system that a guest sees: a workspace that is bounded by a quota,
// in memory for one call or in a folder of its own that is kept, and the read-only assets
// that came with a plugin. Nothing else of this machine's files is in it.
//
// An archive, a folder or a quota comes in; a vfs.FS goes out. It must not know who reads the
// files, or by what right.
package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

const (
	// nodeCost is what each file or directory takes of the quota beside its bytes.
	nodeCost = 512
	// maxName is the longest name of one file, maxDepth the deepest path.
	maxName  = 255
	maxDepth = 64
	// minFile is the smallest room that the bytes of a file are given.
	minFile = 512
)

// node is one file or directory.
type node struct {
	name     string
	dir      bool
	inode    uint64
	modified time.Time
	// data is the content in a workspace in memory; in one on disk size is its length, and
	// file is open while handles are.
	data     []byte
	size     int64
	file     *os.File
	children map[string]*node
	// open counts the handles; gone says that it was removed: its bytes count until
	// the last handle is closed.
	open int
	gone bool
}

// Workspace is a writable tree, in memory or on disk. One guest at a time uses it.
type Workspace struct {
	root  *node
	quota int64
	used  int64
	next  uint64
	now   func() time.Time
	// disk is nil for a workspace in memory.
	disk *disk
}

var _ vfs.FS = (*Workspace)(nil)

// NewWorkspace returns an empty tree in memory of at most quota bytes, names and the host's own
// costs included.
func NewWorkspace(quota int64, now func() time.Time) *Workspace {
	return &Workspace{root: &node{name: ".", dir: true, inode: 1, modified: now(), children: map[string]*node{}},
		quota: quota, next: 2, now: now}
}

// Used returns the bytes that the tree takes.
func (w *Workspace) Used() int64 { return w.used }

// find returns what is at name, fs.ErrNotExist or vfs.ErrNotDir.
func (n *node) find(name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	if name == "." {
		return n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if !n.dir {
			return nil, vfs.ErrNotDir
		}
		next := n.children[part]
		if next == nil {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// parent returns the directory that name is in and the last part of name.
func (n *node) parent(name string) (*node, string, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, "", fs.ErrInvalid
	}
	if strings.Count(name, "/") >= maxDepth {
		return nil, "", vfs.ErrNameTooLong
	}
	dir, last := n, name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		var err error
		if dir, err = n.find(name[:i]); err != nil {
			return nil, "", err
		}
		last = name[i+1:]
	}
	switch {
	case !dir.dir:
		return nil, "", vfs.ErrNotDir
	case len(last) > maxName:
		return nil, "", vfs.ErrNameTooLong
	}
	return dir, last, nil
}

// height is how many levels there are below a node.
func (n *node) height() (levels int) {
	for _, child := range n.children {
		levels = max(levels, 1+child.height())
	}
	return levels
}

func (n *node) info(writable bool) vfs.Info {
	return vfs.Info{Name: n.name, Dir: n.dir, Size: n.size + int64(len(n.data)), Modified: n.modified, Inode: n.inode,
		Writable: writable}
}

func (n *node) list(writable bool) ([]vfs.Info, error) {
	if !n.dir {
		return nil, vfs.ErrNotDir
	}
	list := make([]vfs.Info, 0, len(n.children))
	for _, child := range n.children {
		list = append(list, child.info(writable))
	}
	slices.SortFunc(list, func(a, b vfs.Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (n *node) readAt(p []byte, off int64) (int, error) {
	switch {
	case n.dir:
		return 0, vfs.ErrDir
	case off < 0:
		return 0, fs.ErrInvalid
	case n.file != nil:
		return n.file.ReadAt(p, off)
	case off >= int64(len(n.data)):
		return 0, io.EOF
	}
	count := copy(p, n.data[off:])
	if count < len(p) {
		return count, io.EOF
	}
	return count, nil
}

// Open implements vfs.FS.
func (w *Workspace) Open(name string, how int) (vfs.File, error) {
	n, err := w.root.find(name)
	switch {
	case err == nil && how&(vfs.Create|vfs.Exclusive) == vfs.Create|vfs.Exclusive:
		return nil, fs.ErrExist
	case err == nil && n.dir && how&(vfs.Write|vfs.Truncate) != 0:
		return nil, vfs.ErrDir
	case err == fs.ErrNotExist && how&vfs.Create != 0:
		n, err = w.add(name, false)
	}
	if err == nil {
		err = w.hold(n, name)
	}
	if err != nil {
		return nil, err
	}
	h := &handle{w: w, n: n, how: how}
	if how&vfs.Truncate != 0 && !n.dir {
		if err := w.resize(n, 0); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// hold counts a handle of a node, and opens the file where that is on disk.
func (w *Workspace) hold(n *node, name string) error {
	if w.disk != nil && !n.dir && n.file == nil {
		file, err := w.disk.open(name)
		if err != nil {
			return err
		}
		n.file = file
	}
	n.open++
	return nil
}

// Stat implements vfs.FS.
func (w *Workspace) Stat(name string) (vfs.Info, error) {
	n, err := w.root.find(name)
	if err != nil {
		return vfs.Info{}, err
	}
	return n.info(true), nil
}

// Mkdir implements vfs.FS.
func (w *Workspace) Mkdir(name string) error {
	_, err := w.add(name, true)
	return err
}

// add makes a node that is not there.
func (w *Workspace) add(name string, dir bool) (*node, error) {
	if name == "." {
		return nil, fs.ErrExist
	}
	parent, last, err := w.root.parent(name)
	if err != nil {
		return nil, err
	}
	if parent.children[last] != nil {
		return nil, fs.ErrExist
	}
	if parent.gone {
		return nil, fs.ErrNotExist
	}
	cost := nodeCost + int64(len(last))
	if err := w.take(cost); err != nil {
		return nil, err
	}
	if w.disk != nil {
		if err := w.disk.add(name, dir); err != nil {
			w.used -= cost
			return nil, err
		}
	}
	n := &node{name: last, dir: dir, inode: w.next, modified: w.now()}
	if dir {
		n.children = map[string]*node{}
	}
	w.next++
	parent.children[last] = n
	parent.modified = n.modified
	return n, nil
}

// take uses up n bytes of the quota.
func (w *Workspace) take(n int64) error {
	if n > w.quota-w.used {
		return vfs.ErrQuota
	}
	w.used += n
	return nil
}

// Remove implements vfs.FS.
func (w *Workspace) Remove(name string, dir bool) error {
	parent, last, err := w.root.parent(name)
	if err != nil {
		return err
	}
	n := parent.children[last]
	switch {
	case n == nil:
		return fs.ErrNotExist
	case n.dir && !dir:
		return vfs.ErrDir
	case !n.dir && dir:
		return vfs.ErrNotDir
	case len(n.children) > 0:
		return vfs.ErrNotEmpty
	}
	if w.disk != nil {
		if err := w.disk.remove(name); err != nil {
			return err
		}
	}
	w.drop(parent, last)
	return nil
}

// drop takes a node out of its directory.
func (w *Workspace) drop(parent *node, name string) {
	n := parent.children[name]
	delete(parent.children, name)
	parent.modified = w.now()
	n.gone = true
	w.used -= nodeCost + int64(len(name))
	w.forget(n)
}

// forget gives back the room of what is neither in the tree nor open.
func (w *Workspace) forget(n *node) {
	if n.gone && n.open == 0 {
		w.used -= w.room(n)
		n.data, n.size = nil, 0
	}
}

// room is what the bytes of a file take.
func (w *Workspace) room(n *node) int64 {
	if w.disk != nil {
		return blocks(n.size)
	}
	return int64(cap(n.data))
}

// Rename implements vfs.FS.
func (w *Workspace) Rename(from, to string) error {
	source, last, err := w.root.parent(from)
	if err != nil {
		return err
	}
	n := source.children[last]
	if n == nil {
		return fs.ErrNotExist
	}
	target, name, err := w.root.parent(to)
	if err != nil {
		return err
	}
	old := target.children[name]
	switch {
	case old == n:
		return nil
	case n.dir && strings.HasPrefix(to, from+"/"):
		return fs.ErrInvalid // a directory cannot be inside of itself
	case old != nil && old.dir && !n.dir:
		return vfs.ErrDir
	case old != nil && !old.dir && n.dir:
		return vfs.ErrNotDir
	case old != nil && len(old.children) > 0:
		return vfs.ErrNotEmpty
	case strings.Count(to, "/")+n.height() >= maxDepth:
		return vfs.ErrNameTooLong // of what is in it
	}
	more := max(0, int64(len(name)-len(last)))
	if err := w.take(more); err != nil {
		return err
	}
	if w.disk != nil {
		if old != nil && old.dir {
			// A folder takes the place of another only where that is gone.
			if err := w.disk.remove(to); err != nil {
				w.used -= more
				return err
			}
			w.drop(target, name)
			old = nil
		}
		if err := w.disk.rename(from, to); err != nil {
			w.used -= more
			return err
		}
	}
	w.used -= max(0, int64(len(last)-len(name)))
	if old != nil {
		w.drop(target, name)
	}
	delete(source.children, last)
	n.name = name
	target.children[name] = n
	source.modified = w.now()
	target.modified = source.modified
	return nil
}

// resize sets the length of a file. What the room of its bytes takes counts, and not
// their length.
func (w *Workspace) resize(n *node, size int64) error {
	if w.disk != nil {
		return w.resizeFile(n, size)
	}
	if size > int64(cap(n.data)) {
		room := max(size, min(2*int64(cap(n.data)), w.quota), minFile)
		if err := w.take(room - int64(cap(n.data))); err != nil {
			room = size
			if err := w.take(room - int64(cap(n.data))); err != nil {
				return err
			}
		}
		data := make([]byte, len(n.data), room)
		copy(data, n.data)
		n.data = data[:len(n.data):room]
	}
	old := len(n.data)
	n.data = n.data[:size]
	if int(size) > old {
		clear(n.data[old:])
	}
	n.modified = w.now()
	return nil
}
