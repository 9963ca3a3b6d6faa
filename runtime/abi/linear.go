package abi

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/bulkhead-host/bulkhead/runtime/linear"
)

// WithLinearMemory returns ctx with the allocator of the instance's linear memory,
// which keeps it within the state's limit and within max bytes. Instantiation needs it.
// Whoever instantiates releases the memory (Linear) after the instance was closed.
func (s *State) WithLinearMemory(ctx context.Context, space *linear.Space, max uint64) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory {
			s.linear = space.New(max, func() uint64 { return s.limit - min(s.limit, s.mem.size()) })
			return s.linear
		}))
}

// Linear returns the instance's linear memory, nil if it has none.
func (s *State) Linear() *linear.Memory { return s.linear }
