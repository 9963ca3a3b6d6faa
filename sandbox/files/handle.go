package files

import (
	"io/fs"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// handle is an open file of a Workspace.
type handle struct {
	w      *Workspace
	n      *node
	how    int
	closed bool
}

var _ vfs.File = (*handle)(nil)

// Stat implements vfs.File.
func (h *handle) Stat() (vfs.Info, error) { return h.n.info(true), h.usable(0) }

func (h *handle) usable(how int) error {
	if h.closed {
		return fs.ErrClosed
	}
	if how == vfs.Write && h.n.dir {
		return vfs.ErrDir
	}
	if how != 0 && h.how&how == 0 {
		return fs.ErrPermission
	}
	return nil
}

// ReadAt implements vfs.File.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.usable(vfs.Read); err != nil {
		return 0, err
	}
	return h.n.readAt(p, off)
}

// WriteAt implements vfs.File.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if err := h.usable(vfs.Write); err != nil {
		return 0, err
	}
	end := off + int64(len(p))
	if off < 0 || end < off {
		return 0, fs.ErrInvalid
	}
	if h.w.disk != nil {
		return h.w.writeFile(h.n, p, off)
	}
	if end > int64(len(h.n.data)) && len(p) > 0 {
		if err := h.w.resize(h.n, end); err != nil {
			return 0, err
		}
	}
	if len(p) > 0 {
		copy(h.n.data[off:], p)
		h.n.modified = h.w.now()
	}
	return len(p), nil
}

// Truncate implements vfs.File.
func (h *handle) Truncate(size int64) error {
	if err := h.usable(vfs.Write); err != nil {
		return err
	}
	if size < 0 {
		return fs.ErrInvalid
	}
	return h.w.resize(h.n, size)
}

// List implements vfs.File.
func (h *handle) List() ([]vfs.Info, error) {
	if err := h.usable(0); err != nil {
		return nil, err
	}
	return h.n.list(true)
}

// Close implements vfs.File.
func (h *handle) Close() error {
	if h.closed {
		return fs.ErrClosed
	}
	h.closed = true
	h.n.open--
	h.w.forget(h.n)
	if h.n.open > 0 || h.n.file == nil {
		return nil
	}
	file := h.n.file
	h.n.file = nil
	return h.w.disk.close(file)
}
