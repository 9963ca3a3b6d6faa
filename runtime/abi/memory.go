package abi

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

const (
	// memoryBase is the first offset that a block can have: 0 is the null block.
	memoryBase = 16
	// memoryFirst is the size at which a call's memory starts.
	memoryFirst = 4 << 10
	// memoryPage is what it grows by, at least, once it is that large.
	memoryPage = 64 << 10
	// blockCost is what the host itself keeps for each block, roughly. It counts
	// against the limit: a million empty blocks are not free.
	blockCost = 64
)

// memory is the kernel memory of one call: blocks, each at an offset of one
// address space. It is Extism's kernel kept on the host's side: a guest reaches it
// through load and store only, never by address.
//
// Freed blocks are kept by size class and used again. Reading and writing is
// checked against the whole space, not the block, as Extism's kernel does.
type memory struct {
	data   []byte
	top    uint64              // end of the part that blocks were made from
	blocks []block             // by offset: a new one is made at the top
	free   map[uint64][]uint64 // by class: offsets; nil until one is freed
	// cost is what blocks ever made cost the host beside data.
	cost uint64
	// room says how many bytes in all this memory may take now.
	room func() uint64
	// spare is memory of an earlier call, all 0.
	spare []byte
}

type block struct {
	off    uint64
	used   uint64 // what length answers
	class  uint64 // bytes that it takes
	active bool
}

func newMemory(room func() uint64) memory {
	return memory{top: memoryBase, room: room}
}

// size returns the bytes that the memory takes on the host.
func (m *memory) size() uint64 { return uint64(len(m.data)) + m.cost }

// class rounds n up so that only its four top bits are set: at most an eighth of a
// block is lost, and a freed block fits the next one of about its size.
func class(n uint64) uint64 {
	if n <= 16 {
		return 16
	}
	step := uint64(1) << (bits.Len64(n-1) - 4)
	return max(16, (n+step-1)/step*step+7) &^ 7
}

// alloc returns the offset of a new block of n zero bytes. It returns 0 for n = 0
// and when the limit is reached.
func (m *memory) alloc(n uint64) uint64 {
	if n == 0 || n > 1<<40 {
		return 0
	}
	c := class(n)
	if list := m.free[c]; len(list) > 0 {
		off := list[len(list)-1]
		m.free[c] = list[:len(list)-1]
		clear(m.data[off : off+c])
		b := m.at(off)
		b.used, b.active = n, true
		return off
	}
	if !m.grow(m.top + c) {
		return 0
	}
	off := m.top
	m.top += c
	m.cost += blockCost
	m.blocks = append(m.blocks, block{off: off, used: n, class: c, active: true})
	return off
}

// at returns the block at off, nil if none was made there. It is good until the next
// alloc.
func (m *memory) at(off uint64) *block {
	n, ok := slices.BinarySearchFunc(m.blocks, off, func(b block, off uint64) int { return cmp.Compare(b.off, off) })
	if !ok {
		return nil
	}
	return &m.blocks[n]
}

// grow makes the data at least n bytes long. It returns false beyond the limit.
func (m *memory) grow(n uint64) bool {
	room := m.room()
	if max(n, uint64(len(m.data)))+m.cost+blockCost > room {
		return false
	}
	if n <= uint64(len(m.data)) {
		return true
	}
	size := max(uint64(len(m.data))*2, memoryFirst)
	if n > size {
		size = (n + memoryPage - 1) / memoryPage * memoryPage
	}
	size = min(size, room-m.cost-blockCost)
	data := m.spare
	if uint64(len(data)) < size {
		data = make([]byte, size)
	}
	data = data[:size]
	copy(data, m.data)
	m.data = data
	return true
}

// release frees a block. An offset that is none, or was freed, is ignored: false.
func (m *memory) release(off uint64) bool {
	b := m.at(off)
	if b == nil || !b.active {
		return false
	}
	b.active = false
	if m.free == nil {
		m.free = map[uint64][]uint64{}
	}
	m.free[b.class] = append(m.free[b.class], off)
	return true
}

// length returns the length of the block at off, 0 if there is none.
func (m *memory) length(off uint64) uint64 {
	if b := m.at(off); b != nil && b.active {
		return b.used
	}
	return 0
}

// inBounds reports whether n bytes at off are inside the memory.
func (m *memory) inBounds(off, n uint64) bool {
	size := uint64(len(m.data))
	return off >= memoryBase && off <= size && n <= size-off
}

// view returns n bytes at off without copying; the view is good until the next
// alloc. It returns false outside the memory.
func (m *memory) view(off, n uint64) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	if !m.inBounds(off, n) {
		return nil, false
	}
	return m.data[off : off+n : off+n], true
}

// block returns a copy of the block at off, empty if there is none.
func (m *memory) block(off uint64) []byte {
	n := m.length(off)
	if n == 0 {
		return nil
	}
	return bytes.Clone(m.data[off : off+n])
}

// put returns a new block that holds data. It returns false beyond the limit.
func (m *memory) put(data []byte) (uint64, bool) {
	if len(data) == 0 {
		return 0, true
	}
	off := m.alloc(uint64(len(data)))
	if off == 0 {
		return 0, false
	}
	copy(m.data[off:], data)
	return off, true
}

// untouched reports whether no block was ever made and nothing can be written to.
func (m *memory) untouched() bool { return m.top == memoryBase && len(m.data) == 0 }

const (
	// keptBytes and keptBlocks are how much of the host's memory an instance that waits
	// for its next call may keep.
	keptBytes  = 4 << 20
	keptBlocks = 1024
)

// reset forgets every block.
func (m *memory) reset() {
	if len(m.data) > keptBytes || len(m.blocks) > keptBlocks {
		*m = newMemory(m.room)
		return
	}
	m.spare = m.data[:cap(m.data)]
	clear(m.data)
	m.data = nil
	m.blocks = m.blocks[:0]
	clear(m.free)
	m.top = memoryBase
	m.cost = 0
}
