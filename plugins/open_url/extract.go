package main

import (
	"log/slog"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxElements is how large a page may be for the extractor of articles, which
// goes over it many times.
const maxElements = 20_000

// mainContent returns the element that holds the content of a page that was
// decluttered: what the page marks, or the best guess.
func mainContent(doc *html.Node) *html.Node {
	body := first(doc, is(atom.Body))
	if body == nil {
		body = doc
	}
	w := weigh(body)
	if n := marked(body, w); n != nil {
		return n
	}
	thin(body)
	whole := weigh(body).all[body]
	if n := article(doc); n != nil {
		// An extractor of articles takes one column and leaves the rest of a forum,
		// a list or a table. It is right about articles only.
		if kept := weigh(n).all[n]; kept > 250 && 10*kept >= 6*whole {
			return n
		}
	}
	return body
}

// marked returns the element that the page itself marks as its content, nil for
// none.
func marked(body *html.Node, w weights) *html.Node {
	root := first(body, func(n *html.Node) bool { return n.DataAtom == atom.Main || attr(n, "role") == "main" })
	if root == nil || w.all[root] < 120 && 2*w.all[root] < w.all[body] {
		root = nil
	}
	in := root
	if in == nil {
		in = body
	}
	if n := only(in, w, func(n *html.Node) bool {
		return n.DataAtom == atom.Article || attr(n, "itemprop") == "articleBody" || attr(n, "role") == "article"
	}); n != nil {
		return n
	}
	return root
}

// only returns the one element that fits where it holds most of the text; of
// several side by side none is the content alone.
func only(in *html.Node, w weights, fits func(*html.Node) bool) *html.Node {
	var found []*html.Node
	elements(in, func(n *html.Node) bool {
		if fits(n) {
			found = append(found, n)
			return false
		}
		return true
	})
	if len(found) == 0 {
		return nil
	}
	best := found[0]
	for _, n := range found {
		if w.all[n] > w.all[best] {
			best = n
		}
	}
	rest := w.all[in] - w.all[best]
	for _, n := range found {
		// Another of a like size is a sibling, such as the next post.
		if n != best && 4*w.all[n] > w.all[best] {
			return nil
		}
	}
	if w.all[best] > 400 && w.all[best] > rest || len(found) == 1 && w.all[best] > 400 && 3*w.all[best] > rest {
		return best
	}
	return nil
}

// article is what the extractor of articles takes for the content, nil for
// nothing. It works on a copy.
func article(doc *html.Node) *html.Node {
	if count(doc) > maxElements {
		return nil
	}
	p := readability.NewParser()
	p.KeepClasses, p.DisableJSONLD, p.Logger = true, true, slog.New(slog.DiscardHandler)
	a, err := p.ParseDocument(doc, nil)
	if err != nil {
		return nil
	}
	return a.Node
}
