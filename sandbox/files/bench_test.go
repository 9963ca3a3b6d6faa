//go:build unix

package files_test

import (
	"fmt"
	"testing"

	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// BenchmarkOpenKept opens a folder with as many small files as its quota allows by default,
// and closes it: what a kept workspace adds to each call.
func BenchmarkOpenKept(b *testing.B) {
	for _, n := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k := files.NewKept(b.TempDir(), noon)
			w, done, err := k.Open(b.Context(), "p", "u", 64<<20, freely)
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if err := put(w, fmt.Sprint(i), "text"); err != nil {
					b.Fatal(err)
				}
			}
			if err := done(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				_, done, err := k.Open(b.Context(), "p", "u", 64<<20, freely)
				if err != nil {
					b.Fatal(err)
				}
				if err := done(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
