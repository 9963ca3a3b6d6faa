package egress

import (
	"sync"
	"time"
)

// DefaultRate is how many requests a minute one user's calls of one plugin may
// make where the grant names no number.
const DefaultRate = 120

// maxBuckets bounds what a Rate remembers.
const maxBuckets = 10_000

// Rate counts requests by key: as many at once as the rate of a minute, refilled
// evenly. It is safe for concurrent use.
type Rate struct {
	now func() time.Time

	// mu guards buckets.
	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// NewRate returns a Rate on a clock.
func NewRate(now func() time.Time) *Rate {
	return &Rate{now: now, buckets: map[string]*bucket{}}
}

// Take takes one request of key from perMinute, DefaultRate where that is 0, and
// tells whether it was there.
func (r *Rate) Take(key string, perMinute int64) bool {
	if perMinute <= 0 {
		perMinute = DefaultRate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b := r.buckets[key]
	if b == nil {
		r.makeRoom(now)
		b = &bucket{left: float64(perMinute), at: now}
		r.buckets[key] = b
	}
	b.left = min(float64(perMinute), b.left+now.Sub(b.at).Minutes()*float64(perMinute))
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// makeRoom forgets buckets that are full again, and all of them where that is
// not enough. The caller holds mu.
func (r *Rate) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	for key, b := range r.buckets {
		if now.Sub(b.at) >= time.Minute {
			delete(r.buckets, key)
		}
	}
	if len(r.buckets) >= maxBuckets {
		clear(r.buckets)
	}
}
