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

// scored is a memory and how alike it is, 0 to 1.
type scored struct {
	pdk.Memory
	score float64
}

// score returns memories with how like a text each is, the most alike first and
// equal ones as they came.
func score(text string, known []pdk.Memory) []scored {
	list := make([]scored, len(known))
	of := trigrams(text)
	for i, m := range known {
		list[i] = scored{m, dice(of, trigrams(m.Text))}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return list
}

// closest returns the memories that are alike enough to be named.
func closest(text string, known []pdk.Memory) []pdk.Memory {
	var out []pdk.Memory
	for _, s := range score(text, known) {
		if len(out) < maxAlike && s.score >= minAlike {
			out = append(out, s.Memory)
		}
	}
	return out
}

// ranked returns all memories, the most alike first.
func ranked(text string, known []pdk.Memory) []pdk.Memory {
	out := make([]pdk.Memory, 0, len(known))
	for _, s := range score(text, known) {
		out = append(out, s.Memory)
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
