package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// appendJob is one AppendPackets on its way to the disk.
type appendJob struct {
	run     string
	epoch   int64
	entries []PacketEntry
	// err is the outcome, to be read once done is closed.
	err  error
	done chan struct{}
}

// committer writes the appends of all runs, as many as there are, in one
// transaction per tick. One goroutine does it; close waits for it.
type committer struct {
	store    *Store
	interval time.Duration
	// wake has room for one: something is pending.
	wake chan struct{}
	// quit is closed by close, stopped when the goroutine has ended.
	quit, stopped chan struct{}

	// mu guards what follows.
	mu      sync.Mutex
	pending []*appendJob
	closed  bool
}

func newCommitter(s *Store, interval time.Duration) *committer {
	if interval == 0 {
		interval = DefaultCommitInterval
	}
	c := &committer{store: s, interval: interval,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), stopped: make(chan struct{})}
	go c.run()
	return c
}

// append queues a job and waits for its outcome.
func (c *committer) append(job *appendJob) error {
	job.done = make(chan struct{})
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.pending = append(c.pending, job)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // it will look anyway
	}
	<-job.done
	return job.err
}

// close lets what is queued be written, and waits. Only the first call returns
// true.
func (c *committer) close() (first bool) {
	c.mu.Lock()
	if first = !c.closed; first {
		c.closed = true
		close(c.quit)
	}
	c.mu.Unlock()
	<-c.stopped
	return first
}

func (c *committer) run() {
	defer close(c.stopped)
	for {
		select {
		case <-c.wake:
			c.writePending()
			c.pause()
		case <-c.quit:
			c.writePending() // closed is set: nothing more is queued
			return
		}
	}
}

// pause waits for the tick, so that appends gather, unless the store closes.
func (c *committer) pause() {
	if c.interval < 0 {
		return
	}
	timer := time.NewTimer(c.interval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.quit:
	}
}

// writePending writes what is queued and tells those who wait.
func (c *committer) writePending() {
	c.mu.Lock()
	jobs := c.pending
	c.pending = nil
	c.mu.Unlock()
	if len(jobs) == 0 {
		return
	}
	c.write(jobs)
	for _, job := range jobs {
		close(job.done)
	}
}

// write writes all jobs in one transaction. Where that fails for more than the
// jobs that are refused, each is tried alone, so that one cannot spoil another.
func (c *committer) write(jobs []*appendJob) {
	err := c.writeTogether(jobs)
	if err == nil {
		return
	}
	for _, job := range jobs {
		if len(jobs) == 1 {
			job.err = err
		} else if err := c.writeTogether([]*appendJob{job}); err != nil {
			job.err = err
		}
	}
}

// writeTogether sets the outcome of each job that is refused, and returns an
// error when nothing was written at all.
func (c *committer) writeTogether(jobs []*appendJob) error {
	return c.store.update(context.Background(), func(tx *bbolt.Tx) error {
		for _, job := range jobs {
			job.err = appendPackets(tx, job.run, job.epoch, job.entries)
			if failed := (*writeError)(nil); errors.As(job.err, &failed) {
				return failed.error
			}
		}
		return nil
	})
}
