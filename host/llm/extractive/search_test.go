package extractive

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// documents cuts the Markdown files of testdata at their headings.
func documents(t *testing.T) []passage {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	var out []passage
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, cutAtHeadings(i+1, string(data))...)
	}
	return out
}

func cutAtHeadings(ref int, text string) []passage {
	var out []passage
	p, fence := passage{Ref: ref}, false
	flush := func() {
		if strings.TrimSpace(p.Content) != "" {
			out = append(out, p)
		}
		p.Content = ""
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fence = !fence
		}
		if fence || !strings.HasPrefix(line, "#") {
			p.Content += line
			continue
		}
		flush()
		name := strings.TrimSpace(strings.TrimLeft(line, "#"))
		if strings.HasPrefix(line, "# ") {
			p.Title = name
		}
		p.Section = name
	}
	flush()
	return out
}

// find ranks passages as a search by terms does and returns the best eight.
func find(query string, all []passage) []passage {
	want := questionTerms(query)
	sets := make([][]string, len(all))
	have := map[string]float64{}
	for i, p := range all {
		sets[i] = terms(p.Title + " " + p.Section + " " + p.Content)
		for _, q := range want {
			if slices.ContainsFunc(sets[i], func(t string) bool { return alike(q, t) > 0 }) {
				have[q]++
			}
		}
	}
	score := make(map[int]float64)
	var order []int
	for i, set := range sets {
		for _, q := range want {
			var tf float64
			for _, t := range set {
				tf += alike(q, t)
			}
			score[i] += math.Log(1+(float64(len(all))-have[q]+0.5)/(have[q]+0.5)) * tf * 2.2 / (tf + 0.3 +
				0.003*float64(len(set)))
		}
		if score[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return 0
	})
	out := []passage{}
	for _, i := range order[:min(8, len(order))] {
		out = append(out, all[i])
	}
	return out
}
