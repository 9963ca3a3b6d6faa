//go:build !race

package knowledge_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/knowledge"
)

// Floors of TestCranfield, a little below what was measured (RATIONALE.md).
const (
	floorNDCG = 0.37
	floorMAP  = 0.31
)

// TestCranfield measures the ranking on a classic test collection: it is a sanity
// check that tells a broken ranking from a working one. It is left out under the
// race detector, which makes it ten times slower; task test runs it by itself.
func TestCranfield(t *testing.T) {
	dir := filepath.Join(os.Getenv("BULKHEAD_SHARED_DATA"), "cranfield")
	if os.Getenv("BULKHEAD_SHARED_DATA") == "" {
		t.Log("NOT RUN: BULKHEAD_SHARED_DATA does not name a folder with the Cranfield collection; the ranking was " +
			"not measured")
		return
	}
	docs, questions, grades := cranfield(t, dir)
	if len(docs) != 1400 || len(questions) != 225 {
		t.Fatalf("%d documents and %d questions; the collection has 1400 and 225", len(docs), len(questions))
	}
	h := newHouse(t)
	number := map[string]int{}
	for _, d := range docs {
		number[h.add(h.ann, d.id+".md", "# "+d.title+"\n\n"+d.text+"\n").ID], _ = strconv.Atoi(d.id)
	}
	var ndcg, mean float64
	for i, q := range questions {
		hits, err := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: q.text, Limit: knowledge.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		var ranked []int
		seen := map[int]bool{}
		for _, x := range hits {
			if n := number[x.DocumentID]; !seen[n] {
				seen[n] = true
				ranked = append(ranked, n)
			}
		}
		ndcg += ndcgAt10(ranked, grades[i+1])
		mean += averagePrecision(ranked, grades[i+1])
	}
	n := float64(len(questions))
	t.Logf("Cranfield: nDCG@10 %.4f, MAP@100 %.4f", ndcg/n, mean/n)
	if ndcg/n < floorNDCG || mean/n < floorMAP {
		t.Errorf("below the floors of %.2f and %.2f", floorNDCG, floorMAP)
	}
}

// gain turns Cranfield's grades (1 best to 4; others are not relevant) around.
func gain(grade int) float64 {
	if grade < 1 || grade > 4 {
		return 0
	}
	return float64(5 - grade)
}

func ndcgAt10(ranked []int, grades map[int]int) float64 {
	var ideal []int
	for g := 1; g <= 4; g++ {
		for _, x := range grades {
			if x == g {
				ideal = append(ideal, g)
			}
		}
	}
	var got, best float64
	for i := range 10 {
		discount := math.Log2(float64(i) + 2)
		if i < len(ranked) {
			got += gain(grades[ranked[i]]) / discount
		}
		if i < len(ideal) {
			best += gain(ideal[i]) / discount
		}
	}
	if best == 0 {
		return 0
	}
	return got / best
}

func averagePrecision(ranked []int, grades map[int]int) float64 {
	relevant, found, sum := 0, 0, 0.0
	for _, g := range grades {
		if gain(g) > 0 {
			relevant++
		}
	}
	for i, d := range ranked {
		if gain(grades[d]) > 0 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	if relevant == 0 {
		return 0
	}
	return sum / float64(relevant)
}

type cranRecord struct{ id, title, text string }

// cranfield reads the collection: records of ".I number" with fields ".T", ".A",
// ".B" and ".W", and judgements of question, 0, document and grade.
func cranfield(t *testing.T, dir string) (docs, questions []cranRecord, grades map[int]map[int]int) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	records := func(text string) (out []cranRecord) {
		field := ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			if id, ok := strings.CutPrefix(line, ".I "); ok {
				out = append(out, cranRecord{id: strings.TrimSpace(id)})
				continue
			}
			if len(line) == 2 && line[0] == '.' {
				field = line
				continue
			}
			r := &out[len(out)-1]
			switch field {
			case ".T":
				r.title = strings.TrimSpace(r.title + " " + line)
			case ".W":
				r.text = strings.TrimSpace(r.text + "\n" + line)
			}
		}
		return out
	}
	grades = map[int]map[int]int{}
	for line := range strings.Lines(read("cranqrel")) {
		var q, zero, d, g int
		if n, _ := fmt.Sscan(line, &q, &zero, &d, &g); n == 4 {
			if grades[q] == nil {
				grades[q] = map[int]int{}
			}
			grades[q][d] = g
		}
	}
	return records(read("cran.all.1400")), records(read("cran.qry")), grades
}
