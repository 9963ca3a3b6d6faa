package linear

import (
	"bytes"
	"fmt"
)

// Image is the content of a memory at one moment. Memories may be restored from it by
// several goroutines at once.
type Image struct {
	space *Space
	size  uint64
	// data has the content.
	data []byte
	// backing is what data is mapped from, where it is mapped.
	backing backing
}

// Image returns an image of the memory as it is now.
func (m *Memory) Image() (*Image, error) {
	image := &Image{space: m.space, size: m.Size()}
	if image.size == 0 {
		return image, nil
	}
	if err := image.fill(m.store.resize(image.size)); err != nil {
		return nil, fmt.Errorf("keep an image of a memory: %w", err)
	}
	m.space.count(1, int64(image.size))
	return image, nil
}

// Size returns the size of the memory that the image is of, in bytes.
func (i *Image) Size() uint64 { return i.size }

// Release frees the image. No memory may be restored from it afterwards, and those that
// were are to be released before.
func (i *Image) Release() error {
	if i == nil || i.data == nil {
		return nil
	}
	i.data = nil
	i.space.count(-1, -int64(i.size))
	return i.backing.release()
}

// hostPage is what is compared and copied at once.
const hostPage = 4 << 10

// copyUsed copies those pages that are not all 0 to dst, which is all 0.
func copyUsed(dst, src []byte) {
	var zero [hostPage]byte
	for at := 0; at < len(src); at += hostPage {
		if page := src[at : at+hostPage]; !bytes.Equal(page, zero[:]) {
			copy(dst[at:], page)
		}
	}
}
