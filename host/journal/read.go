package journal

import (
	"context"
	"io"
	"iter"
)

// Read returns all packets with a seq greater than after, and waits for one if
// there is none. It returns io.EOF when the log has ended and nothing is left,
// and ctx.Err() when ctx is done first. The slice belongs to the log and must
// not be changed.
func (l *Log) Read(ctx context.Context, after int64) ([]Entry, error) {
	for {
		l.mu.Lock()
		if entries := l.packed; after < int64(len(entries)) {
			l.mu.Unlock()
			from := max(after, 0)
			return entries[from:len(entries):len(entries)], nil
		}
		if l.closed {
			l.mu.Unlock()
			return nil, io.EOF
		}
		grown := l.more()
		l.mu.Unlock()
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
			closed, grown := l.closed, (<-chan struct{})(nil)
			if l.mark == at && !closed {
				grown = l.more()
			}
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
			switch {
			case moved:
				continue
			case closed:
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

// stored is the encoding, without the first brace of a packet's.
func (i item) stored() []byte {
	if i.entry != nil {
		return i.entry.JSON[i.entry.at:]
	}
	return i.fact.data
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

// First returns the first fact of a type in a log, false where there is none.
func First[F Fact](log *Log) (F, bool) {
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, p := range log.facts {
		if f, ok := p.fact.(F); ok {
			return f, true
		}
	}
	var none F
	return none, false
}
