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
	// errMute is the cause when nothing but signs of life came for too long.
	errMute = errors.New("the stream was kept alive and said nothing")
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
// all its attempts, and its owner stops it. Bytes alone show that the connection
// lives: comments and pings come from gateways whose model hangs. So the adapter
// tells it of each event that says something, with Heard.
type Watch struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timeouts Timeouts

	mu sync.Mutex // guards what follows; the connection's callback comes from elsewhere
	// timer ends the request for cause; nil while the clock stands.
	timer *time.Timer
	cause error
	// mute ends a stream of which nothing but signs of life come; nil before it has
	// said something.
	mute *time.Timer
	// asking tells that an attempt goes on, heard that it said something, settled that the
	// answer is complete.
	asking, heard, settled bool
}

// Watch returns a watch for one answer. Its context ends with ctx.
func (e *Endpoint) Watch(ctx context.Context) *Watch {
	w := &Watch{timeouts: e.cfg.Timeouts}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.connecting() },
		GotConn: func(httptrace.GotConnInfo) { w.connected() },
	})
	return w
}

// Context is what the requests are sent with.
func (w *Watch) Context() context.Context { return w.ctx }

// begin makes ready for one attempt. Its clock starts when a connection is wanted: a
// question with many pictures takes the host itself a while to write.
func (w *Watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking, w.heard, w.settled = true, false, false
}

// connecting starts the time for the connection.
func (w *Watch) connecting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking && !w.heard {
		w.after(w.timeouts.Connect, errNoConnection)
	}
}

// connected starts the time for the first token.
func (w *Watch) connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking && !w.heard {
		w.after(w.timeouts.FirstToken, errNoFirstToken)
	}
}

// moved is called for each read that brought bytes. Before the first event they
// count for nothing.
func (w *Watch) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heard && !w.settled {
		w.after(w.timeouts.Idle, errIdle)
	}
}

// Heard takes note of an event that says something.
func (w *Watch) Heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled {
		return
	}
	w.heard = true
	w.after(w.timeouts.Idle, errIdle)
	if w.mute == nil {
		w.mute = time.AfterFunc(w.timeouts.mute(), func() { w.cancel(errMute) })
	} else {
		w.mute.Reset(w.timeouts.mute())
	}
}

// Settle leaves a complete answer a little time for a last chunk, whatever comes.
func (w *Watch) Settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.settled = true, true
	w.after(min(w.timeouts.Idle, settleTime), errIdle)
}

// after sets the clock anew; mu is held.
func (w *Watch) after(d time.Duration, cause error) {
	if w.timer != nil && w.cause == cause {
		w.timer.Reset(d)
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer, w.cause = time.AfterFunc(d, func() { w.cancel(cause) }), cause
}

// pause stops the clock between two attempts.
func (w *Watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, timer := range []*time.Timer{w.timer, w.mute} {
		if timer != nil {
			timer.Stop()
		}
	}
	w.timer, w.mute, w.asking = nil, nil, false
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
	if errors.Is(cause, errNoConnection) || errors.Is(cause, errNoFirstToken) || errors.Is(cause, errIdle) ||
		errors.Is(cause, errMute) {
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
	return strings.Contains(strings.ToLower(response.Header.Get("Content-Type")), "json")
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
	// mark is how much of a byte order mark at the beginning was left out, -1 once
	// there is no more to leave out.
	mark int
}

// byteOrderMark may stand before a stream and is no part of it: the SDKs' decoders
// would take it for part of the first line.
const byteOrderMark = "\uFEFF"

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.moved()
	}
	for b.mark >= 0 && n > 0 {
		if b.mark == len(byteOrderMark) || p[0] != byteOrderMark[b.mark] {
			b.mark = -1
			break
		}
		b.mark++
		n = copy(p, p[1:n])
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
