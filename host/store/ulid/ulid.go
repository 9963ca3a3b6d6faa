// Package ulid makes ids that sort in the order in which they were made. They are ULIDs
// (github.com/ulid/spec) behind a prefix that says what they name.
package ulid

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

// crockford is the alphabet of ULIDs, in byte order.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ulidLen is the number of characters of a ULID.
const ulidLen = 26

// ulid is a ULID (github.com/ulid/spec): 48 bits of milliseconds, then 80
// random bits, here as one number of 128 bits.
type ulid struct{ hi, lo uint64 }

func (u ulid) String() string {
	var out [ulidLen]byte
	hi, lo := u.hi, u.lo
	for i := ulidLen - 1; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// parseULID reads what String wrote; ok is false for anything else.
func parseULID(text string) (u ulid, ok bool) {
	if len(text) != ulidLen || text[0] > '7' {
		return ulid{}, false
	}
	for i := range len(text) {
		digit := strings.IndexByte(crockford, text[i])
		if digit < 0 {
			return ulid{}, false
		}
		u.hi = u.hi<<5 | u.lo>>59
		u.lo = u.lo<<5 | uint64(digit)
	}
	return u, true
}

func (u ulid) less(v ulid) bool { return u.hi < v.hi || u.hi == v.hi && u.lo < v.lo }

// Source makes ids that sort in the order in which they were made, also
// within a millisecond and when the clock goes back. It is safe for concurrent
// use.
type Source struct {
	now func() time.Time
	// mu guards last.
	mu   sync.Mutex
	last ulid
}

// NewSource returns a Source with that clock.
func NewSource(now func() time.Time) *Source { return &Source{now: now} }

// Next returns prefix, "_" and a new ULID.
func (s *Source) Next(prefix string) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	fresh := ulid{
		hi: uint64(max(s.now().UnixMilli(), 0))<<16 | uint64(binary.BigEndian.Uint16(random[:2])),
		lo: binary.BigEndian.Uint64(random[2:]),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh.hi>>16 <= s.last.hi>>16 {
		fresh = s.last
		if fresh.lo++; fresh.lo == 0 {
			fresh.hi++
		}
	}
	s.last = fresh
	return prefix + "_" + fresh.String()
}

// After lets new ids sort after one that there is, whatever the clock says now. A text
// that is no id is passed over.
func (s *Source) After(id string) {
	_, text, _ := strings.Cut(id, "_")
	u, ok := parseULID(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok && s.last.less(u) {
		s.last = u
	}
}
