package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

const (
	// blockBytes is what the bytes of a file on disk are counted in.
	blockBytes = 4096
	// maxOpen is how many files of one workspace on disk are open at a time: they are
	// descriptors of the host.
	maxOpen = 256
)

// blocks returns the room that size bytes take on disk.
func blocks(size int64) int64 { return (size + blockBytes - 1) / blockBytes * blockBytes }

// disk is the folder that a workspace is kept in. Nothing leads out of it: the root follows
// no link to the outside, and a folder with a link in it is not opened.
type disk struct {
	root *os.Root
	// before is called before anything changes; its error keeps it from changing.
	before func() error
	files  map[*os.File]struct{}
}

// BrokenError is returned when a kept folder holds what no guest can have put there, such as
// a link.
type BrokenError struct {
	// Path is what was found, below the folder.
	Path string
	// What says what it is.
	What string
}

// Error implements error.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("The kept folder has %s at %q, which nothing but the host's own plugins may write to. Take it "+
		"out of there.", e.What, e.Path)
}

// openDisk returns the workspace that is kept in root, with what is in it. The caller closes
// the root after an error, and else the workspace.
func openDisk(root *os.Root, quota int64, before func() error) (*Workspace, error) {
	w := &Workspace{root: &node{name: ".", dir: true, inode: 1, children: map[string]*node{}}, quota: quota, next: 2}
	w.disk = &disk{root: root, before: before, files: map[*os.File]struct{}{}}
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return w.found(name, d)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// found takes one entry of the folder into the tree.
func (w *Workspace) found(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if name == "." {
		w.root.modified = info.ModTime()
		return nil
	}
	switch {
	case !d.IsDir() && !info.Mode().IsRegular():
		return &BrokenError{name, "what is neither a file nor a folder"}
	case strings.Count(name, "/") >= maxDepth:
		return &BrokenError{name, "folders that are too deep"}
	case !fs.ValidPath(name):
		return &BrokenError{name, "a name that is no UTF-8"}
	}
	parent, err := w.root.find(path.Dir(name))
	if err != nil {
		return err
	}
	last := path.Base(name)
	n := &node{name: last, dir: d.IsDir(), inode: w.next, modified: info.ModTime()}
	w.next++
	w.used += nodeCost + int64(len(last))
	if n.dir {
		n.children = map[string]*node{}
	} else {
		n.size = info.Size()
		w.used += blocks(n.size)
	}
	parent.children[last] = n
	return nil
}

// close frees what the workspace has of the host: files that a guest left open, and the
// folder.
func (d *disk) closeAll() error {
	var errs []error
	for file := range d.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(append(errs, d.root.Close())...)
}

func (d *disk) open(name string) (*os.File, error) {
	if len(d.files) >= maxOpen {
		return nil, vfs.ErrTooManyOpen
	}
	file, err := d.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, hostError(err)
	}
	d.files[file] = struct{}{}
	return file, nil
}

func (d *disk) close(file *os.File) error {
	delete(d.files, file)
	return hostError(file.Close())
}

// add makes a file or a folder that is not there.
func (d *disk) add(name string, dir bool) error {
	if err := d.before(); err != nil {
		return err
	}
	if dir {
		return hostError(d.root.Mkdir(name, 0o700))
	}
	file, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return hostError(err)
	}
	return hostError(file.Close())
}

func (d *disk) remove(name string) error {
	if err := d.before(); err != nil {
		return err
	}
	return hostError(d.root.Remove(name))
}

func (d *disk) rename(from, to string) error {
	if err := d.before(); err != nil {
		return err
	}
	return hostError(d.root.Rename(from, to))
}

// hostError makes errors of the workspace's own kinds of those that a host has where its disk,
// or what this process may have of it, is full, and where it has too many files open.
func hostError(err error) error {
	for kind, numbers := range map[error][]syscall.Errno{
		vfs.ErrFull:        {syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG},
		vfs.ErrTooManyOpen: {syscall.EMFILE, syscall.ENFILE},
	} {
		for _, number := range numbers {
			if errors.Is(err, number) {
				return fmt.Errorf("%w: %w", kind, err)
			}
		}
	}
	return err
}

// resizeFile sets the length of an open file on disk. A hole counts as what could fill it.
func (w *Workspace) resizeFile(n *node, size int64) error {
	if err := w.disk.before(); err != nil {
		return err
	}
	more, err := w.grow(n, size)
	if err != nil {
		return err
	}
	if err := n.file.Truncate(size); err != nil {
		w.used -= more
		return hostError(err)
	}
	w.used += min(0, blocks(size)-blocks(n.size))
	n.size, n.modified = size, w.now()
	return nil
}

// grow uses up the room that a file of size bytes takes beyond what it has.
func (w *Workspace) grow(n *node, size int64) (more int64, err error) {
	if size > w.quota {
		return 0, vfs.ErrQuota // also before blocks can overflow
	}
	more = max(0, blocks(size)-blocks(n.size))
	return more, w.take(more)
}

// writeFile writes to an open file on disk.
func (w *Workspace) writeFile(n *node, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.disk.before(); err != nil {
		return 0, err
	}
	end := max(n.size, off+int64(len(p)))
	more := int64(0)
	if end > n.size {
		var err error
		if more, err = w.grow(n, end); err != nil {
			return 0, err
		}
	}
	count, err := n.file.WriteAt(p, off)
	if err != nil {
		end = n.size
		if count > 0 {
			end = max(n.size, off+int64(count))
		}
		w.used -= more - (blocks(end) - blocks(n.size))
	}
	n.size, n.modified = end, w.now()
	return count, hostError(err)
}
