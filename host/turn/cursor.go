package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
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

	log *journal.Log
}

// Open returns a cursor after a place in a run's packets. epoch 0 means whichever
// there is. A run that is not p's is unknown_run.
func (s *Service) Open(ctx context.Context, p identity.Principal, run string, epoch, after int64) (*Cursor, error) {
	if _, live := s.find(p, identity.ReadRun, run); !live {
		if _, err := s.cfg.Records.Runs.Get(ctx, p, run); err != nil {
			return nil, s.fault(err, CodeUnknownRun)
		}
	}
	log, err := s.cfg.Journal.Open(ctx, run)
	if errors.Is(err, journal.ErrNotFound) { // nothing of it was kept
		log = journal.New(run, max(epoch, 1))
		log.Close()
	} else if err != nil {
		return nil, s.fault(fmt.Errorf("read the journal of run %s: %w", run, err), CodeInternal)
	}
	c := &Cursor{log: log}
	c.seek(log.Epoch(), epoch, after)
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
func (c *Cursor) Next(ctx context.Context) ([]journal.Entry, error) {
	entries, err := c.log.Read(ctx, c.After)
	if err != nil {
		return nil, err
	}
	c.After = entries[len(entries)-1].Seq
	return entries, nil
}
