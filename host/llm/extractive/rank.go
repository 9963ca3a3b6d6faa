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
	terms                    map[string]bool
	// match holds per question term how well the unit has it, 0 to 1.
	match []float64
	// cover is the share of the question that the unit has by itself, 0 to 1, and
	// context the share with its headings and title.
	cover, context float64
	score          float64
}

// corpus is all that was found, cut into units.
type corpus struct {
	question string
	terms    []string
	idf      []float64
	passages []passage
	blocks   [][]block
	units    []unit
}

// Weights of the ranking. They were set by reading answers over real
// documentation; the table test holds what must not get worse.
const (
	sectionWeight = 0.5 // a question term in a heading, against one in the text
	titleWeight   = 0.3
	codeWeight    = 0.55 // code, against a sentence with the same terms
	firstBoost    = 1.12 // the first block under a heading
	rankBoost     = 0.35 // the passage that the search put first
	definition    = 1.35 // "X is …" for "what is X"
	leadsToBlock  = 1.15 // a sentence before code or a list, for "how"
)

func newCorpus(question string, passages []passage) *corpus {
	c := &corpus{question: question, terms: questionTerms(question), passages: passages}
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
		u := unit{text: text, form: blk.form, passage: p, block: b, sentence: s, terms: map[string]bool{}}
		for _, t := range terms(text) {
			u.terms[t] = true
		}
		c.units = append(c.units, u)
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

func matches(question []string, in map[string]bool) []float64 {
	out := make([]float64, len(question))
	for i, q := range question {
		if in[q] {
			out[i] = 1
			continue
		}
		for t := range in {
			out[i] = max(out[i], alike(q, t))
		}
	}
	return out
}

// rate sets a unit's cover and score.
func (c *corpus) rate(u *unit) {
	p, blk := c.passages[u.passage], c.blocks[u.passage][u.block]
	section := matches(c.terms, termSet(p.Section+" "+blk.heading))
	title := matches(c.terms, termSet(p.Title))
	var own, with, total float64
	for t, idf := range c.idf {
		total += idf
		own += idf * u.match[t]
		with += idf * max(u.match[t], sectionWeight*section[t], titleWeight*title[t])
	}
	if total == 0 {
		return
	}
	u.cover, u.context = own/total, with/total
	u.score = (0.6*u.cover + 0.4*u.context) * c.shape(u, blk) * (1 + rankBoost/float64(1+u.passage))
}

func termSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, t := range terms(text) {
		out[t] = true
	}
	return out
}

var (
	asksWhat = regexp.MustCompile(`(?i)^\s*(?:what(?:'s|’s)?\s+(?:is|are|does|do)?|was\s+(?:ist|sind)|qu'est-ce|qué\s+es|define)\b`)
	asksHow  = regexp.MustCompile(`(?i)^\s*(?:how|wie|comment|cómo|show|example|which command)\b|\bexample\b`)
	defines  = regexp.MustCompile(`(?i)^\W*(?:(?:a|an|the|der|die|das|ein|eine|le|la|un|une|el)\s+)?(?:\S+\s+){1,4}?(?:is|are|means|ist|sind|est|es|holds|describes)\s`)
)

// shape is the factor that a unit's form and place give it.
func (c *corpus) shape(u *unit, blk block) float64 {
	factor := 1.0
	words := len(u.terms)
	switch {
	case u.form == formCode:
		return codeWeight
	case words < 4:
		factor *= 0.55
	case words > 60:
		factor *= 0.8
	}
	if strings.HasSuffix(u.text, "?") {
		factor *= 0.6
	}
	if u.form != formRow && u.sentence == 0 && (u.block == 0 || c.blocks[u.passage][u.block-1].heading != blk.heading) {
		factor *= firstBoost
	}
	if asksWhat.MatchString(c.question) && u.form == formParagraph && defines.MatchString(u.text) && c.earlyTerm(u.text) {
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
