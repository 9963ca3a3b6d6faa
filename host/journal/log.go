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
	// frozen says that the log is about to end: only its last records are taken.
	frozen bool
	// damage says what could not be read of a stored log; it is set before anybody
	// else has the log.
	damage []error
	// grown is closed once the log grew or was closed; nil where nobody waits.
	grown chan struct{}
	// dirty is told that there is more to make durable; nil for nobody.
	dirty func()
}

// mark is a place in a log: how many packets and facts stand before it.
type mark struct{ packets, facts int }

func (m mark) position() int64 { return int64(m.packets + m.facts) }

// reaches tells whether everything before other stands before m.
func (m mark) reaches(other mark) bool { return m.packets >= other.packets && m.facts >= other.facts }

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
	return &Log{run: run, epoch: epoch, head: headOf(run, epoch)}
}

// Run returns the id of the run.
func (l *Log) Run() string { return l.run }

// Epoch returns the epoch.
func (l *Log) Epoch() int64 { return l.epoch }

// Append implements packet.Sink. After Close it does nothing: whatever a
// cancelled worker still says comes too late.
func (l *Log) Append(place packet.Placement, obj packet.Obj) { l.add(Packet(place, obj)) }

// add appends records, all or, where the log takes none any more, none, and
// returns where the log stands then.
func (l *Log) add(records ...Record) (mark, bool) {
	l.mu.Lock()
	if l.closed || l.frozen {
		at := l.mark
		l.mu.Unlock()
		return at, false
	}
	for i := range records {
		l.put(&records[i])
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
func (l *Log) put(r *Record) {
	switch {
	case r.Obj != nil || r.Fact == nil && r.Damaged == nil:
		p, json, at := l.encode(r)
		l.putPacket(p, json, at)
	case r.Fact == nil:
		l.putFact(placed{damaged: r.Damaged})
	case r.stored != nil:
		l.putFact(placed{fact: r.Fact, data: r.stored})
	default:
		fact, data := encodeFact(r.Fact)
		l.putFact(placed{fact: fact, data: data})
	}
}

func (l *Log) putFact(f placed) {
	f.after = len(l.packed)
	l.facts = append(l.facts, f)
	l.mark.facts++
}

func (l *Log) putPacket(p packet.Packet, json []byte, at int) {
	p.Run, p.Epoch, p.Seq = l.run, l.epoch, int64(len(l.packed))+1
	l.packed = append(l.packed, Entry{Seq: p.Seq, Packet: p, JSON: json, at: at})
	l.mark.packets++
}

// tell sets who is told that there is more to make durable.
func (l *Log) tell(dirty func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirty = dirty
}

// freeze takes no more records until thaw, and returns what can be read of those
// that are there, with their encodings, and where they end.
func (l *Log) freeze() (records []Record, end mark) {
	l.mu.Lock()
	l.frozen = true
	l.mu.Unlock()
	items, end := l.since(mark{})
	records = make([]Record, 0, end.position())
	for i := range items {
		if r := i.record(); r.Damaged == nil {
			r.stored = i.stored()
			records = append(records, r)
		}
	}
	return records, end
}

func (l *Log) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = false
}

// end appends the last records, unless the log was closed, and closes it. Nobody
// makes them durable.
func (l *Log) end(records ...Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for i := range records {
		l.put(&records[i])
	}
	l.closed = true
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
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// more is closed when the log grew or was closed. The caller holds mu.
func (l *Log) more() <-chan struct{} {
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return l.grown
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
