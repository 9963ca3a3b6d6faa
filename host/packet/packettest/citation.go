package packettest

import (
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// marker is a visible citation in answer text.
var marker = regexp.MustCompile(`\[\[([1-9][0-9]{0,8})\]\]`)

// markerBytes is the length of the longest marker.
const markerBytes = 13

// citations is what one answer has announced and shown.
type citations struct {
	// announced maps a citation_number to where its citation_info stood.
	announced map[int]position
	documents map[string]int
	// shown maps the number of each marker in the text to the seq of its first.
	shown map[int]int64
	// used counts the announced numbers that were shown.
	used int
}

type position struct {
	block *block
	// bytes is the length of the block's text at that point.
	bytes int
	seq   int64
}

func newCitations() citations {
	return citations{announced: map[int]position{}, documents: map[string]int{}, shown: map[int]int64{}}
}

// messagePacket takes what stands in a block of answer text. Only the text of
// the model's own blocks is its answer; a nested agent's belongs to its tool.
func (c *Checker) messagePacket(m *model, key packet.Key, obj packet.Obj) {
	b := c.inside(m, key, kindMessage, obj)
	if b == nil {
		return
	}
	answer := key.SubTurn < 0
	switch obj := obj.(type) {
	case packet.MessageDelta:
		before := len(b.text)
		b.text = append(b.text, obj.Content...)
		if answer {
			m.text.WriteString(obj.Content)
			c.markers(m, b, before)
		}
	case packet.CitationInfo:
		if answer {
			c.citationInfo(m, b, obj)
		}
	case packet.CitationSupport:
		c.citationSupport(m, b, obj, answer)
	}
}

// markers looks at the markers that the newest delta completed.
func (c *Checker) markers(m *model, b *block, before int) {
	from := max(0, before-markerBytes)
	for _, at := range marker.FindAllSubmatchIndex(b.text[from:], -1) {
		if from+at[1] <= before {
			continue
		}
		n, err := strconv.Atoi(string(b.text[from+at[2] : from+at[3]]))
		if err != nil {
			continue // cannot be: nine digits
		}
		if _, again := m.cites.shown[n]; again {
			continue
		}
		m.cites.shown[n] = c.seq
		place, announced := m.cites.announced[n]
		if !announced {
			continue // plain text, unless its citation_info comes later
		}
		if n > c.before {
			m.cites.used++
			if n != c.before+m.cites.used {
				c.fail(RuleCitation, "[[%d]] is the answer's citation no. %d in order of first use", n,
					c.before+m.cites.used)
			}
		}
		if place.block == b && from+at[0] < place.bytes {
			c.fail(RuleCitation, "the marker [[%d]] began before its citation_info", n)
		}
	}
}

func (c *Checker) citationInfo(m *model, b *block, obj packet.CitationInfo) {
	n := obj.CitationNumber
	if _, again := m.cites.announced[n]; again {
		c.fail(RuleCitation, "a second citation_info for number %d", n)
		return
	}
	if want := len(m.cites.announced) + 1; n != want {
		c.fail(RuleCitation, "citation_info has number %d, the next is %d", n, want)
	}
	if other, again := m.cites.documents[obj.Document.ID]; again {
		c.fail(RuleCitation, "the document %q has number %d already", obj.Document.ID, other)
	}
	if seq, shown := m.cites.shown[n]; shown {
		c.fail(RuleCitation, "the marker [[%d]] stood at seq %d, before its citation_info", n, seq)
		m.cites.used++
	}
	m.cites.announced[n] = position{block: b, bytes: len(b.text), seq: c.seq}
	m.cites.documents[obj.Document.ID] = n
}

func (c *Checker) citationSupport(m *model, b *block, obj packet.CitationSupport, answer bool) {
	if _, announced := m.cites.announced[obj.CitationNumber]; answer && !announced {
		c.fail(RuleCitation, "citation_support for number %d, which has no citation_info", obj.CitationNumber)
	}
	length := utf8.RuneCount(b.text)
	if obj.Start < 0 || obj.Start >= obj.End || obj.End > length {
		c.fail(RuleCitation, "citation_support covers %d to %d of a text of %d code points", obj.Start, obj.End, length)
	}
	switch obj.Support {
	case packet.SupportQuoted, packet.SupportStated, packet.SupportWeak, packet.SupportAbsent, packet.SupportUnchecked:
	default:
		c.fail(RuleFields, "citation_support has the unknown grade %q", obj.Support)
	}
}

// requireShown reports documents that a finished answer announced and never
// cited.
func (c *Checker) requireShown(m *model) {
	for n := c.before + 1; n <= len(m.cites.announced); n++ {
		if _, shown := m.cites.shown[n]; !shown {
			c.fail(RuleCitation, "citation %d was announced and its marker never shown", n)
		}
	}
}
