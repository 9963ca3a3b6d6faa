package store

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// BenchmarkAppend compares ways to put the packets of 64 live runs on disk, four
// packets an append.
func BenchmarkAppend(b *testing.B) {
	const streams = 64
	for _, way := range []struct {
		name   string
		tick   time.Duration
		append func(s *Store, run string, entries []PacketEntry) error
	}{
		{"fsync-each", -1, func(s *Store, run string, entries []PacketEntry) error {
			return s.db.Update(func(tx kv.Tx) error { return appendPackets(tx, run, 1, entries) })
		}},
		{"bbolt-batch", -1, func(s *Store, run string, entries []PacketEntry) error {
			return s.db.Batch(func(tx kv.Tx) error { return appendPackets(tx, run, 1, entries) })
		}},
		{"group", -1, func(s *Store, run string, entries []PacketEntry) error {
			return s.AppendPackets(context.Background(), run, 1, entries)
		}},
		{"group-tick", DefaultCommitInterval, func(s *Store, run string, entries []PacketEntry) error {
			return s.AppendPackets(context.Background(), run, 1, entries)
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			s, err := Open(filepath.Join(b.TempDir(), "bulkhead.db"), Options{CommitInterval: way.tick})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			runs := benchRuns(b, s, streams)
			var next, left atomic.Int64
			left.Store(int64(b.N))
			before := commits(b, s)
			b.ResetTimer()
			done := make(chan error, streams)
			for range streams {
				go func() {
					run := runs[next.Add(1)-1]
					var err error
					for seq := int64(1); err == nil && left.Add(-1) >= 0; seq += 4 {
						err = way.append(s, run, packetsFrom(run, seq, 4))
					}
					done <- err
				}()
			}
			for range streams {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			b.ReportMetric(float64(commits(b, s)-before)/float64(b.N), "commits/append")
		})
	}
}

func benchRuns(b *testing.B, s *Store, n int) []string {
	b.Helper()
	owner, _, err := s.EnsureOwner(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var runs []string
	for i := range n {
		begun, err := s.BeginRun(b.Context(), owner.Principal(identity.Command), BeginRun{Text: fmt.Sprint(i), Models: []string{"m"}})
		if err != nil {
			b.Fatal(err)
		}
		runs = append(runs, begun.Run.ID)
	}
	return runs
}

// commits returns how many transactions were ever committed.
func commits(b *testing.B, s *Store) (n int) {
	b.Helper()
	err := s.view(b.Context(), func(tx kv.Tx) error {
		n = tx.ID()
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
