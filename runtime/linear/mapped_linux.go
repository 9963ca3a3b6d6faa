package linear

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped is a store that reserves all the addresses that it may ever need and opens
// them as it grows, so that it never moves. With an image, its begin is a private
// mapping of the image's file: the kernel copies a page when it is written to.
type mapped struct {
	space *Space
	area  []byte
	// opened is how many bytes may be read and written.
	opened uint64
	// image is what the begin is mapped from.
	image *Image
	// dirty is the number of pages that the last restore copied and that stay.
	dirty uint64
	tail  uint64
}

// openStep is what the store opens at once, at least: a call of the kernel each.
const openStep = 1 << 20

func (s *Space) newStore(max uint64) store {
	area, err := reserve(max)
	if err != nil {
		// Address space can be short where a limit was set on it.
		return s.newHeap(max)
	}
	s.count(1, int64(len(area)))
	return &mapped{space: s, area: area}
}

// reserve returns addresses that can neither be read nor written.
func reserve(n uint64) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

func (m *mapped) resize(n uint64) []byte {
	if n > m.opened {
		to := min(uint64(len(m.area)), max(n, m.opened+openStep))
		if err := unix.Mprotect(m.area[m.opened:to], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil
		}
		m.opened = to
	}
	m.tail = n
	return m.area[:n]
}

func (m *mapped) restore(image *Image, size uint64) error {
	if image.backing.fd == 0 {
		return errors.New("the image is not mapped and the memory is")
	}
	if m.image != image {
		return m.adopt(image)
	}
	return m.undo(size)
}

// adopt maps the image over the begin of the memory and drops everything else.
func (m *mapped) adopt(image *Image) error {
	if err := m.drop(image.size, m.opened); err != nil {
		return err
	}
	if image.size > 0 {
		_, err := unix.MmapPtr(image.backing.fd, 0, unsafe.Pointer(&m.area[0]), uintptr(image.size),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
		if err != nil {
			return fmt.Errorf("map the image: %w", err)
		}
	}
	m.opened = max(m.opened, image.size)
	m.image, m.dirty = image, 0
	return nil
}

// undo makes the first size bytes those of the image, and 0 beyond it.
func (m *mapped) undo(size uint64) error {
	tracker := &m.space.tracker
	if n, ok := tracker.undo(m.area[:size], m.image.data); ok {
		m.dirty = n
		return nil
	}
	m.dirty = 0
	if !tracker.ready() && m.image.size <= mostCopied {
		copy(m.area, m.image.data)
		m.dirty = m.image.size / hostPage
		return m.drop(m.image.size, size)
	}
	return m.drop(0, size)
}

// drop gives the pages of a part back. What is read there next is the image's or 0.
func (m *mapped) drop(from, to uint64) error {
	if from >= to {
		return nil
	}
	if err := unix.Madvise(m.area[from:to], unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("drop what was written: %w", err)
	}
	return nil
}

// mostCopied is the size up to which an image is copied as a whole where the tracker is
// not ready: it costs less than the page faults of what the next call writes.
const mostCopied = 8 << 20

func (m *mapped) held() uint64 {
	if m.image == nil {
		return m.tail
	}
	return m.dirty * hostPage
}

func (m *mapped) release() {
	n := len(m.area)
	// Unmapping what this store has mapped cannot fail.
	_ = unix.MunmapPtr(unsafe.Pointer(&m.area[0]), uintptr(n))
	m.area = nil
	m.space.count(-1, -int64(n))
}

// backing is the file in memory that an image is mapped from.
type backing struct {
	fd      int // 0 without a file
	mapping []byte
}

// fill puts data into a file in memory and maps it for reading.
func (i *Image) fill(data []byte) error {
	fd, err := unix.MemfdCreate("bulkhead-image", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, int64(len(data)))
	}
	var p unsafe.Pointer
	if err == nil {
		p, err = unix.MmapPtr(fd, 0, nil, uintptr(len(data)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		if fd > 0 {
			err = errors.Join(err, unix.Close(fd))
		}
		return err
	}
	i.data = unsafe.Slice((*byte)(p), len(data))
	i.backing = backing{fd, i.data}
	copyUsed(i.data, data)
	return unix.Mprotect(i.data, unix.PROT_READ)
}

func (b backing) release() error {
	return errors.Join(unix.MunmapPtr(unsafe.Pointer(&b.mapping[0]), uintptr(len(b.mapping))), unix.Close(b.fd))
}
