package kv

import (
	"context"
	"sync"
)

// group writes what waits in one transaction. Whoever comes while nobody writes
// does it, for all who come meanwhile.
type group struct {
	update func(func(Tx) error) error

	// mu guards what follows.
	mu      sync.Mutex
	queue   []*job
	writing bool
	closed  bool
	// idle is closed when nobody writes any more, once closed is set.
	idle chan struct{}
}

// job is one Commit on its way.
type job struct {
	fn   func(Tx) error
	err  error
	done chan struct{}
}

func newGroup(update func(func(Tx) error) error) *group {
	return &group{update: update, idle: make(chan struct{})}
}

func (g *group) commit(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{fn: fn, done: make(chan struct{})}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	g.queue = append(g.queue, j)
	if g.writing {
		g.mu.Unlock()
		<-j.done
		return j.err
	}
	g.writing = true
	g.mu.Unlock()
	g.drain()
	return j.err
}

// drain writes until nothing waits.
func (g *group) drain() {
	for {
		g.mu.Lock()
		jobs := g.queue
		g.queue = nil
		if len(jobs) == 0 {
			g.writing = false
			if g.closed {
				close(g.idle)
			}
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		g.write(jobs)
		for _, j := range jobs {
			close(j.done)
		}
	}
}

// write makes one transaction of the jobs. One that fails ends it; it is taken out,
// and the others are tried again without it. Where the disk refuses all of them
// together, each is tried alone, so that a large one cannot spoil the others.
func (g *group) write(jobs []*job) {
	left := jobs
	for len(left) > 0 {
		failed := -1
		err := g.update(func(tx Tx) error {
			for i, j := range left {
				if err := j.fn(tx); err != nil {
					failed = i
					return err
				}
			}
			return nil
		})
		switch {
		case err == nil:
			return
		case failed >= 0:
			left[failed].err = err
			rest := make([]*job, 0, len(left)-1)
			left = append(append(rest, left[:failed]...), left[failed+1:]...)
		case len(left) == 1:
			left[0].err = err
			return
		default:
			for _, j := range left {
				g.write([]*job{j})
			}
			return
		}
	}
}

// close lets what is queued be written, and waits. Only the first call returns true.
func (g *group) close() (first bool) {
	g.mu.Lock()
	first = !g.closed
	g.closed = true
	if first && !g.writing {
		close(g.idle)
	}
	g.mu.Unlock()
	<-g.idle
	return first
}
