package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// Silence of the endpoint; each is the cause of a cancelled request.
var (
	// errNoConnection is the cause when there was no connection in time.
	errNoConnection = errors.New("no connection within the time for one")
	// errNoFirstToken is the cause when nothing came in time.
	errNoFirstToken = errors.New("no answer within the time for the first token")
	// errIdle is the cause when the stream stopped moving.
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

// Watch ends a request whose endpoint falls silent. It belongs to one answer, with
// all its attempts, and its owner stops it.
type Watch struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timeouts Timeouts

	mu sync.Mutex // guards timer and moving; the connection's callback comes from elsewhere
	// timer is nil while the clock stands.
	timer *time.Timer
	// moving tells that a byte of this attempt came.
	moving bool
}

// Watch returns a watch for one answer. Its context ends with ctx.
func (e *Endpoint) Watch(ctx context.Context) *Watch {
	w := &Watch{timeouts: e.cfg.Timeouts}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { w.connected() }})
	return w
}

// Context is what the requests are sent with.
func (w *Watch) Context() context.Context { return w.ctx }

// begin starts the time for the connection of one attempt.
func (w *Watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moving = false
	w.after(w.timeouts.Connect, errNoConnection)
}

// connected starts the time for the first token.
func (w *Watch) connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.moving && w.timer != nil {
		w.after(w.timeouts.FirstToken, errNoFirstToken)
	}
}

// moved is called for each read that brought bytes.
func (w *Watch) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moving = true
	w.after(w.timeouts.Idle, errIdle)
}

// Settle shortens the patience once the answer is complete.
func (w *Watch) Settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeouts.Idle = min(w.timeouts.Idle, settleTime)
	w.moving = true
	w.after(w.timeouts.Idle, errIdle)
}

// after sets the clock anew; mu is held.
func (w *Watch) after(d time.Duration, cause error) {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(d, func() { w.cancel(cause) })
}

// pause stops the clock between two attempts.
func (w *Watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// Stop releases everything; the request of this watch ends with it.
func (w *Watch) Stop() {
	w.pause()
	w.cancel(context.Canceled)
}

// silence returns the watch's own reason where err only says that a context was
// cancelled, else err.
func (w *Watch) silence(err error) error {
	if w.ctx.Err() == nil {
		return err
	}
	cause := context.Cause(w.ctx)
	if errors.Is(cause, errNoConnection) || errors.Is(cause, errNoFirstToken) || errors.Is(cause, errIdle) {
		return cause
	}
	return err
}

// Body makes a response's body tell the watch that it moves, and end with an error
// when an event is too large. The body of a refusal is bounded.
func (w *Watch) Body(response *http.Response) {
	if response == nil || response.Body == nil {
		return
	}
	response.Body = &body{ReadCloser: response.Body, watch: w, lines: lines(response)}
	if response.StatusCode >= 400 { // these are read whole
		response.Body = limited{io.LimitReader(response.Body, maxRefusalBytes), response.Body}
	}
}

// lines tells whether each line of a response is an event of its own.
func lines(response *http.Response) bool {
	return strings.Contains(strings.ToLower(response.Header.Get("Content-Type")), "ndjson")
}

// body watches a response's bytes: it ends with errTooLarge when maxEventBytes
// pass without the end of an event, which is an empty line, or with lines any.
type body struct {
	io.ReadCloser
	watch *Watch
	lines bool
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
			if b.line == 0 || b.lines {
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

// limited is a body of which only the beginning is read.
type limited struct {
	io.Reader
	io.Closer
}
