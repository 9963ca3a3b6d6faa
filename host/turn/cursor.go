package turn

import (
	"context"
	"fmt"
	"io"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/runlog"
)

// Cursor reads a run's log, live or stored, from one place on. It is not safe
// for concurrent use and needs no closing.
type Cursor struct {
	// Epoch is the epoch that is read.
	Epoch int64
	// Reset says that the reader asked for another epoch and gets everything of
	// this one from seq 1.
	Reset bool
	// After is the seq of the last entry that was handed out.
	After int64

	log    *runlog.Log
	stored []runlog.Entry
}

// Open returns a cursor after a place in a run's log. epoch 0 means whichever
// there is. A run that is not p's is unknown_run.
func (s *Service) Open(ctx context.Context, p identity.Principal, run string, epoch, after int64) (*Cursor, error) {
	if l, ok := s.find(p, identity.ReadRun, run); ok {
		c := &Cursor{log: l.log}
		c.seek(l.log.Epoch(), epoch, after)
		return c, nil
	}
	record, err := s.Store.Run(ctx, p, run)
	if err != nil {
		return nil, s.fault(err, CodeUnknownRun)
	}
	if l, ok := s.find(p, identity.ReadRun, run); ok { // it began between the two looks
		c := &Cursor{log: l.log}
		c.seek(l.log.Epoch(), epoch, after)
		return c, nil
	}
	c := &Cursor{}
	c.seek(record.Epoch, epoch, after)
	_, entries, err := s.Store.Packets(ctx, p, run, c.After, 0)
	if err != nil {
		return nil, s.fault(err, CodeUnknownRun)
	}
	for _, e := range entries {
		var decoded packet.Packet
		if err := decoded.UnmarshalJSON(e.JSON); err != nil {
			return nil, s.fault(fmt.Errorf("stored packet %d of run %s: %w", e.Seq, run, err), CodeInternal)
		}
		c.stored = append(c.stored, runlog.Entry{Seq: e.Seq, Packet: decoded, JSON: e.JSON})
	}
	return c, nil
}

func (c *Cursor) seek(have, asked, after int64) {
	c.Epoch, c.After = have, max(after, 0)
	if asked != 0 && asked != have {
		c.Reset, c.After = true, 0
	}
}

// Next returns the entries that follow, at least one, and waits for them while
// the run is live. It returns io.EOF after the last, and ctx.Err() when ctx is
// done first.
func (c *Cursor) Next(ctx context.Context) ([]runlog.Entry, error) {
	entries := c.stored
	c.stored = nil
	if c.log != nil {
		var err error
		if entries, err = c.log.Read(ctx, c.After); err != nil {
			return nil, err
		}
	}
	if len(entries) == 0 {
		return nil, io.EOF
	}
	c.After = entries[len(entries)-1].Seq
	return entries, nil
}
