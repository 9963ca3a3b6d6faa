package abi

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// WithLinearMemory returns ctx with the allocator of the instance's linear memory,
// which keeps it within the state's limit. Instantiation needs it.
func (s *State) WithLinearMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return &linearMemory{state: s} }))
}

// linearMemory is the linear memory of one instance: a Go slice that is replaced by
// a larger one when it grows.
type linearMemory struct {
	state *State
	data  []byte
}

// Reallocate implements experimental.LinearMemory. nil makes memory.grow answer -1.
func (l *linearMemory) Reallocate(size uint64) []byte {
	s := l.state
	if size+s.mem.size() > s.limit {
		return nil
	}
	if size > uint64(cap(l.data)) {
		room := s.limit - s.mem.size()
		data := make([]byte, size, max(size, min(size+size/4, room)))
		copy(data, l.data)
		l.data = data
	}
	l.data = l.data[:size]
	s.linear = size
	return l.data
}

// Free implements experimental.LinearMemory. The garbage collector takes the slice
// once the instance is gone: a call that is still inside never loses its memory.
func (l *linearMemory) Free() {}
