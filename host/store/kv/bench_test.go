package kv

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkWrite compares ways to put small records into a file, from one and from ten
// goroutines: each in a transaction of its own, with an fsync under bbolt's lock, and
// together.
func BenchmarkWrite(b *testing.B) {
	for _, workers := range []int{1, 10} {
		for _, way := range []string{"Update", "Commit"} {
			b.Run(fmt.Sprintf("%s-by-%d", way, workers), func(b *testing.B) {
				commits := 0 // the writer alone counts
				db := openBolt(b, func(before bool) error {
					if !before {
						commits++
					}
					return nil
				})
				defer func() { _ = db.Close() }()
				value := make([]byte, 200)
				var wg sync.WaitGroup
				b.ResetTimer()
				for w := range workers {
					wg.Go(func() {
						for i := w; i < b.N; i += workers {
							key := fmt.Sprintf("%09d", i)
							put := func(tx Tx) error { return tx.Put("a", key, value) }
							if err := ways[way](db, b.Context(), put); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
				b.ReportMetric(float64(commits)/float64(b.N), "commits/write")
			})
		}
	}
}
