package main

import (
	"cmp"
	"slices"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// rankConstant is k of reciprocal rank fusion, in which a passage scores the sum
// of 1/(k+rank) over the lists that have it. 60 is the value of Cormack, Clarke
// and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual
// Rank Learning Methods", SIGIR 2009.
const rankConstant = 60

// fuse makes one list, best first, of the lists of several queries. A passage
// that more than one list has comes once.
func fuse(lists [][]pdk.Hit) []pdk.Hit {
	type scored struct {
		hit   pdk.Hit
		score float64
	}
	var all []scored
	place := map[string]int{}
	for _, list := range lists {
		for rank, h := range list {
			key := h.DocumentID + "\x00" + h.ChunkID
			i, seen := place[key]
			if !seen {
				i = len(all)
				place[key] = i
				all = append(all, scored{hit: h})
			}
			all[i].score += 1 / float64(rankConstant+rank+1)
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	hits := make([]pdk.Hit, len(all))
	for i, s := range all {
		hits[i] = s.hit
	}
	return hits
}
