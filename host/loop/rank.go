package loop

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-host/bulkhead/host/text/fold"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// The weights of a word by where it stands, and the two constants of BM25F with their
// usual values (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25
// and Beyond, 2009).
const (
	nameWeight, titleWeight, descriptionWeight = 3.0, 2.0, 1.0

	bm25K, bm25B = 1.2, 0.75

	// leastScore is the part of the best score that a tool needs to be named: what
	// shares only a word such as "the" with a query has less.
	leastScore = 0.2
)

// catalogue ranks tools by what they do.
type catalogue struct {
	specs []tool.Spec
	// words are each tool's words with their weights, lengths the sums of these.
	words   []map[string]float64
	lengths []float64
	mean    float64
	// in is how many tools have a word.
	in map[string]int
}

func newCatalogue(specs []tool.Spec) *catalogue {
	c := &catalogue{specs: specs, in: map[string]int{}}
	for _, s := range specs {
		words, length := map[string]float64{}, 0.0
		for _, field := range []struct {
			text   string
			weight float64
		}{{s.Name, nameWeight}, {s.Title, titleWeight}, {s.Description, descriptionWeight}} {
			for _, w := range wordsOf(field.text) {
				words[w] += field.weight
				length += field.weight
			}
		}
		for w := range words {
			c.in[w]++
		}
		c.words, c.lengths = append(c.words, words), append(c.lengths, length)
		c.mean += length / float64(len(specs))
	}
	return c
}

// best returns the tools that match a query, the best first, at most n. Of equal ones
// the earlier comes first.
func (c *catalogue) best(query string, n int) []tool.Spec {
	type scored struct {
		i     int
		score float64
	}
	query = strings.TrimSpace(query)
	asked := wordsOf(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	var found []scored
	for i := range c.specs {
		score := c.score(i, asked)
		if strings.EqualFold(c.specs[i].Name, query) {
			score = math.Inf(1)
		}
		if score > 0 {
			found = append(found, scored{i, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []tool.Spec
	for _, f := range found[:min(n, len(found))] {
		if f.score >= found[0].score*leastScore {
			out = append(out, c.specs[f.i])
		}
	}
	return out
}

func (c *catalogue) score(i int, asked []string) (score float64) {
	for _, w := range asked {
		tf := c.words[i][w]
		if tf == 0 {
			continue
		}
		df := float64(c.in[w])
		idf := math.Log(1 + (float64(len(c.specs))-df+0.5)/(df+0.5))
		score += idf * tf * (bm25K + 1) / (tf + bm25K*(1-bm25B+bm25B*c.lengths[i]/c.mean))
	}
	return score
}

func unlettered(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) }

// wordsOf splits a text into folded words, at all that is neither letter nor
// digit and where a small letter meets a capital. A plural of more than three letters
// loses its s.
func wordsOf(text string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 3 && word[len(word)-1] == 's' && word[len(word)-2] != 's' {
			word = word[:len(word)-1]
		}
		for _, w := range strings.FieldsFunc(fold.String(string(word)), unlettered) {
			if strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsMark(r) }) {
				out = append(out, w)
			}
		}
		word = nil
	}
	small := false
	for _, r := range text {
		if unicode.In(r, unicode.M, unicode.Cf) {
			word = append(word, r) // part of the word; folding decides
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || small && unicode.IsUpper(r) {
			end()
		}
		if small = unicode.IsLower(r); unicode.IsLetter(r) || unicode.IsDigit(r) {
			word = append(word, unicode.ToLower(r))
		}
	}
	end()
	return out
}
