package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxRetries is how often a request is sent again.
	maxRetries = 2
	// firstBackoff is the wait before the first retry; it doubles. Jitter adds up to
	// half of it.
	firstBackoff = 250 * time.Millisecond
	// maxRetryAfter is the longest wait that an endpoint may ask of us. One that
	// asks for more gets no retry: the person decides.
	maxRetryAfter = 10 * time.Second
	// statusOverloaded is how some endpoints say that they have no room now.
	statusOverloaded = 529
)

// Attempt is what Send sends.
type Attempt struct {
	// Post sends the request once, with w's context, and passes every response to
	// w.Body before it is read.
	Post func(w *Watch) (*http.Response, error)
	// Learn reads a refusal and tells whether the next Post will do without what was
	// refused; nil for an adapter that learns nothing. Each thing is learned once.
	Learn func(*Refusal) bool
	// JSON says that a stream of the provider's may call itself JSON: its lines are.
	JSON bool
	// Whole writes a whole reply, which came instead of a stream, as the events that a
	// stream of it would have had, nil for one that is none; nil where that cannot be.
	Whole func(reply []byte) []byte
}

// maxWholeBytes bounds a whole reply that is taken for a stream.
const maxWholeBytes = 32 << 20

// Send posts until a stream begins: again without what the endpoint refuses, and
// again where it is busy or not there, at most twice. The caller closes the
// response's body. The error is an *llm.Error, or context.Canceled.
func (e *Endpoint) Send(w *Watch, a Attempt) (*http.Response, error) {
	response, err := e.send(w, a)
	if err != nil {
		return nil, e.failure(w.silence(err))
	}
	return response, nil
}

func (e *Endpoint) send(w *Watch, a Attempt) (*http.Response, error) {
	for attempt := 0; ; {
		w.begin()
		response, err := a.checked(a.Post(w))
		if err == nil {
			return response, nil
		}
		w.pause()
		if w.ctx.Err() != nil {
			return nil, err
		}
		refusal := asRefusal(err)
		if refusal != nil && a.Learn != nil && teaches(refusal.Status) && a.Learn(refusal) {
			continue // each thing is learned once, so this ends
		}
		wait, ok := e.retryWait(err, refusal, attempt)
		if !ok || attempt == maxRetries {
			return nil, err
		}
		attempt++
		if err := e.cfg.Sleep(w.ctx, wait); err != nil {
			return nil, err
		}
	}
}

// teaches tells whether a status may be about a field of the request, or about where
// it was sent. Some servers answer 500 where their template cannot take a message,
// some gateways 404 where no endpoint behind them takes a field.
func teaches(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError,
		http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// checked returns a response whose stream has begun, or closes it.
func (a Attempt) checked(response *http.Response, err error) (*http.Response, error) {
	if err == nil {
		err = a.checkStream(response)
	} else if response != nil && response.Body != nil && response.StatusCode >= 400 {
		err = readRefusal(response)
	}
	if err != nil {
		if response != nil && response.Body != nil {
			_ = response.Body.Close() // the error that we have says more
		}
		return nil, err
	}
	return response, nil
}

// checkStream refuses a reply that succeeded but is no stream.
func (a Attempt) checkStream(response *http.Response) error {
	if response.StatusCode/100 != 2 {
		return readRefusal(response)
	}
	media := strings.ToLower(response.Header.Get("Content-Type"))
	if a.Whole != nil && strings.HasPrefix(media, "application/json") {
		return a.takeWhole(response)
	}
	if strings.Contains(media, "html") || strings.HasPrefix(media, "application/json") && !a.JSON {
		return readRefusal(response)
	}
	return nil
}

// takeWhole makes a stream of a reply that came in one.
func (a Attempt) takeWhole(response *http.Response) error {
	body := response.Body
	data, err := io.ReadAll(io.LimitReader(body, maxWholeBytes))
	if err != nil {
		return err
	}
	_ = body.Close() // it was read
	events := a.Whole(data)
	if events == nil {
		response.Body = io.NopCloser(bytes.NewReader(data))
		return readRefusal(response)
	}
	response.Body = io.NopCloser(bytes.NewReader(events))
	response.Header.Set("Content-Type", "text/event-stream")
	return nil
}

// Fetch sends one small question and returns the reply's bytes, at most limit.
// There is no retry. The error is an *llm.Error or context.Canceled.
func (e *Endpoint) Fetch(ctx context.Context, r *http.Request, limit int64) ([]byte, error) {
	w := e.Watch(ctx)
	defer w.Stop()
	w.begin()
	response, err := e.http.Do(r.WithContext(w.ctx))
	if err != nil {
		return nil, e.failure(w.silence(err))
	}
	defer response.Body.Close()
	w.Body(response)
	if response.StatusCode/100 != 2 {
		return nil, e.failure(w.silence(readRefusal(response)))
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		return nil, e.failure(w.silence(err))
	}
	return data, nil
}

// retryWait tells whether and after how long the request is worth another try.
func (e *Endpoint) retryWait(err error, refused *Refusal, attempt int) (time.Duration, bool) {
	backoff := firstBackoff << attempt
	backoff += time.Duration(e.cfg.Jitter() * float64(backoff) / 2)
	if refused == nil {
		return backoff, isConnectionError(err)
	}
	if !refused.busy() || refused.quota() {
		return 0, false
	}
	after, stated := e.retryAfter(refused.retryAfter)
	if !stated {
		return backoff, true
	}
	return after, after <= maxRetryAfter
}

// retryAfter reads the header: seconds, or a date.
func (e *Endpoint) retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(e.cfg.Now())), true
	}
	return 0, false
}

// isConnectionError tells whether the endpoint was not reached, or went away
// before it said a word.
func isConnectionError(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	switch networkFault(err) {
	case faultRefused, faultReset:
		return true
	}
	return false
}
