package kv

import (
	"context"
	"errors"
	"sync"
)

// group writes what waits in one transaction. Whoever comes while nobody writes does
// it, for all who wait by then, and hands over to the first of those who came
// meanwhile: nobody works for others without end.
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
	fn func(Tx) error
	// lead is closed when the job's goroutine is to write what is queued, done when
	// err is its outcome.
	lead, done chan struct{}
	err        error
	settled    bool
}

// errCutOff is the outcome of a job whose writer ended in the middle of it, as a test
// does with FailNow.
var errCutOff = errors.New("the goroutine that wrote ended before the transaction did")

func newGroup(update func(func(Tx) error) error) *group {
	return &group{update: update, idle: make(chan struct{})}
}

func (g *group) commit(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{fn: fn, lead: make(chan struct{}), done: make(chan struct{})}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	g.queue = append(g.queue, j)
	wait := g.writing
	g.writing = true
	g.mu.Unlock()
	if wait {
		select {
		case <-j.done:
			return j.err
		case <-j.lead:
		}
	}
	g.writeQueue() // in which j is the first
	return j.err
}

// writeQueue writes what is queued, and hands over.
func (g *group) writeQueue() {
	g.mu.Lock()
	jobs := g.queue
	g.queue = nil
	g.mu.Unlock()
	defer func() {
		for _, j := range jobs {
			if !j.settled {
				j.err = errCutOff
			}
			close(j.done)
		}
		g.handOver()
	}()
	g.write(jobs)
}

// handOver lets the next in the queue write.
func (g *group) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) > 0 {
		close(g.queue[0].lead)
		return
	}
	g.writing = false
	if g.closed {
		close(g.idle)
	}
}

// write makes one transaction of the jobs. One that fails ends it; it is taken out,
// and the others are tried again without it. Where the disk refuses the rest, each of
// the jobs is tried alone, so that a large one cannot spoil the others: those that
// failed too, since what made them fail may have been another's write that now never
// happened.
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
		case err != nil && failed < 0 && len(jobs) > 1:
			for _, j := range jobs {
				g.write([]*job{j})
			}
			return
		case err != nil && failed >= 0:
			left[failed].settle(err)
			rest := make([]*job, 0, len(left)-1)
			left = append(append(rest, left[:failed]...), left[failed+1:]...)
		default:
			for _, j := range left {
				j.settle(err)
			}
			return
		}
	}
}

// settle says what came of a job, so far.
func (j *job) settle(err error) { j.err, j.settled = err, true }

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
