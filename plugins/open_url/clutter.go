package main

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// clutterWords are the words by which pages name what surrounds their content,
// in the class or the id of an element.
var clutterWords = regexp.MustCompile(`(?i)(?:^|[\s_-])(?:` +
	`cookies?|cookiebar|consent|gdpr|ccpa|onetrust|didomi|cmp|` +
	`newsletter|subscribe|subscription|signup|sign-up|paywall|` +
	`share|sharing|sharebar|social|socials|addthis|follow-us|` +
	`related|recommended|recommendations|read-more|more-stories|most-read|trending|popular|outbrain|taboola|` +
	`sidebar|side-bar|sidenav|rail|widget|widgets|` +
	`breadcrumb|breadcrumbs|menu|submenu|navbar|nav|navigation|navigator|toolbar|topbar|skip-link|skiplink|toc|table-of-contents|` +
	`ad|ads|adbox|advert|advertisement|advertising|sponsor|sponsored|promo|promotion|promoted|` +
	`popup|pop-up|modal|overlay|lightbox|toast|banner|masthead|site-header|site-footer|page-footer|footer|` +
	`pagination|pager|prev-next|edit-page|editsection|headerlink|linenos|lineno|line-numbers|gutter|copy-button|copybtn|` +
	`search-form|searchbox|feedback|rating|disqus_thread|print-only|sr-only|visually-hidden|screen-reader-text|noprint` +
	`)(?:$|[\s_-])`)

// clutterRoles are the roles of what surrounds content.
var clutterRoles = map[string]bool{
	"navigation": true, "banner": true, "contentinfo": true, "complementary": true, "dialog": true, "alertdialog": true,
	"search": true,
	"menu":   true, "menubar": true, "toolbar": true, "alert": true,
}

var hiddenStyle = regexp.MustCompile(`(?i)(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|em|rem|%)?\s*(?:;|$)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$)|(?:left|top|text-indent)\s*:\s*-\d{3,})`)

// never are elements that hold no content to read.
var never = is(atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object, atom.Embed, atom.Svg,
	atom.Canvas,
	atom.Video, atom.Audio, atom.Input, atom.Select, atom.Textarea, atom.Button, atom.Nav, atom.Dialog, atom.Map,
	atom.Link, atom.Meta)

// declutter removes from a page what is not its content. An element that holds
// the larger part of the text stays, whatever it is called.
func declutter(root *html.Node) {
	w := weigh(root)
	total := w.all[root]
	elements(root, func(n *html.Node) bool {
		switch {
		case n.DataAtom == atom.Math:
			n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: formula(n)}, n)
			remove(n)
			return false
		case never(n) || hidden(n):
			remove(n)
			return false
		case 2*w.all[n] > total && total > 0:
			return true
		case surrounds(n, w):
			remove(n)
			return false
		}
		return true
	})
	dropComments(root)
}

// hidden tells whether a person does not see an element.
func hidden(n *html.Node) bool {
	return hasAttr(n, "hidden") && attr(n, "hidden") != "until-found" || attr(n, "aria-hidden") == "true" &&
		n.DataAtom != atom.Pre && n.DataAtom != atom.Code ||
		hiddenStyle.MatchString(attr(n, "style"))
}

// surrounds tells whether an element is around the content.
func surrounds(n *html.Node, w weights) bool {
	switch n.DataAtom {
	case atom.Html, atom.Body, atom.Main, atom.Table, atom.Tbody, atom.Tr, atom.Td, atom.Th, atom.Code, atom.Pre,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P:
		return n.DataAtom == atom.Td && named1(n, "gutter", "linenos", "lineno", "line-numbers") ||
			n.DataAtom == atom.P && isClutter(n) && w.all[n] < 200
	case atom.Header:
		return !inside(n, content)
	case atom.Footer:
		return !inside(n, is(atom.Blockquote, atom.Figure))
	case atom.Aside:
		return !inside(n, content) || 2*w.links[n] > w.all[n] || isClutter(n)
	case atom.Article:
		return isClutter(n) && inside(n, content)
	}
	return clutterRoles[strings.ToLower(attr(n, "role"))] || isClutter(n)
}

var content = is(atom.Main, atom.Article, atom.Section)

func isClutter(n *html.Node) bool {
	return clutterWords.MatchString(attr(n, "class")) || clutterWords.MatchString(attr(n, "id"))
}

// named1 tells whether one of the words stands in the class of n.
func named1(n *html.Node, words ...string) bool {
	for _, class := range strings.Fields(attr(n, "class")) {
		for _, w := range words {
			if class == w {
				return true
			}
		}
	}
	return false
}

// formula is a formula as TeX where the page has that, else as its letters.
func formula(n *html.Node) string {
	tex := first(n, func(n *html.Node) bool {
		return n.Data == "annotation" && strings.Contains(attr(n, "encoding"), "tex")
	})
	if tex != nil {
		return " $" + textOf(tex, 2000) + "$ "
	}
	return " " + textOf(n, 2000) + " "
}

func dropComments(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.CommentNode {
			n.RemoveChild(child)
		} else {
			dropComments(child)
		}
		child = next
	}
}

// thin removes blocks that are little more than links: lists of other pages,
// bars, tags. Where that would leave less than a third, the links are the
// content, and nothing is removed. It is for pages that mark nothing.
func thin(root *html.Node) {
	w := weigh(root)
	var doomed []*html.Node
	lost := 0
	elements(root, func(n *html.Node) bool {
		if !bar(n) || w.all[n] == 0 {
			return true
		}
		if manyLinks(n) && 10*w.links[n] > 7*w.all[n] && (w.all[n] < 1500 || 10*w.links[n] > 9*w.all[n]) {
			doomed = append(doomed, n)
			lost += w.all[n]
			return false
		}
		return true
	})
	if 3*(w.all[root]-lost) < w.all[root] {
		return
	}
	for _, n := range doomed {
		remove(n)
	}
}

// manyLinks tells a list of links from a name that happens to be one.
func manyLinks(n *html.Node) bool {
	count := 0
	elements(n, func(c *html.Node) bool {
		if c.DataAtom == atom.A {
			count++
		}
		return count < 3
	})
	return count >= 3
}

var bar = is(atom.Div, atom.Ul, atom.Ol, atom.Section, atom.Aside, atom.Td, atom.Center, atom.Table, atom.Span, atom.P)
