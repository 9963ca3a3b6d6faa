package engine

import (
	"context"
	"sync"
	"time"
)

// pool has the instances of one module that wait for a call, and the calls that wait for
// an instance. It owns those that wait; whoever takes one owns it from then on.
type pool struct {
	// max is how many instances there may be.
	max int

	// mu guards what follows.
	mu sync.Mutex
	// idle are ready instances, the one that was used last at the end.
	idle []*instance
	// live counts all instances: those that run, are idle, or are coming, which is that
	// they are being made or reset for the pool.
	live, coming int
	// waiting are calls, each with a place for what it gets: an instance, or nil for
	// the right to make one.
	waiting []chan *instance
}

// take returns an idle instance, waits for one that is coming if no other call does, or
// else returns nil: then the caller makes one, and has it count as live. The error is
// that of ctx.
func (p *pool) take(ctx context.Context) (*instance, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return i, nil
	}
	if p.coming <= len(p.waiting) {
		p.live++
		p.mu.Unlock()
		return nil, nil
	}
	place := make(chan *instance, 1)
	p.waiting = append(p.waiting, place)
	p.mu.Unlock()
	select {
	case i := <-place:
		return i, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, other := range p.waiting {
		if other == place {
			p.waiting = append(p.waiting[:n], p.waiting[n+1:]...)
			return nil, ctx.Err()
		}
	}
	// It came at the same moment.
	if i := <-place; i != nil {
		p.put(i)
	} else {
		p.forget()
	}
	return nil, ctx.Err()
}

// put passes an instance on, or keeps it. The caller holds mu.
func (p *pool) put(i *instance) {
	if len(p.waiting) > 0 {
		p.waiting[0] <- i
		p.waiting = p.waiting[1:]
		return
	}
	p.idle = append(p.idle, i)
}

// forget has one instance less, or lets a call that waits make one in its place. The
// caller holds mu.
func (p *pool) forget() {
	if len(p.waiting) > 0 {
		p.waiting[0] <- nil
		p.waiting = p.waiting[1:]
		return
	}
	p.live--
}

// expect says that an instance which ran is coming back.
func (p *pool) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming++
}

// reserve counts an instance that will be made for the pool, unless there are already
// spares that run no call, or as many as there may be.
func (p *pool) reserve(spares int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle)+p.coming-len(p.waiting) >= spares || p.live >= p.max {
		return false
	}
	p.live++
	p.coming++
	return true
}

// arrive ends what expect or reserve began: the instance is ready.
func (p *pool) arrive(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming--
	p.put(i)
}

// fail ends what expect or reserve began: there is no such instance any more.
func (p *pool) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming--
	p.forget()
}

// drop says that an instance which ran is gone.
func (p *pool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}

// shed takes those instances beyond keep that have been idle since before the given
// time. next is when the next one will have been idle for as long, zero if none.
func (p *pool) shed(keep int, before time.Time) (old []*instance, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for len(p.idle)-n > keep && p.idle[n].since.Before(before) {
		n++
	}
	old = append(old, p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	p.live -= n
	if len(p.idle) > keep {
		next = p.idle[0].since
	}
	return old, next
}

// empty takes all idle instances.
func (p *pool) empty() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle
	p.idle = nil
	p.live -= len(all)
	return all
}
