package knowledge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/knowledge"
)

// prose makes a Markdown document of n paragraphs from a vocabulary with the
// uneven frequencies that words have.
func prose(r *rand.Rand, n int) string {
	zipf := rand.NewZipf(r, 1.1, 4, 20_000)
	var b strings.Builder
	for p := range n {
		if p%4 == 0 {
			fmt.Fprintf(&b, "## Section %d\n\n", p)
		}
		for range 80 {
			fmt.Fprintf(&b, "word%d ", zipf.Uint64())
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

func BenchmarkAdd(b *testing.B) {
	h := newHouse(b)
	r := rand.New(rand.NewPCG(1, 2))
	text := prose(r, 20)
	b.SetBytes(int64(len(text)))
	i := 0
	for b.Loop() {
		i++
		h.add(h.ann, fmt.Sprintf("%d.md", i), fmt.Sprintf("# Number %d\n\n", i)+text)
	}
}

func BenchmarkSearch(b *testing.B) {
	h := newHouse(b)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		h.add(h.ann, fmt.Sprintf("%d.md", i), prose(r, 40))
	}
	for b.Loop() {
		hits, err := h.base.Search(b.Context(), h.ann, knowledge.Query{Text: "word3 word17 word120 and word900?"})
		if err != nil || len(hits) == 0 {
			b.Fatal(len(hits), err)
		}
	}
}
