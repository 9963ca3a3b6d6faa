// Package runlog is the append-only log of a run: one writer side, any number
// of readers, each with its own cursor. It is the only truth of a run. The
// WebSocket, SSE, the persister and a reloaded browser all read it; a slow or
// vanished reader costs nothing and stops nothing.
//
// Packets come in through Append, which a packet.Emitter calls; entries go out
// through Read. The log lives in memory for as long as the run; a finished run
// is read from the store. It knows nothing of transport or storage.
package runlog

import (
	"context"
	"io"
	"sync"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Entry is one packet of a log with its JSON, which is encoded once for all
// readers. It must not be changed.
type Entry struct {
	Seq    int64
	Packet packet.Packet
	JSON   []byte
}

// Log is the log of one run in one epoch. It is safe for concurrent use.
type Log struct {
	run   string
	epoch int64

	// mu guards what follows.
	mu      sync.Mutex
	entries []Entry
	closed  bool
	// grown is closed and replaced whenever the log grew or was closed.
	grown chan struct{}
}

var _ packet.Sink = (*Log)(nil)

// New returns an empty log. epoch is at least 1.
func New(run string, epoch int64) *Log {
	return &Log{run: run, epoch: epoch, grown: make(chan struct{})}
}

// Run returns the id of the run.
func (l *Log) Run() string { return l.run }

// Epoch returns the epoch.
func (l *Log) Epoch() int64 { return l.epoch }

// Append implements packet.Sink. After Close it does nothing: whatever a
// cancelled worker still says comes too late. A payload that cannot be encoded
// is a fault of the host; it becomes a notice with code internal, so that the
// numbering stays whole.
func (l *Log) Append(place packet.Placement, obj packet.Obj) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	p := packet.Packet{Run: l.run, Epoch: l.epoch, Seq: int64(len(l.entries)) + 1, Placement: place, Obj: obj}
	data, err := p.MarshalJSON()
	if err != nil {
		p.Obj = packet.NewNotice(packet.CodeInternal, "")
		data, _ = p.MarshalJSON() // a notice of two strings always encodes
	}
	l.entries = append(l.entries, Entry{Seq: p.Seq, Packet: p, JSON: data})
	l.wake()
}

// Close ends the log. Readers get what is left and then io.EOF.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.wake()
	}
}

// wake lets every waiting reader look again. The caller holds mu.
func (l *Log) wake() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// Last returns the seq of the newest entry, 0 for an empty log.
func (l *Log) Last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.entries))
}

// Closed tells whether the log has ended.
func (l *Log) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Read returns all entries with a seq greater than after, and waits for one if
// there is none. It returns io.EOF when the log has ended and nothing is left,
// and ctx.Err() when ctx is done first. The slice belongs to the log and must
// not be changed.
func (l *Log) Read(ctx context.Context, after int64) ([]Entry, error) {
	for {
		l.mu.Lock()
		entries, closed, grown := l.entries, l.closed, l.grown
		l.mu.Unlock()
		if after < int64(len(entries)) {
			from := max(after, 0)
			return entries[from:len(entries):len(entries)], nil
		}
		if closed {
			return nil, io.EOF
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
