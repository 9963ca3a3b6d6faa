package egresstest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Meeting is a server that answers nobody before a number of requests are there
// at once: a test of what asks side by side, without a clock.
type Meeting struct {
	server *httptest.Server
	all    sync.WaitGroup
}

// NewMeeting starts a Meeting of n requests. The caller closes it.
func NewMeeting(n int) *Meeting {
	m := &Meeting{}
	m.all.Add(n)
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.all.Done()
		met := make(chan struct{})
		go func() { // it ends when all are there, or never in a test that fails
			m.all.Wait()
			close(met)
		}()
		select {
		case <-met:
			io.WriteString(w, Text) //nolint:errcheck // the client may be gone
		case <-r.Context().Done():
		}
	}))
	return m
}

// Host is the server's host and port.
func (m *Meeting) Host() string { return strings.TrimPrefix(m.server.URL, "http://") }

// Close stops the server.
func (m *Meeting) Close() { m.server.Close() }
