package salvage_test

import (
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// mutate cuts, doubles, moves or swaps a stretch of the text, or puts a piece of
// another text into it.
func mutate(random *rand.Rand, text, other string) string {
	if text == "" {
		return other
	}
	at := random.IntN(len(text))
	end := min(len(text), at+1+random.IntN(24))
	switch random.IntN(6) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + text[end:]
	case 2:
		return text[:end] + text[at:]
	case 3:
		return text[at:] + text[:at]
	case 4:
		cut := random.IntN(len(other) + 1)
		return text[:at] + other[cut:] + text[end:]
	default:
		return text[:at] + string(other[random.IntN(len(other))]) + text[end:]
	}
}

// TestMutatedVectorsDoNotDependOnTheSplit damages every vector and checks that
// any split still gives the same outcome, that nothing panics, and that valid
// UTF-8 comes out as such.
func TestMutatedVectorsDoNotDependOnTheSplit(t *testing.T) {
	vectors := load(t, filepath.Join("testdata", "calls.jsonl"))
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	failed := 0
	for i, v := range vectors {
		h := fnv.New64a()
		h.Write([]byte(v.ID)) // a hash never fails to write
		random := rand.New(rand.NewPCG(h.Sum64(), 7))
		for range rounds {
			w := v
			w.Text = strings.ToValidUTF8(mutate(random, v.Text, vectors[(i+1+random.IntN(len(vectors)-1))%len(vectors)].Text), "")
			if found := splitProblem(t, w); found != "" {
				failed++
				t.Errorf("%s damaged: %q\n\t%s", v.ID, w.Text, found)
			}
		}
		if failed > 20 {
			t.Fatal("more than 20 failures, the rest is not tried")
		}
	}
}

func splitProblem(t *testing.T, v vector) string {
	t.Helper()
	o := v.options(t)
	whole, broken := stream([]string{v.Text}, o)
	if broken != "" {
		return "whole: " + broken
	}
	for name, chunks := range v.splits() {
		got, broken := stream(chunks, o)
		if broken != "" {
			return name + ": " + broken
		}
		if !reflect.DeepEqual(got, whole) {
			return name + ": " + compact(got) + "\n\twhole: " + compact(whole)
		}
	}
	return ""
}
