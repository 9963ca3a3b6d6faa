package turn

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// retryPause is how long a run waits before it tries again to write its end.
const retryPause = time.Second

// conclude makes the end durable, then lets go of the run. The run's stop goes out
// only when its end is on disk: who saw the stop finds the answer in the store.
func (w *worker) conclude(outcomes []outcome) {
	run, reason := w.log.Run(), runReason(outcomes)
	if err := w.keep(reason); err != nil {
		w.service.cfg.Logger.Error("the end of a run was not persisted", "run", run, "error", err)
		if errors.Is(err, store.ErrNotFound) { // it was deleted
			w.lease.Abandon()
		} else {
			w.lease.Release()
		}
	}
	w.service.mu.Lock()
	delete(w.service.live, run)
	w.service.mu.Unlock()
	close(w.done)
	w.service.cfg.Logger.Info("a run ended", "run", run, "session", w.session, "reason", reason)
	w.service.cfg.Changed(w.owner, w.session)
}

// keep writes the end. While the disk does not take it, the run stays live and holds
// what it has, and keep tries again. It gives up when the run's record is gone, and
// when the service closes: the next start then ends the run.
func (w *worker) keep(reason packet.StopReason) error {
	for told := false; ; told = true {
		ending := w.lease.Seal(false,
			journal.Packet(packet.At(0, 0), packet.Stop{Reason: reason}),
			journal.Of(journal.End{Reason: string(reason)}))
		err := w.service.end(context.Background(), w.setup.begun.Run, ending)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrFinished):
			return err
		}
		if !told {
			w.lease.Trouble(err)
		}
		select {
		case <-w.service.cfg.After(retryPause):
		case <-w.service.quit:
			return err
		}
	}
}

// observe shows the packets of a log to Observe until the log ends, which closes
// the channel.
func (s *Service) observe(log *journal.Log) <-chan struct{} {
	ended := make(chan struct{})
	if s.cfg.Observe == nil {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		for last := int64(0); ; {
			entries, err := log.Read(context.Background(), last)
			if err != nil {
				return
			}
			for _, e := range entries {
				s.cfg.Observe(e.Packet)
			}
			last = entries[len(entries)-1].Seq
		}
	}()
	return ended
}
