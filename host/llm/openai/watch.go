package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

// Silence of the endpoint; both are causes of a cancelled request.
var (
	// errNoFirstToken is the cause when nothing came within FirstTokenTimeout.
	errNoFirstToken = errors.New("no answer within the time for the first token")
	// errIdle is the cause when the stream stopped moving for IdleTimeout.
	errIdle = errors.New("the stream stood still for too long")
	// errTooLarge is the cause when one event of the stream, or a reply that is not
	// a stream, is larger than maxEventBytes.
	errTooLarge = errors.New("an event of the stream is too large")
)

// maxEventBytes bounds one event of a stream, with all its lines.
const maxEventBytes = 4 << 20

// settleTime is how long a stream may stay open after the model has finished,
// for a last chunk with the usage.
const settleTime = 5 * time.Second

// watch ends a request whose endpoint falls silent. Its methods are called by
// one goroutine.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	first  time.Duration
	idle   time.Duration
}

func newWatch(parent context.Context, first, idle time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	return &watch{ctx: ctx, cancel: cancel, first: first, idle: idle}
}

// begin starts the time for the first token of one attempt.
func (w *watch) begin() { w.after(w.first, errNoFirstToken) }

// moved is called for each read that brought bytes.
func (w *watch) moved() { w.after(w.idle, errIdle) }

// settle shortens the patience once the answer is complete.
func (w *watch) settle() { w.idle = min(w.idle, settleTime); w.moved() }

func (w *watch) after(d time.Duration, cause error) {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(d, func() { w.cancel(cause) })
}

// pause stops the clock between two attempts.
func (w *watch) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// stop releases everything; the request of this watch ends with it.
func (w *watch) stop() {
	w.pause()
	w.cancel(context.Canceled)
}

// cause returns why the request really ended: the watch's own reason where err
// only says that a context was cancelled.
func (w *watch) cause(err error) error {
	if w.ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(w.ctx); errors.Is(cause, errNoFirstToken) || errors.Is(cause, errIdle) {
		return cause
	}
	return err
}

// body watches a response's bytes: it tells the watch that they move, and ends
// with errTooLarge when maxEventBytes pass without an empty line.
type body struct {
	io.ReadCloser
	watch *watch
	// event counts the bytes since the last empty line; line those since the last
	// line end, carriage returns not counted.
	event, line int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.moved()
	}
	for _, c := range p[:n] {
		b.event++
		switch c {
		case '\n':
			if b.line == 0 {
				b.event = 0
			}
			b.line = 0
		case '\r':
		default:
			b.line++
		}
		if b.event > maxEventBytes {
			return 0, errTooLarge
		}
	}
	return n, err
}
