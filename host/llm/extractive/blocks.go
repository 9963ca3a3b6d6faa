package extractive

import (
	"regexp"
	"strings"
)

// form is what a block of a passage is.
type form int

const (
	formParagraph form = iota
	formItem
	formCode
	formRow
)

// block is one piece of a passage's Markdown that can be quoted.
type block struct {
	form form
	// text is the block in one line; of code it is the lines without the fence.
	text string
	// language is the fence's, of code.
	language string
	// ordered tells that an item had a number.
	ordered bool
	// heading is the nearest heading above inside the passage.
	heading string
}

var (
	headingPattern = regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`)
	itemPattern    = regexp.MustCompile(`^\s*([-*+]|\d{1,3}[.)])\s+(.*)$`)
	fencePattern   = regexp.MustCompile("^\\s*(```+|~~~+)\\s*([A-Za-z0-9_+#.-]*)")
	rulePattern    = regexp.MustCompile(`^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$`)
	rowPattern     = regexp.MustCompile(`^\s*\|(.*)\|\s*$`)
	rowRulePattern = regexp.MustCompile(`^[\s|:-]+$`)
)

// blockReader builds blocks line by line.
type blockReader struct {
	out     []block
	open    *block // a paragraph or item that may go on
	heading string
	fence   string // the open fence's mark, "" outside
	code    *block
	indent  string
}

// blocks reads a passage. Headings, rules and table rules are not blocks; what
// is no Markdown at all is paragraphs.
func blocks(content string) []block {
	r := &blockReader{}
	lines := strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n")
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		r.line(line, next)
	}
	r.close()
	if r.code != nil { // the passage ends inside the fence
		r.out = append(r.out, *r.code)
	}
	return r.out
}

func (r *blockReader) line(line, next string) {
	if r.fence != "" {
		r.inCode(line)
		return
	}
	if m := fencePattern.FindStringSubmatch(line); m != nil {
		r.close()
		r.fence = m[1]
		r.indent = line[:strings.Index(line, m[1])]
		r.code = &block{form: formCode, language: m[2], heading: r.heading}
		return
	}
	trimmed := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), ">"))
	switch {
	case trimmed == "", rulePattern.MatchString(line):
		r.close()
	case headingPattern.MatchString(line):
		r.close()
		r.heading = headingPattern.FindStringSubmatch(line)[2]
	case rowPattern.MatchString(line):
		r.row(line, next)
	case itemPattern.MatchString(line):
		r.close()
		m := itemPattern.FindStringSubmatch(line)
		r.open = &block{form: formItem, text: m[2], ordered: len(m[1]) > 1, heading: r.heading}
	case r.open != nil:
		r.open.text += " " + trimmed
	default:
		r.open = &block{form: formParagraph, text: trimmed, heading: r.heading}
	}
}

func (r *blockReader) inCode(line string) {
	if strings.HasPrefix(strings.TrimSpace(line), r.fence) {
		r.out = append(r.out, *r.code)
		r.fence, r.code = "", nil
		return
	}
	if r.code.text != "" {
		r.code.text += "\n"
	}
	r.code.text += strings.TrimPrefix(line, r.indent)
}

// row adds a table's row; the header, which a rule follows, is none.
func (r *blockReader) row(line, next string) {
	r.close()
	if rowRulePattern.MatchString(line) || rowPattern.MatchString(next) && rowRulePattern.MatchString(next) {
		return
	}
	var cells []string
	for _, cell := range strings.Split(strings.ReplaceAll(rowPattern.FindStringSubmatch(line)[1], `\|`, "\x00"), "|") {
		if cell = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|")); cell != "" {
			cells = append(cells, cell)
		}
	}
	if len(cells) > 0 {
		r.out = append(r.out, block{form: formRow, text: strings.Join(cells, " — "), heading: r.heading})
	}
}

func (r *blockReader) close() {
	if r.open != nil {
		r.out = append(r.out, *r.open)
		r.open = nil
	}
}

var (
	imagePattern  = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	linkPattern   = regexp.MustCompile(`\[([^\]]+)\]\([^)\s]*(?:\s+"[^"]*")?\)`)
	markerPattern = regexp.MustCompile(`\[\[?(\d{1,6})\]\]?`)
	codeSpan      = regexp.MustCompile("`[^`]*`")
)

// plain takes out of a quoted line what would not hold elsewhere: images, the
// targets of links, and numbers in brackets that would read as citations. Code
// spans stay as they are.
func plain(text string) string {
	var out strings.Builder
	at := 0
	clean := func(s string) string {
		s = imagePattern.ReplaceAllString(s, "")
		s = markerPattern.ReplaceAllString(s, "($1)")
		return s
	}
	text = linkPattern.ReplaceAllString(imagePattern.ReplaceAllString(text, ""), "$1")
	for _, span := range codeSpan.FindAllStringIndex(text, -1) {
		out.WriteString(clean(text[at:span[0]]))
		out.WriteString(text[span[0]:span[1]])
		at = span[1]
	}
	out.WriteString(clean(text[at:]))
	return strings.TrimSpace(out.String())
}
