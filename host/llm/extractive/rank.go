package extractive

import (
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// unit is something that can be quoted by itself: a sentence, a list item, a row
// of a table, a piece of code.
type unit struct {
	text string
	form form
	// passage, block and sentence are where it stands.
	passage, block, sentence int
	// terms are the unit's words with what each counts.
	terms map[string]float64
	// match holds per question term how well the unit has it, 0 to 1.
	match []float64
	// cover is the share of the question that the unit has by itself, 0 to 1, and
	// context the share with its headings and title.
	cover, context float64
	// focus tells how far the heading says just what was asked, 0 to 1.
	focus float64
	score float64
}

// corpus is all that was found, cut into units.
type corpus struct {
	question string
	// echo is the question as a text might repeat it, "" where it is too short.
	echo     string
	terms    []string
	idf      []float64
	passages []passage
	blocks   [][]block
	units    []unit
}

// Weights of the ranking. They were set by reading answers over real
// documentation; the table test holds what must not get worse.
const (
	blockWeight   = 0.6 // a question term elsewhere in the block, against one in the unit
	sectionWeight = 0.5 // one in a heading
	titleWeight   = 0.3
	focusWeight   = 0.4  // more for that where the heading says just what was asked
	focusBoost    = 0.5  // and for the whole unit: a heading that says nothing but what was asked
	echoWeight    = 0.2  // a sentence that repeats the question is no answer to it
	coverPower    = 1.4  // half of a question is worth less than half of the whole
	manyLines     = 12   // lines from which on code weighs less
	easyTerms     = 22   // words up to which a unit is not long
	codeWeight    = 0.55 // code, against a sentence with the same terms
	firstBoost    = 1.12 // the first block under a heading
	rankBoost     = 0.35 // the passage that the search put first
	definition    = 1.35 // "X is …" for "what is X"
	leadsToBlock  = 1.15 // a sentence before code or a list, for "how"
)

func newCorpus(question string, passages []passage) *corpus {
	c := &corpus{question: question, terms: questionTerms(question), passages: passages}
	if len(wordsOf(question)) > 3 {
		c.echo = normal(question)
	}
	seen := map[string]bool{}
	for p := range passages {
		list := blocks(passages[p].Content)
		c.blocks = append(c.blocks, list)
		for b := range list {
			c.cut(p, b, seen)
		}
	}
	c.weigh()
	for i := range c.units {
		c.rate(&c.units[i])
	}
	return c
}

// normal is a text reduced to its folded words.
func normal(text string) string { return fold(strings.Join(wordsOf(text), " ")) }

// cut adds the units of one block; a text that occurred before is none.
func (c *corpus) cut(p, b int, seen map[string]bool) {
	blk := c.blocks[p][b]
	pieces := []string{blk.text}
	if blk.form == formParagraph || blk.form == formItem && utf8.RuneCountInString(blk.text) > maxItemRunes {
		pieces = sentences(blk.text)
	}
	for s, text := range pieces {
		key := strings.Join(terms(text), " ")
		if key == "" || seen[key] {
			continue
		}
		seen[key] = true
		c.units = append(c.units, unit{text: text, form: blk.form, passage: p, block: b, sentence: s,
			terms: weighted(text)})
	}
}

// maxItemRunes is the size up to which a list item is quoted whole.
const maxItemRunes = 400

// weigh sets each unit's matches, and what each question term is worth: the
// rarer among the units, the more.
func (c *corpus) weigh() {
	c.idf = make([]float64, len(c.terms))
	have := make([]int, len(c.terms))
	for i := range c.units {
		u := &c.units[i]
		u.match = matches(c.terms, u.terms)
		for t, m := range u.match {
			if m > 0 {
				have[t]++
			}
		}
	}
	for t := range c.terms {
		c.idf[t] = math.Log(1 + float64(len(c.units)+1)/float64(have[t]+1))
	}
}

func matches(question []string, in map[string]float64) []float64 {
	out := make([]float64, len(question))
	for i, q := range question {
		for t, weight := range in {
			out[i] = max(out[i], alike(q, t)*weight)
		}
	}
	return out
}

// rate sets a unit's cover and score.
func (c *corpus) rate(u *unit) {
	p, blk := c.passages[u.passage], c.blocks[u.passage][u.block]
	heading := c.headingOf(u)
	section := matches(c.terms, weighted(p.Section+" "+heading))
	title := matches(c.terms, weighted(p.Title))
	around := matches(c.terms, weighted(blk.text))
	u.focus = c.focus(heading)
	var own, with, total float64
	for t, idf := range c.idf {
		total += idf
		inherited := (sectionWeight + focusWeight*u.focus) * section[t]
		own += idf * max(u.match[t], u.focus*inherited)
		with += idf * max(u.match[t], blockWeight*around[t], inherited, titleWeight*title[t])
	}
	if total == 0 {
		return
	}
	u.cover, u.context = own/total, with/total
	u.score = math.Pow(0.6*u.cover+0.4*u.context, coverPower) * c.shape(u, blk) *
		(1 + focusBoost*u.focus) * (1 + rankBoost/float64(1+u.passage))
}

// headingOf is the nearest heading above a unit.
func (c *corpus) headingOf(u *unit) string {
	if h := c.blocks[u.passage][u.block].heading; h != "" {
		return h
	}
	section := c.passages[u.passage].Section
	if at := strings.LastIndexAny(section, "›>"); at >= 0 {
		section = strings.Trim(section[at:], "›> ")
	}
	return section
}

// focus is the share of a heading's words that the question has, times the share
// of the question that they make.
func (c *corpus) focus(heading string) float64 {
	words := questionTerms(heading)
	if len(words) == 0 || len(c.terms) == 0 {
		return 0
	}
	found := 0.0
	in := weighted(strings.Join(c.terms, " "))
	for _, m := range matches(words, in) {
		found += m
	}
	return found / float64(len(words)) * min(1, found/float64(len(c.terms)))
}

var (
	asksWhat = regexp.MustCompile(`(?i)^\s*(?:what(?:'s|’s)?\s+(?:is|are|does|do)?|was\s+(?:ist|sind)|qu'est-ce|qué\s+es|define)\b`)
	asksHow  = regexp.MustCompile(`(?i)^\s*(?:how|wie|comment|cómo|show|example|which command)\b|\b(?:example|look(?:s)? like|format|syntax)\b`)
	defines  = regexp.MustCompile(`(?i)^\W*(?:(?:a|an|the|der|die|das|ein|eine|le|la|un|une|el)\s+)?(?:\S+\s+){1,4}?(?:is|are|means|ist|sind|est|es|holds|describes)\s`)
)

// shape is the factor that a unit's form and place give it.
func (c *corpus) shape(u *unit, blk block) float64 {
	factor := 1.0
	words := len(u.terms)
	switch {
	case u.form == formCode:
		return codeWeight / float64(1+strings.Count(u.text, "\n")/manyLines)
	case words < 4:
		factor *= 0.55
	case words > easyTerms:
		factor /= 1 + float64(words-easyTerms)/easyTerms
	}
	if strings.HasSuffix(u.text, "?") {
		factor *= 0.6
	}
	if c.echo != "" && strings.Contains(normal(u.text), c.echo) {
		factor *= echoWeight
	}
	if u.form != formRow && u.sentence == 0 && (u.block == 0 || c.blocks[u.passage][u.block-1].heading != blk.heading) {
		factor *= firstBoost
	}
	if asksWhat.MatchString(c.question) && u.form == formParagraph && defines.MatchString(u.text) &&
		c.earlyTerm(u.text) {
		factor *= definition
	}
	if asksHow.MatchString(c.question) && c.leads(u) {
		factor *= leadsToBlock
	}
	return factor
}

// earlyTerm tells whether one of the first words is of the question.
func (c *corpus) earlyTerm(text string) bool {
	words := terms(text)
	for _, w := range words[:min(4, len(words))] {
		for _, q := range c.terms {
			if alike(q, w) > 0 {
				return true
			}
		}
	}
	return false
}

// leads tells whether code or a list follows the unit's block.
func (c *corpus) leads(u *unit) bool {
	list := c.blocks[u.passage]
	if u.form != formParagraph || u.block+1 >= len(list) {
		return false
	}
	next := list[u.block+1]
	return next.heading == list[u.block].heading && (next.form == formCode || next.form == formItem)
}
