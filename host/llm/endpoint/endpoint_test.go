package endpoint_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-hidden"

// get is an attempt that asks base once.
func get(e *endpoint.Endpoint, base string) endpoint.Attempt {
	return endpoint.Attempt{Post: func(w *endpoint.Watch) (*http.Response, error) {
		r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, base, nil)
		if err != nil {
			return nil, err
		}
		response, err := e.HTTPClient().Do(r)
		w.Body(response)
		return response, err
	}}
}

// nowhere is a network without a way. Dialling goes on without its request, to the test's
// end.
func nowhere(t *testing.T) *http.Transport {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-end
		return nil, net.ErrClosed
	}}
}

// TestAConnectionThatNeverComesIsToldApart: the time for it is its own, however
// long the first token may take.
func TestAConnectionThatNeverComesIsToldApart(t *testing.T) {
	client := &http.Client{Transport: nowhere(t)}
	e, err := endpoint.New(endpoint.Config{BaseURL: "http://127.0.0.1:1", Model: "m", HTTPClient: client,
		Timeouts: endpoint.Timeouts{Connect: time.Millisecond, FirstToken: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	watch := e.Watch(t.Context())
	defer watch.Stop()
	_, err = e.Send(watch, get(e, "http://127.0.0.1:1"))
	var got *llm.Error
	if !errors.As(err, &got) || got.Code != packet.CodeModelUnreachable ||
		!strings.Contains(got.Message, "No connection to 127.0.0.1:1") || !got.Retryable {
		t.Errorf("got %v", err)
	}
}

// TestWhatTheHostItselfDoesIsNoTimeOfTheEndpoint: the clock of a connection begins when one
// is wanted, however long the question takes to be written.
func TestWhatTheHostItselfDoesIsNoTimeOfTheEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := endpoint.New(endpoint.Config{BaseURL: "http://127.0.0.1:1", Model: "m",
			HTTPClient: &http.Client{Transport: busy{}},
			Timeouts:   endpoint.Timeouts{Connect: time.Second, FirstToken: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		watch := e.Watch(t.Context())
		defer watch.Stop()
		slow := get(e, "http://127.0.0.1:1")
		post := slow.Post
		slow.Post = func(w *endpoint.Watch) (*http.Response, error) {
			time.Sleep(time.Hour)
			return post(w)
		}
		var got *llm.Error
		if _, err = e.Send(watch, slow); !errors.As(err, &got) || got.Code != packet.CodeModelRateLimited {
			t.Errorf("got %v", err)
		}
	})
}

// TestWaitsGrowAndVary: each is between one and one and a half of its step.
func TestWaitsGrowAndVary(t *testing.T) {
	const base = "http://127.0.0.1:1" // nothing listens there
	for jitter, want := range map[float64][]time.Duration{
		0:   {250 * time.Millisecond, 500 * time.Millisecond},
		0.5: {312500 * time.Microsecond, 625 * time.Millisecond},
	} {
		var waits []time.Duration
		e, err := endpoint.New(endpoint.Config{BaseURL: base, Model: "m", Jitter: func() float64 { return jitter },
			Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		watch := e.Watch(t.Context())
		if _, err := e.Send(watch, get(e, base)); err == nil {
			t.Error("nothing listens, and there was no error")
		}
		watch.Stop()
		e.Close()
		if !slices.Equal(waits, want) {
			t.Errorf("waited %v, want %v", waits, want)
		}
	}
}

// busy is a server that has no room for an hour.
type busy struct{}

// RoundTrip implements http.RoundTripper.
func (busy) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"9"}},
		Body: http.NoBody, Request: r}, nil
}

// TestStopEndsAWaitBetweenAttemptsAtOnce: on the real wait, by the test's clock.
func TestStopEndsAWaitBetweenAttemptsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := endpoint.New(endpoint.Config{BaseURL: "http://127.0.0.1:1", Model: "m",
			HTTPClient: &http.Client{Transport: busy{}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		watch := e.Watch(ctx)
		defer watch.Stop()
		if _, err = e.Send(watch, get(e, "http://127.0.0.1:1")); err != context.Canceled {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s of nine seconds, stopped after one", took)
		}
	})
}

// FuzzRefusal holds that no refusal, whatever its bytes, shows the key, has a code
// that is not listed, or a sentence that is not one line.
func FuzzRefusal(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"bad key `+testKey+`","type":"invalid_request_error","code":400}}`))
	f.Add(0, []byte(`[{"error":"x"}]`))
	f.Add(529, []byte(`{"type":"error","error":{"type":"overloaded_error","message":"\u0000\n"}}`))
	f.Add(500, []byte(`{"detail":[1],"message":null,"error":{"error":7}}`))
	f.Add(200, []byte("\xff<html>"))
	e, err := endpoint.New(endpoint.Config{BaseURL: "http://127.0.0.1:1", Model: "m", APIKey: llm.NewKey(testKey)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, data []byte) {
		for _, got := range []*llm.Error{e.Refused(endpoint.NewRefusal(status, data)),
			e.Inside(endpoint.NewRefusal(status, data))} {
			if _, listed := packet.Codes[got.Code]; !listed {
				t.Errorf("code %q", got.Code)
			}
			if strings.Contains(got.Message+got.Error(), testKey) || strings.ContainsAny(got.Message, "\n\r\x00") ||
				got.Message == "" {
				t.Errorf("message %q, for the log %q", got.Message, got.Error())
			}
		}
	})
}
