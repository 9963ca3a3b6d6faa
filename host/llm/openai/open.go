package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

const (
	// maxRetries is how often a request is sent again.
	maxRetries = 2
	// firstBackoff is the wait before the first retry; it doubles.
	firstBackoff = 250 * time.Millisecond
	// maxRetryAfter is the longest wait that an endpoint may ask of us. One that
	// asks for more gets no retry: the person decides.
	maxRetryAfter = 10 * time.Second
)

// open sends the request until a stream begins: again without what the endpoint
// refuses, and again where it is busy or not there.
func (m *Model) open(w *watch, req llm.Request) (*http.Response, error) {
	for attempt := 0; ; {
		params := m.params(req)
		w.begin()
		response, err := m.post(w, params)
		if err == nil {
			return response, nil
		}
		w.pause()
		if w.ctx.Err() != nil {
			return nil, err
		}
		refusal := asRefusal(err)
		if refusal != nil && (refusal.status == 400 || refusal.status == 422) && m.learn(refusal.text, params) {
			continue // each quirk is learned once, so this ends
		}
		wait, ok := m.retryWait(err, refusal, attempt)
		if !ok || attempt == maxRetries {
			return nil, err
		}
		attempt++
		if err := m.cfg.Sleep(w.ctx, wait); err != nil {
			return nil, err
		}
	}
}

// post sends the request once. The response is a stream that has begun; its body
// is watched.
func (m *Model) post(w *watch, params sdk.ChatCompletionNewParams) (*http.Response, error) {
	var response *http.Response
	limit := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(r)
		if res != nil && res.Body != nil {
			res.Body = &body{ReadCloser: res.Body, watch: w}
			if res.StatusCode >= 400 { // the SDK reads these whole
				res.Body = limited{io.LimitReader(res.Body, maxRefusalBytes), res.Body}
			}
		}
		return res, err
	}
	err := m.client.Post(w.ctx, "chat/completions", params, &response,
		option.WithJSONSet("stream", true), option.WithMiddleware(limit))
	if err == nil {
		err = checkStream(response)
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
func checkStream(response *http.Response) error {
	if response.StatusCode/100 != 2 {
		return readRefusal(response)
	}
	media := strings.ToLower(response.Header.Get("Content-Type"))
	if strings.Contains(media, "html") || strings.Contains(media, "json") {
		return readRefusal(response)
	}
	return nil
}

// retryWait tells whether and after how long the request is worth another try.
func (m *Model) retryWait(err error, refused *refusal, attempt int) (time.Duration, bool) {
	backoff := firstBackoff << attempt
	if refused == nil {
		return backoff, isConnectionError(err)
	}
	if refused.status != http.StatusTooManyRequests && refused.status != http.StatusServiceUnavailable || refused.quota() {
		return 0, false
	}
	after, stated := m.retryAfter(refused.retryAfter)
	if !stated {
		return backoff, true
	}
	return after, after <= maxRetryAfter
}

// retryAfter reads the header: seconds, or a date.
func (m *Model) retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(m.cfg.Now())), true
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

// limited is a body of which only the beginning is read.
type limited struct {
	io.Reader
	io.Closer
}
