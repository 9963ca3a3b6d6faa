package endpoint

import "context"

// Queue lets one at a time do a thing, and those that wait leave it when they are
// stopped. It is safe for concurrent use.
type Queue struct{ taken chan struct{} }

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{taken: make(chan struct{}, 1)} }

// Enter waits to be the one. The error is ctx.Err(); without one the caller leaves the
// queue when it is done.
func (q *Queue) Enter(ctx context.Context) error {
	select {
	case q.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave lets the next one in.
func (q *Queue) Leave() { <-q.taken }
