package extract

import "strings"

// Kind says what a block is, and so where it may be cut.
type Kind uint8

// The kinds of blocks.
const (
	Paragraph Kind = iota // prose, quotations, raw HTML, rules
	Heading               // one heading; starts a section
	Item                  // a paragraph inside a list
	Code                  // one code block, fences included
	Table                 // one table, its head included
)

// Block is one piece of a text: text[Start:End], with the white space that
// follows it. The first block starts at 0, each next one where the last ended,
// and the last ends with the text.
type Block struct {
	Kind       Kind
	Start, End int      // byte offsets
	Level      int      // of a Heading: 1 to 6; else 0
	Path       []string // headings above the block, outermost first, its own included if it is one; plain text; shared, not to be changed
}

// Blocks finds the blocks of a text that Extract returned. An empty text has
// none. It is safe for concurrent use and takes time linear in the text, but
// for containers nested to a fixed depth.
func Blocks(text string, format Format) []Block {
	if text == "" {
		return nil
	}
	if format == Markdown {
		return markdownBlocks(text)
	}
	return plainBlocks(text)
}

// plainBlocks cuts at blank lines.
func plainBlocks(text string) []Block {
	var starts []mark
	blank := true
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		empty := strings.TrimSpace(text[at:end]) == ""
		if blank && !empty {
			starts = append(starts, mark{at: at, kind: Paragraph})
		}
		blank = empty
		at = end
	}
	return partition(text, starts)
}

// mark is where a block starts.
type mark struct {
	at    int
	kind  Kind
	level int
	title string // of a heading
}

// partition makes blocks of marks in rising order, so that they cover the text.
// Of two marks at one place the later wins, unless the earlier is a list item,
// whose place in the text the later one only refines.
func partition(text string, marks []mark) []Block {
	if len(marks) == 0 {
		marks = []mark{{kind: Paragraph}}
	}
	marks[0].at = 0
	var blocks []Block
	var open []mark // headings above
	var path []string
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1].at
		}
		if end <= m.at {
			continue
		}
		if m.kind == Heading {
			for len(open) > 0 && open[len(open)-1].level >= m.level {
				open = open[:len(open)-1]
			}
			open = append(open, m)
			path = make([]string, len(open))
			for j, h := range open {
				path[j] = h.title
			}
		}
		blocks = append(blocks, Block{Kind: m.kind, Start: m.at, End: end, Level: m.level, Path: path})
	}
	return blocks
}
