// Package chunk cuts a text into passages of a size that a search can rank and
// a model can read.
//
// In come a text and its blocks from package extract; out go byte ranges that
// cover the text without gap or overlap, each with the headings it stands
// under. It must not know documents, owners or indexes.
package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
)

// Sizes of a chunk, in code points.
const (
	Target = 1200 // a chunk that reached it takes no further block
	Max    = 2000 // no chunk is longer
	Short  = 500  // a section shorter than this is joined with its neighbour
)

// Chunk is one passage: text[Start:End].
type Chunk struct {
	Start, End int      // byte offsets; chunk 0 starts at 0, each next one where the last ended
	Path       []string // headings above all of the passage, outermost first; not to be changed
	Headings   []string // headings inside the passage below Path, in order
}

// Split cuts a text along its blocks. Sections stay apart unless they are
// short; code blocks and table rows stay whole unless they are longer than Max.
// A text of white space alone has no chunk.
func Split(text string, blocks []extract.Block) []Chunk {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var s splitter
	for _, unit := range units(text, blocks) {
		s.add(unit)
	}
	s.flush()
	return s.chunks
}

// piece is a part of a block that is never cut again.
type piece struct {
	start, end, size int // bytes, bytes, code points
	path             []string
	heading          bool
}

// unit is what stays together while a chunk is filled: headings and the first
// piece below them, so that no chunk ends with a lone heading.
type unit struct {
	pieces  []piece
	size    int
	section bool // starts with a heading
}

// units cuts blocks to pieces of at most Max and glues headings to what follows.
func units(text string, blocks []extract.Block) []unit {
	var out []unit
	var held unit
	release := func() {
		if len(held.pieces) > 0 {
			out = append(out, held)
			held = unit{}
		}
	}
	for _, b := range blocks {
		for _, p := range cut(text, b) {
			if held.size+p.size > Max {
				release()
			}
			if len(held.pieces) == 0 {
				held.section = p.heading
			}
			held.pieces = append(held.pieces, p)
			held.size += p.size
			if !p.heading {
				release()
			}
		}
	}
	release()
	return out
}

type splitter struct {
	chunks []Chunk
	open   []piece
	size   int
}

// add puts a unit into the open chunk or starts a new one with it.
func (s *splitter) add(u unit) {
	if len(s.open) > 0 && !s.fits(u) {
		s.flush()
	}
	s.open = append(s.open, u.pieces...)
	s.size += u.size
}

func (s *splitter) fits(u unit) bool {
	if s.size+u.size > Max {
		return false
	}
	if !u.section {
		return s.size+u.size <= Target || s.size < Short/2
	}
	// A new section joins only a short one, and only one that it is related to:
	// a parent or a sibling. Chapters stay apart.
	first, next := s.open[0].path, u.pieces[0].path
	common := len(shared(first, next))
	related := common > 0 || len(first) == 0
	return s.size < Short && s.size+u.size <= Target && related
}

func (s *splitter) flush() {
	if len(s.open) == 0 {
		return
	}
	c := Chunk{Start: s.open[0].start, End: s.open[len(s.open)-1].end, Path: s.open[0].path}
	for _, p := range s.open[1:] {
		c.Path = shared(c.Path, p.path)
	}
	for _, p := range s.open {
		if p.heading && len(p.path) > len(c.Path) {
			c.Headings = append(c.Headings, p.path[len(p.path)-1])
		}
	}
	s.chunks = append(s.chunks, c)
	s.open, s.size = nil, 0
}

// shared is the longest path that both begin with.
func shared(a, b []string) []string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func runes(s string) int { return utf8.RuneCountInString(s) }
