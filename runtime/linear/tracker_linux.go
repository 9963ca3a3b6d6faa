package linear

import (
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracker finds the pages of a private mapping that were written to, by the kernel's
// own table of pages (/proc/self/pagemap; Documentation/admin-guide/mm/pagemap.rst).
// A page that was written to is a copy and belongs to no file any more. Where nothing is
// mapped, each page that is there at all counts.
type tracker struct {
	pagemap *os.File // nil where the table cannot be read or does not say it
	fd      int
}

func (t *tracker) ready() bool { return t.pagemap != nil }

// The bits of an entry.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// mostWritten is the number of pages that are copied back; beyond it dropping all of
// them is cheaper, and frees them.
const mostWritten = 1024

// open makes the tracker ready. It stays unready where a trial does not give what is
// written here.
func (t *tracker) open() {
	if os.Getpagesize() != hostPage {
		return
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return
	}
	t.pagemap, t.fd = f, int(f.Fd())
	if !t.trial() {
		t.pagemap = nil
		f.Close()
	}
}

func (t *tracker) close() error {
	if t.pagemap == nil {
		return nil
	}
	f := t.pagemap
	t.pagemap = nil
	return f.Close()
}

// trial maps four pages of a file, reads one, writes one, and looks whether the table
// tells them apart.
func (t *tracker) trial() bool {
	image := &Image{space: &Space{}, size: 4 * hostPage}
	if image.fill(make([]byte, image.size)) != nil {
		return false
	}
	defer func() { _ = image.backing.release() }() // nothing depends on it
	p, err := unix.MmapPtr(image.backing.fd, 0, nil, 4*hostPage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	defer func() { _ = unix.MunmapPtr(p, 4*hostPage) }() // as above
	pages := unsafe.Slice((*byte)(p), 4*hostPage)
	pages[2*hostPage] = pages[hostPage] + 1
	written, ok := t.written(pages, nil)
	return ok && len(written) == 1 && written[0] == 2
}

// written appends the numbers of the pages of data that were written to. It returns
// false if the table cannot be read, or if there are more than mostWritten.
func (t *tracker) written(data []byte, list []uint32) ([]uint32, bool) {
	if t.pagemap == nil {
		return nil, false
	}
	var entries [512 * 8]byte
	first := int64(uintptr(unsafe.Pointer(&data[0]))) / hostPage
	for page, n := 0, len(data)/hostPage; page < n; {
		part := entries[:min(len(entries), (n-page)*8)]
		got, err := unix.Pread(t.fd, part, (first+int64(page))*8)
		if err != nil || got != len(part) {
			return nil, false
		}
		for ; len(part) > 0; part = part[8:] {
			e := binary.LittleEndian.Uint64(part)
			if e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0 {
				list = append(list, uint32(page))
			}
			page++
		}
		if len(list) > mostWritten {
			return nil, false
		}
	}
	return list, true
}

// undo sets those pages of data that were written to back to the image, or to 0 beyond it,
// and returns their number; false if it cannot. Pages stay where they are: a call that
// writes to the same ones again has no page faults.
func (t *tracker) undo(data, image []byte) (uint64, bool) {
	if len(data) == 0 {
		return 0, true
	}
	var room [mostWritten + 512]uint32
	list, ok := t.written(data, room[:0])
	if !ok {
		return 0, false
	}
	for _, page := range list {
		at := int(page) * hostPage
		if at < len(image) {
			copy(data[at:at+hostPage], image[at:at+hostPage])
		} else {
			clear(data[at : at+hostPage])
		}
	}
	return uint64(len(list)), true
}
