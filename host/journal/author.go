package journal

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Author writes the facts of one model's answer. It is a small value to pass by
// copy, and safe for concurrent use. The zero Author discards.
type Author struct {
	lease *Lease
	model int
}

// Author returns who writes for a model, by its index.
func (l *Lease) Author(model int) Author { return Author{lease: l, model: model} }

// Step records what a model said, with the results of calls that were never run.
func (a Author) Step(s Step, done ...CallDone) {
	if a.lease == nil {
		return
	}
	s.Model = a.model
	records := []Record{Of(s)}
	for _, d := range done {
		d.Model = a.model
		records = append(records, Of(d))
	}
	a.lease.Record(records...)
}

// Note records what the host told the model.
func (a Author) Note(text string) {
	if a.lease != nil {
		a.lease.Record(Of(Note{Model: a.model, Text: text}))
	}
}

// CallStarted records that a call begins. Where it writes, it returns once that
// is durable, so that no crash makes it run twice; an error says that it must not
// run: ctx is done, or the lease has ended.
func (a Author) CallStarted(ctx context.Context, f CallStarted) error {
	if a.lease == nil {
		return nil
	}
	f.Model = a.model
	at := a.lease.Record(Of(f))
	if !f.Writes {
		return nil
	}
	return at.Durable(ctx)
}

// CallDone records the end of a call in one: what a person sees of it, at place,
// and what the model reads. held tells that the call waits for its answer to be
// selected.
func (a Author) CallDone(place packet.Placement, shown []packet.Obj, done CallDone, held bool) {
	if a.lease == nil {
		return
	}
	place.ModelIndex, done.Model = &a.model, a.model
	var records []Record
	for _, obj := range shown {
		records = append(records, Packet(place, obj))
	}
	records = append(records, Of(done))
	if held {
		records = append(records, Of(Held{Model: a.model, CallID: done.CallID}))
	}
	a.lease.Record(records...)
}
