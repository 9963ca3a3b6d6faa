package main

import (
	"cmp"
	"slices"
	"strings"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

const (
	// maxAlike is how many similar memories are named.
	maxAlike = 3
	// minAlike is the similarity from which one is named, 0 to 1.
	minAlike = 0.5
)

// closest returns the memories most like a text, the most alike first.
func closest(text string, known []pdk.Memory) []pdk.Memory {
	type scored struct {
		memory pdk.Memory
		score  float64
	}
	var list []scored
	of := trigrams(text)
	for _, m := range known {
		if s := dice(of, trigrams(m.Text)); s >= minAlike {
			list = append(list, scored{m, s})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []pdk.Memory
	for _, s := range list[:min(len(list), maxAlike)] {
		out = append(out, s.memory)
	}
	return out
}

// trigrams is the set of three characters in a row of the normal form.
func trigrams(text string) map[[3]rune]bool {
	runes := []rune(" " + strings.Join(normal(text), " ") + " ")
	set := map[[3]rune]bool{}
	for i := 0; i+3 <= len(runes); i++ {
		set[[3]rune(runes[i:i+3])] = true
	}
	return set
}

// dice is the similarity of Dice and Sørensen: twice what both have over what
// each has.
func dice(a, b map[[3]rune]bool) float64 {
	both := 0
	for t := range a {
		if b[t] {
			both++
		}
	}
	if len(a)+len(b) == 0 {
		return 0
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}
