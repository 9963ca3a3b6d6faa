// Package linear is the linear memory of guests: it reserves, grows and frees it, keeps
// an image of it, and gives a memory back the size and the content of an image.
//
// In come the most bytes that a memory may ever have and a function that says what it
// may have now; out goes what wazero's MemoryAllocator asks for. A memory never moves
// where it is mapped (Linux), so that nothing has to be told when it is reset.
//
// It must not know what a guest is, or who runs it. It does not import wazero: Memory
// has the methods of experimental.LinearMemory.
package linear

import (
	"fmt"
	"sync/atomic"
)

// PageBytes is the size of a page of WebAssembly.
const PageBytes = 64 << 10

// Space is what memories are made in. It counts them. It is safe for concurrent use.
type Space struct {
	memories atomic.Int64
	bytes    atomic.Int64
	tracker  tracker
}

// NewSpace returns a space. Close frees what it takes itself.
func NewSpace() *Space {
	s := &Space{}
	s.tracker.open()
	return s
}

// Close frees what the space itself takes. No memory may be reset after it.
func (s *Space) Close() error { return s.tracker.close() }

// Memories returns the number of memories and images that were made and not released.
func (s *Space) Memories() int64 { return s.memories.Load() }

// Bytes returns the address space that they take, in bytes.
func (s *Space) Bytes() int64 { return s.bytes.Load() }

func (s *Space) count(memories int, bytes int64) {
	s.memories.Add(int64(memories))
	s.bytes.Add(bytes)
}

// Memory is the linear memory of one instance. It is used by one goroutine at a time.
type Memory struct {
	space *Space
	max   uint64
	room  func() uint64
	store store // nil until there is a first byte
	size  uint64
	image *Image
	// back makes the next Reallocate give the image's size.
	back bool
}

// store is where the bytes of a memory are.
type store interface {
	// resize returns the first n bytes; those that are new are 0. It returns nil if it
	// cannot. n never shrinks but to the size of the image that was restored.
	resize(n uint64) []byte
	// restore makes the bytes those of the image, of a memory that has size bytes, and
	// forgets what is beyond it. After an error the store is fit for release only.
	restore(image *Image, size uint64) error
	// held returns the bytes that the store takes of the machine's memory beyond the
	// image, roughly.
	held() uint64
	release()
}

// New returns a memory of 0 bytes that grows to at most max bytes, and at each growth
// to no more than room returns then.
func (s *Space) New(max uint64, room func() uint64) *Memory {
	return &Memory{space: s, max: max / PageBytes * PageBytes, room: room}
}

// Reallocate implements wazero's experimental.LinearMemory: it returns the memory with
// size bytes, new ones 0, or nil if it may not be that large. After Restore it returns
// the memory with the image's size instead, once.
func (m *Memory) Reallocate(size uint64) []byte {
	if m.back {
		m.back = false
		m.size = m.image.size
		return m.store.resize(m.size)
	}
	if size > min(m.max, m.room()) {
		return nil
	}
	if m.store == nil {
		m.store = m.space.newStore(m.max)
	}
	data := m.store.resize(size)
	if data == nil && m.size == 0 {
		// wazero takes it that a memory can be made.
		m.store.release()
		m.store = m.space.newHeap(m.max)
		data = m.store.resize(size)
	}
	if data != nil {
		m.size = size
	}
	return data
}

// Free implements wazero's experimental.LinearMemory. It does nothing: a guest that
// closes its own instance is still inside the call. Release frees.
func (m *Memory) Free() {}

// Release frees the memory. Nothing may use it afterwards, and no call may be in its
// instance. A second Release does nothing.
func (m *Memory) Release() {
	if m.store != nil {
		m.store.release()
		m.store = nil
	}
}

// Size returns the size in bytes, after Release what it was.
func (m *Memory) Size() uint64 {
	if m == nil {
		return 0
	}
	return m.size
}

// Held returns the bytes that the memory takes of the machine's, beyond its image,
// roughly.
func (m *Memory) Held() uint64 {
	if m == nil || m.store == nil {
		return 0
	}
	return m.store.held()
}

// Restore gives the memory the image's content. If it has another size than the image,
// shrink is called, which must have wazero grow the memory by one page: Reallocate
// answers that with the image's size, and so wazero learns of it. After an error the
// memory is fit for Release only.
func (m *Memory) Restore(image *Image, shrink func() bool) error {
	if image.size == 0 && m.store == nil {
		return nil
	}
	if m.store == nil || image.size > m.max {
		return fmt.Errorf("restore a memory of %d bytes: the image has %d", m.max, image.size)
	}
	if err := m.store.restore(image, m.size); err != nil {
		return fmt.Errorf("restore a memory: %w", err)
	}
	m.image = image
	if m.size == image.size {
		return nil
	}
	m.back = true
	grown := shrink()
	if !grown || m.back || m.size != image.size {
		m.back = false
		return fmt.Errorf("restore a memory: its size stayed %d instead of %d", m.size, image.size)
	}
	return nil
}
