// Package journal keeps the record of a run: one append-only sequence of packets,
// which clients see, and facts, which say in the words of the loop what happened.
// It is the only truth of a run, for those who watch it and for the host that
// carries it on: history, taint, recovery and what an answer holds are folds over
// it.
//
// Records come in through a Lease, which makes its holder the run's only writer;
// entries and facts go out to any number of readers, who cost nothing and stop
// nothing. The format on disk, its checksums and the group commit are here;
// host/store/kv provides the transactions. It must not know transports, models'
// providers, tools or the tree of messages.
package journal

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Entry is one packet of a log with its JSON, which is encoded once for all
// readers. It must not be changed.
type Entry struct {
	Seq    int64
	Packet packet.Packet
	JSON   []byte
	// at is where the body of the packet begins in JSON.
	at int
}

// Log is the records of one run in one epoch, in memory: of a live run as it
// grows, of one that ended as they were stored. It is safe for concurrent use.
type Log struct {
	run   string
	epoch int64
	head  string

	// mu guards what follows.
	mu     sync.Mutex
	mark   mark
	packed []Entry
	facts  []placed
	closed bool
	// damage says what could not be read of a stored log; it is set before anybody
	// else has the log.
	damage []error
	// grown is closed and replaced whenever the log grew or was closed.
	grown chan struct{}
	// dirty is told that there is more to make durable; nil for nobody.
	dirty func()
}

// mark is a place in a log: how many packets and facts stand before it.
type mark struct{ packets, facts int }

func (m mark) position() int64 { return int64(m.packets + m.facts) }

// placed is a fact, or a record that cannot be read, and how many packets stand
// before it.
type placed struct {
	after   int
	fact    Fact
	data    []byte
	damaged error
}

var _ packet.Sink = (*Log)(nil)

// New returns an empty log that nobody makes durable. epoch is at least 1.
func New(run string, epoch int64) *Log {
	return &Log{run: run, epoch: epoch, head: headOf(run, epoch), grown: make(chan struct{})}
}

// Run returns the id of the run.
func (l *Log) Run() string { return l.run }

// Epoch returns the epoch.
func (l *Log) Epoch() int64 { return l.epoch }

// Append implements packet.Sink. After Close it does nothing: whatever a
// cancelled worker still says comes too late.
func (l *Log) Append(place packet.Placement, obj packet.Obj) { l.add(Packet(place, obj)) }

// add appends records, all or, after Close, none, and returns where the log
// stands then.
func (l *Log) add(records ...Record) (mark, bool) {
	l.mu.Lock()
	if l.closed {
		at := l.mark
		l.mu.Unlock()
		return at, false
	}
	for _, r := range records {
		l.put(r)
	}
	l.wake()
	at, dirty := l.mark, l.dirty
	l.mu.Unlock()
	if dirty != nil {
		dirty()
	}
	return at, true
}

// put appends one record. The caller holds mu.
func (l *Log) put(r Record) {
	if r.Fact != nil || r.Damaged != nil {
		var data []byte
		if r.Fact != nil {
			data = encodeFact(r.Fact)
		}
		l.facts = append(l.facts, placed{after: len(l.packed), fact: r.Fact, data: data, damaged: r.Damaged})
		l.mark.facts++
		return
	}
	obj, data := encodePacket(r.Place, r.Obj)
	l.putPacket(r.Place, obj, data)
}

func (l *Log) putPacket(place packet.Placement, obj packet.Obj, data []byte) {
	seq := int64(len(l.packed)) + 1
	whole, at := wire(l.head, seq, data)
	p := packet.Packet{Run: l.run, Epoch: l.epoch, Seq: seq, Placement: place, Obj: obj}
	l.packed = append(l.packed, Entry{Seq: seq, Packet: p, JSON: whole, at: at})
	l.mark.packets++
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

// Last returns the number of the newest packet, 0 where there is none.
func (l *Log) Last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.packed))
}

// Closed tells whether the log has ended.
func (l *Log) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Read returns all packets with a seq greater than after, and waits for one if
// there is none. It returns io.EOF when the log has ended and nothing is left,
// and ctx.Err() when ctx is done first. The slice belongs to the log and must
// not be changed.
func (l *Log) Read(ctx context.Context, after int64) ([]Entry, error) {
	for {
		l.mu.Lock()
		entries, closed, grown := l.packed, l.closed, l.grown
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

// Records yields what the log holds by now, packets and facts in their order.
func (l *Log) Records() iter.Seq[Record] {
	records, _ := l.since(mark{})
	return func(yield func(Record) bool) {
		for r := range records {
			if !yield(r.record()) {
				return
			}
		}
	}
}

// follow yields the records after a position and, until the log ends, those to
// come. Its error is ctx.Err().
func (l *Log) follow(ctx context.Context, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var at mark
		for {
			l.mu.Lock()
			closed, grown := l.closed, l.grown
			l.mu.Unlock()
			records, end := l.since(at)
			skip := after - at.position()
			for r := range records {
				if skip--; skip >= 0 {
					continue
				}
				if !yield(r.record(), nil) {
					return
				}
			}
			moved := end != at
			at, after = end, max(after, end.position())
			if moved {
				continue
			}
			if closed {
				return
			}
			select {
			case <-grown:
			case <-ctx.Done():
				yield(Record{}, ctx.Err())
				return
			}
		}
	}
}

// item is one record of a log with its encoding.
type item struct {
	entry *Entry
	fact  *placed
}

func (i item) record() Record {
	if i.entry != nil {
		p := i.entry.Packet
		return Record{Place: p.Placement, Obj: p.Obj, Seq: i.entry.Seq, JSON: i.entry.JSON}
	}
	return Record{Fact: i.fact.fact, Damaged: i.fact.damaged}
}

// since yields what stands behind a mark, in order, and returns where that ends.
func (l *Log) since(from mark) (iter.Seq[item], mark) {
	l.mu.Lock()
	packed, facts, end := l.packed, l.facts, l.mark
	l.mu.Unlock()
	return func(yield func(item) bool) {
		p, f := from.packets, from.facts
		for p < end.packets || f < end.facts {
			if f < end.facts && facts[f].after <= p {
				if !yield(item{fact: &facts[f]}) {
					return
				}
				f++
				continue
			}
			if !yield(item{entry: &packed[p]}) {
				return
			}
			p++
		}
	}, end
}
