package main

import (
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var markdown = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithHorizontalRule("---"),
			commonmark.WithListEndComment(false),
		),
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithSkipEmptyRows(true),
		),
	))
})

// convert makes Markdown of what prepare made ready.
func convert(root *html.Node) (string, error) {
	out, err := markdown().ConvertNode(root)
	return string(out), err
}

// prepare turns what Markdown cannot say into what it can: links are absolute or
// gone, images are their description, tables for layout are blocks, and code that
// is set by lines keeps them.
func prepare(root *html.Node, base *url.URL) {
	elements(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.A:
			link(n, base)
		case atom.Img, atom.Picture:
			picture(n)
			return false
		case atom.Table:
			layoutTable(n)
		case atom.Td, atom.Th:
			n.Attr = spans(n)
		case atom.Pre:
			code(n)
			return false
		case atom.Dt:
			rename(n, atom.P)
			emphasise(n)
		case atom.Dd, atom.Figcaption, atom.Summary, atom.Address, atom.Caption:
			if n.DataAtom != atom.Caption {
				rename(n, atom.P)
			}
		case atom.Sup, atom.Sub:
			// A number that is raised must not join the word before it.
			if t := textOf(n, 40); n.DataAtom == atom.Sup && t != "" && !strings.HasPrefix(t, "[") && letters(t) < 4 {
				n.InsertBefore(&html.Node{Type: html.TextNode, Data: "^"}, n.FirstChild)
			}
		}
		return true
	})
}

// maxSpan bounds how many columns or rows a cell may cover: each is written out.
const maxSpan = 20

// spans keeps the spans of a cell that are of a size to draw.
func spans(n *html.Node) []html.Attribute {
	var kept []html.Attribute
	for _, a := range n.Attr {
		if v, err := strconv.Atoi(strings.TrimSpace(a.Val)); (a.Key == "colspan" || a.Key == "rowspan") && err == nil &&
			v > 1 {
			kept = append(kept, html.Attribute{Key: a.Key, Val: strconv.Itoa(min(v, maxSpan))})
		}
	}
	return kept
}

func emphasise(n *html.Node) {
	strong := &html.Node{Type: html.ElementNode, DataAtom: atom.Strong, Data: "strong"}
	for n.FirstChild != nil {
		child := n.FirstChild
		n.RemoveChild(child)
		strong.AppendChild(child)
	}
	n.AppendChild(strong)
}

// link keeps a link that leads to another web page and makes it absolute.
func link(n *html.Node, base *url.URL) {
	href := strings.TrimSpace(attr(n, "href"))
	u, err := url.Parse(href)
	if err != nil || href == "" || strings.HasPrefix(href, "#") {
		unwrapLink(n)
		return
	}
	u = base.ResolveReference(u)
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" || len(u.String()) > 500 {
		unwrapLink(n)
		return
	}
	// A mark beside a heading that links to the heading says nothing.
	if t := textOf(n, 8); t == "#" || t == "¶" || t == "§" || t == "🔗" {
		n.Attr = nil
		for n.FirstChild != nil {
			n.RemoveChild(n.FirstChild)
		}
		return
	}
	n.Attr = []html.Attribute{{Key: "href", Val: u.String()}}
}

// unwrapLink leaves the text of a link. The element stays, so that the walk that
// is at it goes on.
func unwrapLink(n *html.Node) {
	if t := textOf(n, 8); t == "¶" || t == "#" || t == "🔗" {
		for n.FirstChild != nil {
			n.RemoveChild(n.FirstChild)
		}
	}
	rename(n, atom.Span)
}

// picture leaves the description of an image. No address of an image goes out:
// whatever shows the text would fetch it.
func picture(n *html.Node) {
	alt := attr(n, "alt")
	if n.DataAtom == atom.Picture {
		if img := first(n, is(atom.Img)); img != nil {
			alt = attr(img, "alt")
		}
	}
	if alt = oneLine(alt, 200); letters(alt) > 2 {
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: "[Image: " + alt + "]"}, n)
	}
	remove(n)
}

// layoutTable makes blocks of a table that only places things: one that holds
// another table or blocks, or has a single column.
func layoutTable(n *html.Node) {
	nested := first(n, is(atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.Ul, atom.Ol, atom.Pre, atom.Blockquote,
		atom.Article, atom.Section)) != nil
	columns, paragraphs := 0, false
	elements(n, func(c *html.Node) bool {
		switch c.DataAtom {
		case atom.Tr:
			cells := 0
			for cell := c.FirstChild; cell != nil; cell = cell.NextSibling {
				if cell.Type == html.ElementNode {
					cells++
				}
			}
			columns = max(columns, cells)
		case atom.Td, atom.Th:
			ps := 0
			for child := c.FirstChild; child != nil; child = child.NextSibling {
				if child.Type == html.ElementNode && (child.DataAtom == atom.P || child.DataAtom == atom.Div) {
					ps++
				}
			}
			paragraphs = paragraphs || ps > 1
			return false
		}
		return true
	})
	if !nested && !paragraphs && columns > 1 && attr(n, "role") != "presentation" {
		return
	}
	elements(n, func(c *html.Node) bool {
		if is(atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption)(c) {
			rename(c, atom.Div)
		}
		return c.DataAtom != atom.Table
	})
	rename(n, atom.Div)
}

// code makes a pre hold one code element with its text, lines and language.
func code(n *html.Node) {
	language := ""
	for c := n; c != nil && language == ""; {
		language = languageOf(attr(c, "class"))
		if c == n {
			if language == "" && n.Parent != nil {
				language = languageOf(attr(n.Parent, "class"))
			}
			c = first(n, is(atom.Code))
		} else {
			c = nil
		}
	}
	text := preText(n)
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	inner := &html.Node{Type: html.ElementNode, DataAtom: atom.Code, Data: "code"}
	if language != "" {
		inner.Attr = []html.Attribute{{Key: "class", Val: "language-" + language}}
	}
	inner.AppendChild(&html.Node{Type: html.TextNode, Data: strings.TrimRight(text, "\n ")})
	n.Attr = nil
	n.AppendChild(inner)
}

func languageOf(class string) string {
	for _, c := range strings.Fields(class) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-", "brush:"} {
			if name, ok := strings.CutPrefix(c, prefix); ok && name != "" && len(name) < 30 && name != "wrapper" &&
				name != "default" {
				return name
			}
		}
	}
	return ""
}

// preText is text with its lines; an element per line ends its line.
func preText(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				b.WriteString(c.Data)
			case c.DataAtom == atom.Br:
				b.WriteByte('\n')
			case c.Type == html.ElementNode:
				walk(c)
				if (c.DataAtom == atom.Div || c.DataAtom == atom.P || c.DataAtom == atom.Li || c.DataAtom == atom.Tr) &&
					!strings.HasSuffix(b.String(), "\n") {
					b.WriteByte('\n')
				}
			}
		}
	}
	walk(n)
	return b.String()
}
