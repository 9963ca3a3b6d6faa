package linear

// heap is a store in Go's own memory, for systems without the calls that mapped uses,
// and for when those fail. It is replaced by a larger slice when it grows.
type heap struct {
	space *Space
	data  []byte
	max   uint64
}

func (s *Space) newHeap(max uint64) *heap {
	s.count(1, 0)
	return &heap{space: s, max: max}
}

func (h *heap) resize(n uint64) []byte {
	if n > uint64(cap(h.data)) {
		data := make([]byte, n, max(n, min(n+n/4, h.max)))
		copy(data, h.data)
		h.space.count(0, int64(cap(data)-cap(h.data)))
		h.data = data
	}
	h.data = h.data[:n]
	return h.data
}

func (h *heap) restore(image *Image, size uint64) error {
	data := h.resize(max(image.size, size))
	copy(data, image.data)
	clear(data[image.size:])
	return nil
}

func (h *heap) held() uint64 { return uint64(cap(h.data)) }

func (h *heap) release() {
	h.space.count(-1, -int64(cap(h.data)))
	h.data = nil
}
