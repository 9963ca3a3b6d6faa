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
	// idle are ready instances, used those that are still to be reset; what was used last
	// is at the end.
	idle, used []*instance
	// live counts all instances: those that run, are idle or used, or are coming, which
	// is that they are being made, reset or closed for the pool.
	live, coming int
	// waiting are calls, each with a place for what it gets: an instance, or nil for
	// the right to make one.
	waiting []chan *instance
}

// take returns an idle instance, or a used one that the caller resets. Where there is none
// it waits for one that is coming if no other call does, or else returns nil: then the
// caller makes one, and has it count as live. The error is that of ctx.
func (p *pool) take(ctx context.Context) (*instance, error) {
	p.mu.Lock()
	for _, list := range []*[]*instance{&p.idle, &p.used} {
		if i := last(list); i != nil {
			p.mu.Unlock()
			return i, nil
		}
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

// last takes the last instance of a list, nil if there is none.
func last(list *[]*instance) *instance {
	n := len(*list) - 1
	if n < 0 {
		return nil
	}
	i := (*list)[n]
	(*list)[n] = nil
	*list = (*list)[:n]
	return i
}

// put passes an instance on, or keeps it. The caller holds mu.
func (p *pool) put(i *instance) {
	switch {
	case len(p.waiting) > 0:
		p.waiting[0] <- i
		p.waiting = p.waiting[1:]
	case i.used:
		p.used = append(p.used, i)
	default:
		p.idle = append(p.idle, i)
	}
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

// giveBack takes an instance that ran and is to be reset.
func (p *pool) giveBack(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(i)
}

// takeUsed returns an instance that is to be reset, nil if calls took all of them. It is
// coming then.
func (p *pool) takeUsed() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := last(&p.used)
	if i != nil {
		p.coming++
	}
	return i
}

// expect says that an instance which ran is being closed, so that another can be made.
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
	if len(p.idle)+len(p.used)+p.coming-len(p.waiting) >= spares || p.live >= p.max {
		return false
	}
	p.live++
	p.coming++
	return true
}

// arrive ends what takeUsed or reserve began: the instance is ready.
func (p *pool) arrive(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming--
	p.put(i)
}

// fail ends what takeUsed, expect or reserve began: there is no such instance any more.
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

// empty takes all instances that run no call.
func (p *pool) empty() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append(p.idle, p.used...)
	p.idle, p.used = nil, nil
	p.live -= len(all)
	return all
}
