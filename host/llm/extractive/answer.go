package extractive

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// answer is the text for a person, with markers such as [12].
func (e *exchange) answer() string {
	f := read(e.results)
	if text := e.confirmed(); text != "" {
		return text
	}
	if e.asksForMemories() {
		return e.memories()
	}
	f.passages = append(e.attachedPassages(), f.passages...)
	if memory, personal := e.recall(); memory != "" {
		told := "You told me: " + memory
		if personal || len(f.passages) == 0 {
			return told
		}
		return told + "\n\n" + e.quote(f)
	}
	if len(f.passages) > 0 {
		return e.quote(f)
	}
	if f.searched {
		return fmt.Sprintf("I found nothing about “%s” in the documents. Try other words, or add a document that "+
			"covers it.", e.subject())
	}
	if len(f.said) > 0 {
		return e.report(f)
	}
	if talk := e.smallTalk(); talk != "" {
		return talk
	}
	return e.about()
}

// maxSubjectRunes bounds how much of a question is repeated.
const maxSubjectRunes = 80

// subject is the question in few words.
func (e *exchange) subject() string {
	s := e.query()
	if s == "" {
		s = strings.Join(strings.Fields(e.question), " ")
	}
	if utf8.RuneCountInString(s) > maxSubjectRunes {
		s = string([]rune(s)[:maxSubjectRunes]) + "…"
	}
	return s
}

// quote answers from passages.
func (e *exchange) quote(f findings) string {
	question := e.question
	if withoutFiller(question) == "" && e.before != "" {
		question = e.before
	}
	c := newCorpus(question, f.passages)
	chosen, answers := c.choose()
	if len(chosen) == 0 {
		return fmt.Sprintf("I found nothing about “%s” in the documents.", e.subject())
	}
	body := c.render(chosen)
	if !answers {
		return fmt.Sprintf("I found nothing that answers “%s” directly. The closest passage:\n\n%s", e.subject(), body)
	}
	return body
}

// maxReportRunes bounds how much of a tool's own words is repeated.
const maxReportRunes = 600

// report repeats what tools said that brought no documents.
func (e *exchange) report(f findings) string {
	var out []string
	for _, text := range f.said {
		if utf8.RuneCountInString(text) > maxReportRunes {
			text = string([]rune(text)[:maxReportRunes]) + "…"
		}
		out = append(out, "> "+strings.ReplaceAll(text, "\n", "\n> "))
	}
	return "I found no document to quote. The tool says:\n\n" + strings.Join(out, "\n\n")
}

// render writes the chosen units: sentences of a passage as a paragraph, items
// and rows as a list, code in a fence, each with the number of its document.
func (c *corpus) render(chosen []unit) string {
	var out strings.Builder
	for i, u := range chosen {
		follows := i > 0 && chosen[i-1].passage == u.passage
		ref := c.passages[u.passage].Ref
		if u.form == formCode {
			if !follows {
				gap(&out, "\n\n")
				fmt.Fprintf(&out, "From “%s”%s:", c.source(u), marker(ref))
			}
			gap(&out, "\n\n")
			out.WriteString(fenced(c.blocks[u.passage][u.block]))
			continue
		}
		switch {
		case u.form == formParagraph && follows && chosen[i-1].form == formParagraph && u.block-chosen[i-1].block <= 1:
			out.WriteString(" ")
		case u.form != formParagraph && u.sentence > 0 && follows && chosen[i-1].block == u.block:
			out.WriteString(" ")
		case u.form != formParagraph && follows && chosen[i-1].form == u.form:
			gap(&out, "\n")
		default:
			gap(&out, "\n\n")
		}
		if u.form != formParagraph && !strings.HasSuffix(out.String(), " ") {
			out.WriteString(c.bullet(chosen, i))
		}
		out.WriteString(c.sentence(chosen, i) + marker(ref))
	}
	return out.String()
}

// sentence is the unit's text; a colon that introduces nothing becomes a dot.
func (c *corpus) sentence(chosen []unit, i int) string {
	text := plain(chosen[i].text)
	introduces := i+1 < len(chosen) && chosen[i+1].passage == chosen[i].passage && chosen[i+1].form != formParagraph
	if strings.HasSuffix(text, ":") && !introduces {
		text = strings.TrimSuffix(text, ":") + "."
	}
	return text
}

// source names where a unit stands.
func (c *corpus) source(u unit) string {
	p := c.passages[u.passage]
	section := strings.TrimSpace(p.Section)
	switch {
	case section == "":
		return p.Title
	case strings.HasPrefix(section, p.Title):
		return section
	}
	return p.Title + " › " + section
}

// bullet is what an item begins with: its number where several of a numbered list
// stand together.
func (c *corpus) bullet(chosen []unit, i int) string {
	ordered := func(j int) bool {
		return j >= 0 && j < len(chosen) && chosen[j].passage == chosen[i].passage &&
			c.blocks[chosen[j].passage][chosen[j].block].ordered
	}
	if !ordered(i) || !ordered(i-1) && !ordered(i+1) {
		return "- "
	}
	number := 1
	for j := i - 1; ordered(j); j-- {
		if chosen[j].block != chosen[j+1].block {
			number++
		}
	}
	return fmt.Sprintf("%d. ", number)
}

func gap(out *strings.Builder, space string) {
	if out.Len() > 0 {
		out.WriteString(space)
	}
}

func marker(ref int) string {
	if ref <= 0 {
		return ""
	}
	return fmt.Sprintf(" [%d]", ref)
}

// fenced is code in a fence that is longer than any inside, cut at maxCodeLines.
func fenced(b block) string {
	lines := strings.Split(strings.Trim(b.text, "\n"), "\n")
	if len(lines) > maxCodeLines {
		lines = append(lines[:maxCodeLines], "…")
	}
	fence := "```"
	for strings.Contains(b.text, fence) {
		fence += "`"
	}
	return fence + b.language + "\n" + strings.Join(lines, "\n") + "\n" + fence
}
