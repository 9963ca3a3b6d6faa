package linear

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// kinds are the stores, by name; mapped ones with the tracker and without.
func kinds(t testing.TB) map[string]func() (*Space, func(max uint64) store) {
	return map[string]func() (*Space, func(max uint64) store){
		"native":    func() (*Space, func(uint64) store) { s := NewSpace(); return s, s.newStore },
		"untracked": func() (*Space, func(uint64) store) { s := &Space{}; return s, s.newStore },
		"heap": func() (*Space, func(uint64) store) {
			s := &Space{}
			return s, func(max uint64) store { return s.newHeap(max) }
		},
	}
}

func always(n uint64) func() uint64 { return func() uint64 { return n } }

// TestRestoredMemoryIsTheImage writes anywhere, grows by any amount, and restores, many
// times: content and size are the image's, and what a later growth adds is 0.
func TestRestoredMemoryIsTheImage(t *testing.T) {
	const pages = 10
	for name, kind := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				space, newStore := kind()
				defer space.Close()
				max := uint64(pages * PageBytes)
				fill := func(n uint64) (*Memory, []byte) {
					m := space.New(max, always(max))
					m.store = newStore(max)
					return m, m.Reallocate(n)
				}
				start := uint64(rapid.IntRange(1, pages/2).Draw(t, "start")) * PageBytes
				first, data := fill(start)
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				scribble := func(data []byte) {
					for range r.IntN(60) {
						at := r.IntN(len(data))
						copy(data[at:], bytes.Repeat([]byte{byte(1 + r.IntN(255))}, 1+r.IntN(9000)))
					}
				}
				scribble(data)
				want := bytes.Clone(data)
				image, err := first.Image()
				if err != nil {
					t.Fatal(err)
				}
				second, other := fill(uint64(rapid.IntRange(1, pages).Draw(t, "other")) * PageBytes)
				scribble(other)
				for range rapid.IntRange(1, 6).Draw(t, "rounds") {
					for _, m := range []*Memory{first, second} {
						var after []byte
						if err := m.Restore(image,
							func() bool { after = m.Reallocate(m.size + PageBytes); return after != nil }); err != nil {
							t.Fatal(err)
						}
						if after == nil {
							after = m.store.resize(m.size)
						}
						if !bytes.Equal(after, want) {
							t.Fatal("the content is not the image's")
						}
						scribble(after)
						grown := m.Reallocate(start + uint64(r.IntN(pages-int(start/PageBytes)+1))*PageBytes)
						if len(bytes.Trim(grown[start:], "\x00")) > 0 {
							t.Fatal("what the memory grew by is not 0")
						}
						scribble(grown)
					}
				}
				first.Release()
				second.Release()
				first.Release()
				if err := image.Release(); err != nil {
					t.Fatal(err)
				}
				if space.Memories() != 0 || space.Bytes() != 0 {
					t.Fatalf("%d memories of %d bytes are left", space.Memories(), space.Bytes())
				}
			})
		})
	}
}

func TestMemoryGrowsToItsRoomOnly(t *testing.T) {
	space := NewSpace()
	defer space.Close()
	room := uint64(3 * PageBytes)
	m := space.New(5*PageBytes, func() uint64 { return room })
	defer m.Release()
	for _, c := range []struct {
		room, size uint64
		ok         bool
	}{
		{3, 1, true}, {3, 4, false}, {3, 3, true}, {2, 4, false}, {9, 5, true}, {9, 6, false},
	} {
		room = c.room * PageBytes
		data := m.Reallocate(c.size * PageBytes)
		if (data != nil) != c.ok || c.ok && uint64(len(data)) != c.size*PageBytes {
			t.Errorf("room %d, size %d: %d bytes", c.room, c.size, len(data))
		}
	}
	if m.Size() != 5*PageBytes {
		t.Errorf("size = %d", m.Size())
	}
}

func TestMappedMemoryNeverMoves(t *testing.T) {
	space := NewSpace()
	defer space.Close()
	m := space.New(64<<20, always(64<<20))
	defer m.Release()
	base := &m.Reallocate(PageBytes)[0]
	if _, isHeap := m.store.(*heap); isHeap {
		t.Skip("memory is not mapped here")
	}
	image, err := m.Image()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for size := uint64(2); size <= 1024; size *= 2 {
			if &m.Reallocate(size * PageBytes)[0] != base {
				t.Fatal("the memory moved when it grew")
			}
		}
		if err := m.Restore(image, func() bool { return &m.Reallocate(m.size + PageBytes)[0] == base }); err != nil {
			t.Fatal(err)
		}
	}
	m.Release()
	if err := image.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreThatCannotShrinkIsAnError(t *testing.T) {
	space := NewSpace()
	defer space.Close()
	m := space.New(8*PageBytes, always(8*PageBytes))
	defer m.Release()
	m.Reallocate(PageBytes)
	image, err := m.Image()
	if err != nil {
		t.Fatal(err)
	}
	m.Reallocate(2 * PageBytes)
	if err := m.Restore(image, func() bool { return false }); err == nil {
		t.Error("a memory that stayed large counts as restored")
	}
	m.Release()
	if err := image.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestMuchWrittenMemoryIsGivenBack writes to far more pages than a reset copies back.
func TestMuchWrittenMemoryIsGivenBack(t *testing.T) {
	for name, kind := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			const size, grown = 2 << 20, 48 << 20
			space, newStore := kind()
			defer space.Close()
			m := space.New(64<<20, always(64<<20))
			m.store = newStore(64 << 20)
			m.Reallocate(size)
			image, err := m.Image()
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				data := m.Reallocate(grown)
				for at := range data {
					data[at] = 0xff
				}
				if err := m.Restore(image, func() bool { return m.Reallocate(m.size+PageBytes) != nil }); err != nil {
					t.Fatal(err)
				}
				if _, isHeap := m.store.(*heap); isHeap != (m.Held() >= grown) || !isHeap && m.Held() > 8<<20 {
					t.Errorf("%d bytes are held", m.Held())
				}
			}
			m.Release()
			if err := image.Release(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// BenchmarkRestore measures what a reset costs together with the writes that follow it,
// which page faults belong to: an image of 4 MiB of which a call writes 150 pages.
func BenchmarkRestore(b *testing.B) {
	const size, written = 4 << 20, 150
	for name, kind := range kinds(b) {
		b.Run(name, func(b *testing.B) {
			space, newStore := kind()
			m := space.New(64<<20, always(64<<20))
			m.store = newStore(64 << 20)
			data := m.Reallocate(size)
			for i := range data {
				data[i] = byte(i >> 8)
			}
			image, err := m.Image()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := m.Restore(image, nil); err != nil {
					b.Fatal(err)
				}
				for page := range written {
					data[page*size/written] = 1
				}
			}
			m.Release()
			if err := image.Release(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
