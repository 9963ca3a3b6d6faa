package abi

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// bulkFunctions are the functions of bulkhead:host/mem, which copy whole blocks
// between kernel memory and the guest's own memory.
func bulkFunctions() []function {
	params := []api.ValueType{i64, i32, i32}
	return []function{
		{"read", params, nil, func(ctx context.Context, mod api.Module, stack []uint64) {
			kernel, guest := bulkViews(ctx, mod, stack)
			copy(guest, kernel)
		}},
		{"write", params, nil, func(ctx context.Context, mod api.Module, stack []uint64) {
			kernel, guest := bulkViews(ctx, mod, stack)
			copy(kernel, guest)
		}},
	}
}

func bulkViews(ctx context.Context, mod api.Module, stack []uint64) (kernel, guest []byte) {
	s := stateOf(ctx)
	off, ptr, n := stack[0], api.DecodeU32(stack[1]), api.DecodeU32(stack[2])
	s.watchBytes(uint64(n))
	s.checkStopped()
	if n == 0 {
		return nil, nil
	}
	kernel, ok := s.mem.view(off, uint64(n))
	if !ok {
		panic(fault("The guest copied %d bytes at the offset %d, which is outside of the call's memory.", n, off))
	}
	mem := mod.Memory()
	if mem == nil {
		panic(fault("The guest copied bytes and has no memory of its own."))
	}
	guest, ok = mem.Read(ptr, n)
	if !ok {
		panic(fault("The guest copied %d bytes at its address %d, which is outside of its memory.", n, ptr))
	}
	return kernel, guest
}
