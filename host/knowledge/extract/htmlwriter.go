package extract

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxPrefix is how many lists and quotations a line is indented for. What is
// nested deeper keeps this indent, so that text never outgrows its page.
const maxPrefix = 8

// htmlWriter writes Markdown while it walks a page. Inline text gathers in
// line; endBlock writes it out as one block.
type htmlWriter struct {
	out    strings.Builder
	line   strings.Builder
	space  bool     // white space is due before the next inline text
	prefix []string // of continued lines: list indents and quotation marks
	marker string   // of the next block: the bullet of an item that just began
	tight  bool     // no blank line before the next block
	fresh  int      // prefixes since the last block; the blank line before a block is not theirs
	titled map[*html.Node]bool
}

// blocks writes the children of a container.
func (w *htmlWriter) blocks(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

func (w *htmlWriter) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.inline(n.Data)
		return
	case html.ElementNode:
	default:
		w.blocks(n) // the document itself; comments and doctypes have no children
		return
	}
	if w.hidden(n) {
		return
	}
	if !blockLevel[n.DataAtom] {
		w.span(n)
		return
	}
	w.endBlock()
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if text := clip(textOf(n), 1000); text != "" {
			w.emit(strings.Repeat("#", int(n.Data[1]-'0')) + " " + escapeTail(text))
		}
	case atom.Pre:
		w.pre(n)
	case atom.Hr:
		w.emit("---")
	case atom.Blockquote:
		w.nested("> ", "", func() { w.blocks(n) })
	case atom.Ul, atom.Ol, atom.Menu:
		w.list(n)
	case atom.Table:
		w.table(n)
	default:
		w.blocks(n)
		w.endBlock()
	}
}

// span writes an inline element.
func (w *htmlWriter) span(n *html.Node) {
	switch n.DataAtom {
	case atom.Br:
		w.line.WriteString("\n")
		w.space = false
	case atom.Img:
		if alt := clip(attr(n, "alt"), 300); alt != "" {
			w.inline(" " + alt + " ")
		}
	case atom.A:
		w.link(n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		text := strings.Join(strings.Fields(textOf(n)), " ")
		if text != "" && !strings.Contains(text, "`") {
			w.raw("`" + text + "`")
			return
		}
		w.inline(text)
	default:
		w.blocks(n)
	}
}

// link keeps text and address in Markdown's form. Nothing is ever fetched from
// the address; one that runs a script is dropped.
func (w *htmlWriter) link(n *html.Node) {
	href := strings.TrimSpace(attr(n, "href"))
	text := clip(textOf(n), 1000)
	scheme, _, colon := strings.Cut(href, ":")
	safe := !colon || strings.ContainsAny(scheme, "/?#") || linkScheme.MatchString(scheme)
	if href == "" || text == "" || strings.HasPrefix(href, "#") || !safe || strings.ContainsAny(href, " \n\t()<>") ||
		len(href) > 2000 {
		w.blocks(n)
		return
	}
	w.raw("[" + strings.NewReplacer("[", "\\[", "]", "\\]").Replace(text) + "](" + href + ")")
}

var linkScheme = regexp.MustCompile(`^(?i:https?|mailto|ftp)$`)

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// inline adds text with its white space folded.
func (w *htmlWriter) inline(text string) {
	for i, word := range strings.Fields(text) {
		if i > 0 || startsWithSpace(text) {
			w.space = true
		}
		w.raw(word)
	}
	if text != "" && (strings.TrimSpace(text[len(text)-1:]) == "") {
		w.space = true
	}
}

func startsWithSpace(s string) bool { return strings.TrimSpace(s[:1]) == "" }

func (w *htmlWriter) raw(s string) {
	if w.space && w.line.Len() > 0 && !strings.HasSuffix(w.line.String(), "\n") {
		w.line.WriteByte(' ')
	}
	w.space = false
	w.line.WriteString(s)
}

// endBlock writes the gathered inline text as a paragraph.
func (w *htmlWriter) endBlock() {
	text := strings.TrimSpace(w.line.String())
	w.line.Reset()
	w.space = false
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = escapeLine(strings.TrimSpace(l))
	}
	w.emit(lines...)
}

// emit writes one block of lines below the prefix.
func (w *htmlWriter) emit(lines ...string) {
	prefix := strings.Join(w.prefix[:min(len(w.prefix), maxPrefix)], "")
	if w.out.Len() > 0 && !w.tight {
		outer := w.prefix[:min(len(w.prefix)-w.fresh, maxPrefix)]
		w.out.WriteString(strings.TrimRight(strings.Join(outer, ""), " ") + "\n")
	}
	w.tight, w.fresh = false, 0
	for i, l := range lines {
		lead := prefix
		if i == 0 && w.marker != "" {
			lead = strings.TrimSuffix(prefix, strings.Repeat(" ", len(w.marker))) + w.marker
			w.marker = ""
		}
		w.out.WriteString(strings.TrimRight(lead+l, " "))
		w.out.WriteByte('\n')
	}
}

// nested runs body with one more prefix, and with a bullet if it has one.
func (w *htmlWriter) nested(prefix, marker string, body func()) {
	if len(w.prefix) >= maxPrefix {
		body()
		w.endBlock()
		return
	}
	w.prefix = append(w.prefix, prefix)
	w.fresh++
	if marker != "" {
		w.marker = marker
	}
	body()
	w.endBlock()
	w.marker = ""
	w.fresh = max(0, w.fresh-1)
	w.prefix = w.prefix[:len(w.prefix)-1]
}

func (w *htmlWriter) list(n *html.Node) {
	number := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Li {
			w.node(c)
			continue
		}
		if w.hidden(c) {
			continue
		}
		w.endBlock()
		marker := "- "
		if n.DataAtom == atom.Ol {
			number++
			marker = strconv.Itoa(number) + ". "
		}
		w.tight = w.tight || number > 1 || n.DataAtom != atom.Ol && c.PrevSibling != nil && w.out.Len() > 0 &&
			follows(c)
		w.nested(strings.Repeat(" ", len(marker)), marker, func() { w.blocks(c) })
	}
	w.endBlock()
	w.tight = false
}

// follows reports whether an item comes after another one.
func follows(n *html.Node) bool {
	for p := n.PrevSibling; p != nil; p = p.PrevSibling {
		if p.DataAtom == atom.Li {
			return true
		}
	}
	return false
}

// pre writes a fenced code block, with a fence longer than any inside.
func (w *htmlWriter) pre(n *html.Node) {
	text := strings.Trim(textOf(n), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	lines := append([]string{fence}, strings.Split(text, "\n")...)
	w.emit(append(lines, fence)...)
}

// escapeLine keeps a line of text from being read as a block's start.
func escapeLine(s string) string {
	if s == "" {
		return s
	}
	if s[0] == '#' || s[0] == '>' || s[0] == '|' || s[0] == '=' || strings.HasPrefix(s, "```") ||
		strings.HasPrefix(s, "~~~") ||
		strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "+ ") || strings.HasPrefix(s, "* ") || s == "-" ||
		s == "+" || s == "*" ||
		rule.MatchString(s) {
		return `\` + s
	}
	if m := ordinal.FindStringIndex(s); m != nil {
		return s[:m[1]-1] + `\` + s[m[1]-1:]
	}
	return s
}

// escapeTail keeps trailing marks of a heading.
func escapeTail(s string) string {
	if strings.HasSuffix(s, "#") {
		return s[:len(s)-1] + `\#`
	}
	return s
}

var (
	rule    = regexp.MustCompile(`^([-*_])[ \t]*(?:[-*_][ \t]*){2,}$|^-+$`)
	ordinal = regexp.MustCompile(`^\d{1,9}[.)](?:$|\s)`)
)
