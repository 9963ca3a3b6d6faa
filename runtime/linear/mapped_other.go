//go:build !linux

package linear

func (s *Space) newStore(max uint64) store { return s.newHeap(max) }

// tracker is nothing here.
type tracker struct{}

func (*tracker) open()        {}
func (*tracker) close() error { return nil }

// backing is nothing here: the image is a slice.
type backing struct{}

func (backing) release() error { return nil }

func (i *Image) fill(data []byte) error {
	i.data = append([]byte(nil), data...)
	return nil
}
