package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"go.etcd.io/bbolt"
)

// PacketEntry is one packet of a run's log.
type PacketEntry struct {
	// Seq is 1, 2, 3 … within an epoch.
	Seq int64
	// JSON is the whole packet.
	JSON []byte
}

// AppendPackets adds packets to the log of a live run and returns when they are
// on disk. Appends of all runs that come within one tick share one fsync. It
// returns a *GapError when the entries do not continue the log one by one,
// ErrEpoch, ErrFinished, ErrNotFound when the run is not there (any more), and
// ErrClosed; nothing of entries is written then. ctx counts until the entries
// are queued; from there the append is waited for, so that its outcome is
// known. The entries must not be changed meanwhile.
func (s *Store) AppendPackets(ctx context.Context, runID string, epoch int64, entries []PacketEntry) error {
	if err := ctx.Err(); err != nil || len(entries) == 0 {
		return err
	}
	return s.commit.append(&appendJob{run: runID, epoch: epoch, entries: entries})
}

// appendPackets checks everything before it writes anything, so that a refused
// append leaves nothing in a transaction that it shares with others.
func appendPackets(tx *bbolt.Tx, runID string, epoch int64, entries []PacketEntry) error {
	run, err := get[Run](tx, tableRuns, runID)
	switch {
	case err == ErrNotFound:
		return notFound("run", runID)
	case err != nil:
		return err
	case run.Epoch != epoch:
		return fmt.Errorf("run %s: epoch %d, not %d: %w", runID, run.Epoch, epoch, ErrEpoch)
	case run.StopReason != "":
		return ErrFinished
	}
	return writePackets(tx, runID, entries)
}

// writePackets adds entries to the log, or nothing if they do not continue it.
func writePackets(tx *bbolt.Tx, runID string, entries []PacketEntry) error {
	last := lastPacket(tx, runID)
	for i, e := range entries {
		if want := last + 1 + int64(i); e.Seq != want {
			return &GapError{Run: runID, Want: want, Got: e.Seq}
		}
	}
	if len(entries) == 0 {
		return nil
	}
	log, err := tablePackets.in(tx).CreateBucketIfNotExists([]byte(runID))
	if err != nil {
		return &writeError{fmt.Errorf("open the log of run %s: %w", runID, err)}
	}
	log.FillPercent = 0.9 // it only grows at its end
	for _, e := range entries {
		if err := log.Put(seqKey(e.Seq), e.JSON); err != nil {
			return &writeError{fmt.Errorf("write packet %d of run %s: %w", e.Seq, runID, err)}
		}
	}
	return nil
}

// writeError is a failure in the middle of writing: the transaction must not be
// committed.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

func seqKey(seq int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(seq)) }

// packetLog returns the log of a run, nil if it has none yet.
func packetLog(tx *bbolt.Tx, runID string) *bbolt.Bucket {
	return tablePackets.in(tx).Bucket([]byte(runID))
}

// lastPacket returns the number of the last packet on disk, 0 if there is none.
func lastPacket(tx *bbolt.Tx, runID string) int64 {
	log := packetLog(tx, runID)
	if log == nil {
		return 0
	}
	k, _ := log.Cursor().Last()
	if len(k) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(k))
}

// deletePackets deletes the log of a run.
func deletePackets(tx *bbolt.Tx, runID string) error {
	if packetLog(tx, runID) == nil {
		return nil
	}
	return tablePackets.in(tx).DeleteBucket([]byte(runID))
}

// Packets returns what is on disk of a run's log after the packet with number
// after: at most limit entries, all if limit is 0. The entries are the caller's.
func (s *Store) Packets(ctx context.Context, p identity.Principal, runID string, after int64, limit int) (epoch int64, entries []PacketEntry, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		run, err := ownRun(tx, p, runID)
		if err != nil {
			return err
		}
		epoch = run.Epoch
		log := packetLog(tx, runID)
		if log == nil || after == math.MaxInt64 {
			return nil
		}
		c := log.Cursor()
		for k, v := c.Seek(seqKey(max(after, 0) + 1)); k != nil; k, v = c.Next() {
			if limit > 0 && len(entries) == limit {
				return nil
			}
			if len(k) != 8 {
				return &RecordError{Table: string(tablePackets), Key: fmt.Sprintf("%s/%x", runID, k), Err: errors.New("its key is not a number")}
			}
			entries = append(entries, PacketEntry{Seq: int64(binary.BigEndian.Uint64(k)), JSON: bytes.Clone(v)})
		}
		return nil
	})
	return epoch, entries, err
}
