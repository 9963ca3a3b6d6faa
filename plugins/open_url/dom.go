package main

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// elements calls visit for each element below n, parents first, until visit
// returns false for one: then what is below that one is left out. A visited node
// may be removed by visit.
func elements(n *html.Node, visit func(*html.Node) bool) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.ElementNode && visit(child) {
			elements(child, visit)
		}
		child = next
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func remove(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

// rename makes another element of n, without its attributes.
func rename(n *html.Node, to atom.Atom) {
	n.DataAtom, n.Data, n.Attr = to, to.String(), nil
}

// first returns the first element below n that fits, nil for none.
func first(n *html.Node, fits func(*html.Node) bool) *html.Node {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode {
			if fits(child) {
				return child
			}
			if found := first(child, fits); found != nil {
				return found
			}
		}
	}
	return nil
}

func is(names ...atom.Atom) func(*html.Node) bool {
	return func(n *html.Node) bool {
		for _, a := range names {
			if n.DataAtom == a {
				return true
			}
		}
		return false
	}
}

// inside tells whether an ancestor of n fits.
func inside(n *html.Node, fits func(*html.Node) bool) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && fits(p) {
			return true
		}
	}
	return false
}

// count is the number of elements below n.
func count(n *html.Node) int {
	sum := 0
	elements(n, func(*html.Node) bool { sum++; return true })
	return sum
}

// joinTexts makes one node of texts that stand side by side.
func joinTexts(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type != html.TextNode {
			joinTexts(child)
			continue
		}
		if next := child.NextSibling; next == nil || next.Type != html.TextNode {
			continue
		}
		var b strings.Builder
		b.WriteString(child.Data)
		for next := child.NextSibling; next != nil && next.Type == html.TextNode; next = child.NextSibling {
			b.WriteString(next.Data)
			n.RemoveChild(next)
		}
		child.Data = b.String()
	}
}

// lines is the text below n, each block on a line of its own.
func lines(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			switch {
			case child.Type == html.TextNode:
				b.WriteString(child.Data)
			case child.Type == html.ElementNode && !unread(child):
				if blockTags[child.DataAtom] {
					b.WriteByte('\n')
				}
				walk(child)
				if child.DataAtom == atom.Td || child.DataAtom == atom.Th {
					b.WriteByte(' ')
				}
			}
		}
	}
	walk(n)
	return b.String()
}

// weights counts the characters of text below each element, and those of them
// in links. They are of one moment: what is removed later still counts.
type weights struct {
	all, links map[*html.Node]int
}

func weigh(root *html.Node) weights {
	w := weights{map[*html.Node]int{}, map[*html.Node]int{}}
	w.node(root, false)
	return w
}

func (w weights) node(n *html.Node, linked bool) (all, links int) {
	switch n.Type {
	case html.TextNode:
		all = letters(n.Data)
		if linked {
			links = all
		}
		return all, links
	case html.ElementNode, html.DocumentNode:
	default:
		return 0, 0
	}
	if unread(n) {
		return 0, 0
	}
	linked = linked || n.DataAtom == atom.A
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		a, l := w.node(child, linked)
		all, links = all+a, links+l
	}
	w.all[n], w.links[n] = all, links
	return all, links
}

// unread are elements whose text nobody reads.
var unread = is(atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Iframe, atom.Object, atom.Svg,
	atom.Select,
	atom.Textarea, atom.Title)

func letters(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// textOf is the text below n in one piece, at most about n bytes.
func textOf(n *html.Node, most int) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for child := n.FirstChild; child != nil && b.Len() < most; child = child.NextSibling {
			switch {
			case child.Type == html.TextNode:
				b.WriteString(child.Data)
			case child.Type == html.ElementNode && !unread(child):
				b.WriteByte(' ')
				walk(child)
			}
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}
