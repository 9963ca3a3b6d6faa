package extractive

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxUnits is how many sentences an answer quotes, what belongs to them (code,
	// the list they introduce) not counted.
	maxUnits = 4
	// enough is the share of the question, headings counted, from which on a unit
	// is an answer.
	enough = 0.3
	// keep is the share of the best score that a further unit needs.
	keep = 0.55
	// maxCodeLines and maxItems bound what is attached whole.
	maxCodeLines = 40
	maxItems     = 12
)

// choose returns what to quote, in reading order, grouped by passage with the
// best first. Answers is false when nothing answers the question and the units are
// merely the nearest.
func (c *corpus) choose() (chosen []unit, answers bool) {
	ranked := slices.Clone(c.units)
	slices.SortStableFunc(ranked, func(a, b unit) int { return cmp.Compare(b.score, a.score) })
	if len(ranked) == 0 {
		return nil, false
	}
	if best := ranked[0]; best.cover == 0 || best.context < enough {
		return c.opening(), false
	}
	switch {
	case c.isDefinition(ranked[0]):
		chosen = c.continued(ranked[0])
	case c.isStep(ranked[0]):
		chosen = c.steps(ranked[0])
	default:
		chosen = c.pick(ranked)
	}
	chosen = c.complete(chosen)
	return c.order(chosen), true
}

// opening is the beginning of the passage that the search put first.
func (c *corpus) opening() []unit {
	var out []unit
	for _, u := range c.units {
		if u.passage == c.units[0].passage && u.form == formParagraph && len(out) < 2 {
			out = append(out, u)
		}
	}
	if len(out) == 0 {
		out = c.units[:1]
	}
	return out
}

// isDefinition tells whether a unit says what the asked thing is.
func (c *corpus) isDefinition(u unit) bool {
	return u.form == formParagraph && asksWhat.MatchString(c.question) && defines.MatchString(u.text) &&
		c.earlyTerm(u.text)
}

// continued is a unit with what its document goes on to say of the same thing:
// to the end of the paragraph, at most maxUnits-1 sentences.
func (c *corpus) continued(u unit) []unit {
	out := []unit{u}
	for s := u.sentence + 1; s < u.sentence+maxUnits-1; s++ {
		out = c.add(out, u.passage, u.block, s)
	}
	return out
}

// isStep tells whether a unit is an item of a list that stands under a heading
// which says just what was asked: then the whole list is the answer.
func (c *corpus) isStep(u unit) bool { return u.form == formItem && u.focus > 0.8 }

// steps is the list around an item, with the sentence that introduces it.
func (c *corpus) steps(u unit) []unit {
	list := c.blocks[u.passage]
	first := u.block
	for first > 0 && list[first-1].form == formItem && list[first-1].heading == list[u.block].heading {
		first--
	}
	var out []unit
	if first > 0 && list[first-1].form == formParagraph && list[first-1].heading == list[u.block].heading {
		out = c.addBlock(out, u.passage, first-1)
	}
	return c.addItems(out, u.passage, first)
}

// addItems adds the items from block b on, at most maxItems.
func (c *corpus) addItems(chosen []unit, passage, b int) []unit {
	list := c.blocks[passage]
	for n := 0; n < maxItems && b < len(list) && list[b].form == formItem; n, b = n+1, b+1 {
		chosen = c.addBlock(chosen, passage, b)
	}
	return chosen
}

// addBlock adds all units of a block.
func (c *corpus) addBlock(chosen []unit, passage, b int) []unit {
	for s := 0; ; s++ {
		before := len(chosen)
		if chosen = c.add(chosen, passage, b, s); len(chosen) == before {
			return chosen
		}
	}
}

// pick takes the best unit, then those that add most: a high score, unlike what
// is there, and terms of the question that nothing has yet.
func (c *corpus) pick(ranked []unit) []unit {
	chosen := []unit{ranked[0]}
	covered := slices.Clone(ranked[0].match)
	for len(chosen) < maxUnits {
		at, best := -1, 0.0
		for i, u := range ranked {
			if u.cover == 0 || u.score < keep*ranked[0].score || has(chosen, u) {
				continue
			}
			gain := u.score * (1 - likeness(chosen, u)) * (1 + c.news(covered, u))
			if gain > best {
				at, best = i, gain
			}
		}
		if at < 0 || best < keep*ranked[0].score {
			break
		}
		chosen = append(chosen, ranked[at])
		for t, m := range ranked[at].match {
			covered[t] = max(covered[t], m)
		}
	}
	return chosen
}

func has(list []unit, u unit) bool {
	return slices.ContainsFunc(list, func(o unit) bool {
		return o.passage == u.passage && o.block == u.block && o.sentence == u.sentence
	})
}

// likeness is how much of u's words the chosen units have already.
func likeness(chosen []unit, u unit) float64 {
	most := 0.0
	for _, o := range chosen {
		shared := 0
		for t := range u.terms {
			if o.terms[t] > 0 {
				shared++
			}
		}
		most = max(most, float64(shared)/float64(len(u.terms)))
	}
	if most < 0.3 {
		return 0
	}
	return most
}

// news is the share of the question that u adds.
func (c *corpus) news(covered []float64, u unit) float64 {
	var added, total float64
	for t, idf := range c.idf {
		total += idf
		added += idf * max(0, u.match[t]-covered[t])
	}
	if total == 0 {
		return 0
	}
	return added / total
}

// pointsBack recognises a sentence that does not stand by itself.
var pointsBack = regexp.MustCompile(`^(?:It|Its|They|Their|This|That|These|Those|He|She|Such|Both|Otherwise|However|Then|Es|Sie|Dies|Diese|Il|Elle|Ils|Ce|Cela)\b`)

// complete adds what a chosen unit needs to be understood, and what it leads to.
func (c *corpus) complete(chosen []unit) []unit {
	for i, u := range slices.Clone(chosen) {
		for s := u.sentence; s > 0 && s > u.sentence-2 && u.form == formParagraph &&
			pointsBack.MatchString(c.textAt(u, s)); s-- {
			chosen = c.add(chosen, u.passage, u.block, s-1)
		}
		if i < 2 {
			chosen = c.follow(chosen, u)
		}
	}
	return chosen
}

// textAt is the sentence s of a unit's block, "" where it is no unit.
func (c *corpus) textAt(u unit, s int) string {
	for _, o := range c.units {
		if o.passage == u.passage && o.block == u.block && o.sentence == s {
			return o.text
		}
	}
	return ""
}

// follow adds the code or the list that a unit introduces.
func (c *corpus) follow(chosen []unit, u unit) []unit {
	if !c.leads(&u) {
		return chosen
	}
	list := c.blocks[u.passage]
	introduces := strings.HasSuffix(u.text, ":")
	next := list[u.block+1]
	if next.form == formCode {
		if introduces || u.focus > 0.8 || asksHow.MatchString(c.question) || c.near(u, u.block+1) {
			chosen = c.add(chosen, u.passage, u.block+1, 0)
		}
		return chosen
	}
	if !introduces {
		return chosen
	}
	return c.addItems(chosen, u.passage, u.block+1)
}

// near tells whether the code in block b speaks of the question too.
func (c *corpus) near(u unit, b int) bool {
	for _, o := range c.units {
		if o.passage == u.passage && o.block == b {
			return o.cover > 0.15
		}
	}
	return false
}

// add appends the unit that stands at a place, unless it is there already.
func (c *corpus) add(chosen []unit, passage, block, sentence int) []unit {
	for _, u := range c.units {
		if u.passage == passage && u.block == block && u.sentence == sentence && !has(chosen, u) {
			return append(chosen, u)
		}
	}
	return chosen
}

// order puts passages in the order of their best unit, and the units of each as
// they stand there.
func (c *corpus) order(chosen []unit) []unit {
	rank := map[int]int{}
	for i, u := range chosen {
		if _, known := rank[u.passage]; !known {
			rank[u.passage] = i
		}
	}
	slices.SortStableFunc(chosen, func(a, b unit) int {
		return cmp.Or(cmp.Compare(rank[a.passage], rank[b.passage]), cmp.Compare(a.block, b.block),
			cmp.Compare(a.sentence, b.sentence))
	})
	return chosen
}
