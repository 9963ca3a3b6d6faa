package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// fromHTML rewrites a page as Markdown. Of the page it keeps what a reader
// came for: the main or body element without scripts, styles, forms' controls
// and navigation. The title is the title element's, else the first h1's.
func fromHTML(src string) (title, text string, err error) {
	root, err := html.Parse(strings.NewReader(src))
	if err != nil {
		// Reading from memory cannot fail; the parser's one limit is its depth.
		return "", "", ErrTooDeep
	}
	page := survey(root)
	w := htmlWriter{titled: page.titled}
	w.blocks(page.content(root))
	w.endBlock()
	title = page.title
	if title == "" {
		title = page.heading
	}
	return title, strings.TrimSpace(w.out.String()) + "\n", nil
}

// landmarks are the places of a page that a first walk finds.
type landmarks struct {
	title, heading string
	main           *html.Node
	mains          int
	titled         map[*html.Node]bool // elements that hold an h1
}

// content is the only main element, or the whole page.
func (l landmarks) content(root *html.Node) *html.Node {
	if l.mains == 1 {
		return l.main
	}
	return root
}

func survey(root *html.Node) landmarks {
	l := landmarks{titled: map[*html.Node]bool{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Title:
			if l.title == "" && (n.Namespace == "") {
				l.title = clip(textOf(n), maxTitle)
			}
		case atom.H1:
			for p := n.Parent; p != nil && !l.titled[p]; p = p.Parent {
				l.titled[p] = true
			}
			if l.heading == "" {
				l.heading = clip(textOf(n), maxTitle)
			}
		case atom.Main:
			l.main = n
			l.mains++
		}
	}
	return l
}

// textOf joins the text below n, markup dropped.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !unread[d.Parent.DataAtom] {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// unread are the elements that hold nothing that a reader reads.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Head: true, atom.Nav: true,
	atom.Iframe: true, atom.Object: true, atom.Svg: true, atom.Math: true, atom.Canvas: true, atom.Audio: true,
	atom.Video: true, atom.Button: true, atom.Select: true, atom.Input: true, atom.Textarea: true,
	atom.Dialog: true, atom.Datalist: true,
}

// hidden reports whether an element is not shown or is the page's clutter. A
// banner that holds the page's heading stays.
func (w *htmlWriter) hidden(n *html.Node) bool {
	switch {
	case unread[n.DataAtom]:
		return true
	case n.DataAtom == atom.Footer || n.DataAtom == atom.Aside:
		return pageLevel(n)
	case n.DataAtom == atom.Header:
		return pageLevel(n) && !w.titled[n]
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "role":
			if a.Val == "navigation" || a.Val == "search" || a.Val == "banner" && !w.titled[n] {
				return true
			}
		}
	}
	return false
}

// pageLevel reports whether n belongs to the page and not to an article in it.
func pageLevel(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.DataAtom == atom.Article || p.DataAtom == atom.Main || p.DataAtom == atom.Section {
			return false
		}
	}
	return true
}

// blockLevel are the elements that start a line of their own.
var blockLevel = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true,
	atom.Caption: true, atom.Center: true, atom.Dd: true, atom.Details: true, atom.Div: true, atom.Dl: true,
	atom.Dt: true, atom.Fieldset: true, atom.Figcaption: true, atom.Figure: true, atom.Footer: true,
	atom.Form: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	atom.Header: true, atom.Hgroup: true, atom.Hr: true, atom.Html: true, atom.Legend: true, atom.Li: true,
	atom.Main: true, atom.Menu: true, atom.Ol: true, atom.P: true, atom.Pre: true, atom.Search: true,
	atom.Section: true, atom.Summary: true, atom.Table: true, atom.Tbody: true, atom.Td: true, atom.Tfoot: true,
	atom.Th: true, atom.Thead: true, atom.Tr: true, atom.Ul: true,
}
