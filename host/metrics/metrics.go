// Package metrics counts what the host does, for a Prometheus server to read.
//
// Packets of runs come in, read from their logs like any other reader does, and
// what the door counts of connections and requests; the text of Prometheus'
// exposition format goes out. It decides nothing, keeps no text of a
// conversation, and must not know how a run works. Names that a model or a
// client chose never become labels, so that nobody outside can grow the set.
package metrics

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
)

// seconds are the upper bounds of a histogram of times.
var seconds = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// Set is the metrics of one host. Make one with New. It is safe for concurrent
// use.
type Set struct {
	set *vm.Set
	now func() time.Time
	// packets is at hand because it counts the most.
	packets *vm.Counter
	// in and out are the bytes that went through the door.
	in, out *vm.Counter

	mu sync.Mutex // guards runs
	// runs are those that began and did not end.
	runs map[string]*run
}

// New returns an empty set; now is the clock, time.Now if nil.
func New(now func() time.Time) *Set {
	if now == nil {
		now = time.Now
	}
	set := vm.NewSet()
	s := &Set{set: set, now: now, runs: map[string]*run{}, packets: set.NewCounter("bulkhead_packets_total"),
		in:  set.NewCounter(`bulkhead_bytes_total{direction="in"}`),
		out: set.NewCounter(`bulkhead_bytes_total{direction="out"}`)}
	s.set.NewGauge("bulkhead_runs_live", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(len(s.runs))
	})
	return s
}

// Gauge adds a figure that is asked for whenever the metrics are read. The name
// is "bulkhead_" and name; it is added once.
func (s *Set) Gauge(name string, value func() float64) {
	s.set.NewGauge("bulkhead_"+name, value)
}

// Request counts a request over HTTP that was answered.
func (s *Set) Request(method string, status int, took time.Duration) {
	class := strconv.Itoa(status/100) + "xx"
	s.add("http_requests_total", 1, "method", known(method, methods), "status", class)
	s.observe("http_request_seconds", took.Seconds())
}

// methods are those that have a label of their own.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true,
	"OPTIONS": true}

// Received counts bytes that came from a client.
func (s *Set) Received(n int) { s.in.Add(n) }

// Sent counts bytes that went to a client.
func (s *Set) Sent(n int) { s.out.Add(n) }

// Write writes all metrics, those of the process and of Go too.
func (s *Set) Write(w io.Writer) {
	s.set.WritePrometheus(w)
	vm.WriteProcessMetrics(w)
}

// add adds n to a counter; labels are pairs.
func (s *Set) add(name string, n int64, labels ...string) {
	if n > 0 {
		s.set.GetOrCreateCounter(series(name, labels)).AddInt64(n)
	}
}

// observe adds a value to a histogram of seconds; labels are pairs.
func (s *Set) observe(name string, value float64, labels ...string) {
	s.set.GetOrCreatePrometheusHistogramExt(series(name, labels), seconds).Update(value)
}

// series is the name of a series with its labels.
func series(name string, labels []string) string {
	text := []byte("bulkhead_" + name)
	for i := 0; i+1 < len(labels); i += 2 {
		open := ","
		if i == 0 {
			open = "{"
		}
		text = fmt.Appendf(text, "%s%s=%q", open, labels[i], plain(labels[i+1]))
	}
	if len(labels) > 0 {
		text = append(text, '}')
	}
	return string(text)
}

// maxLabelBytes bounds a label's value.
const maxLabelBytes = 80

// plain leaves of a label's value what needs no quoting.
func plain(value string) string {
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value) && len(out) < maxLabelBytes; i++ {
		c := value[i]
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			c = '_'
		}
		out = append(out, c)
	}
	return string(out)
}

// known is value where it is one of those, else "other".
func known(value string, of map[string]bool) string {
	if of[value] {
		return value
	}
	return "other"
}
