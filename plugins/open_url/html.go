package main

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// fromHTML makes the page's text of HTML. The error is a sentence where the page
// shows nothing to read.
func (p *page) fromHTML(source string) (err error) {
	doc, parseErr := parse(source)
	if parseErr != nil {
		// What is nested beyond all sense still has its words.
		p.Text = tidy(plain(source))
		return wall(facts{text: p.Text, url: p.URL})
	}
	f := look(doc, p.URL)
	p.Title, p.Date = metadata(doc)
	base := baseOf(doc, p.URL)
	declutter(doc)
	root := mainContent(doc)
	f.text = p.render(root, base)
	p.Text = f.text
	return wall(f)
}

// maxConverted is how many elements are made Markdown of. The converter takes
// more than its share of time for each beyond that; the text comes without marks
// then.
const maxConverted = 50_000

// render makes Markdown of the content; where the converter fails, plain text.
func (p *page) render(root *html.Node, base *url.URL) (text string) {
	defer func() {
		if r := recover(); r != nil { // a page must not end the call for the others
			text = tidy(lines(root))
		}
	}()
	prepare(root, base)
	joinTexts(root)
	if count(root) > maxConverted {
		return tidy(lines(root))
	}
	out, err := convert(root)
	if err != nil {
		return tidy(lines(root))
	}
	return tidy(out)
}

// parse reads HTML. The error says that it is nested too deeply.
func parse(source string) (doc *html.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, fmt.Errorf("%w: %v", errDeep, r)
		}
	}()
	return html.ParseWithOptions(strings.NewReader(source), html.ParseOptionEnableScripting(false))
}

// plain is the text of HTML without a tree.
func plain(source string) string {
	z := html.NewTokenizer(strings.NewReader(source))
	var out strings.Builder
	skip := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			if skip == 0 {
				out.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.Script || a == atom.Style || a == atom.Title {
				skip++
			} else if blockTags[a] {
				out.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); (a == atom.Script || a == atom.Style || a == atom.Title) && skip > 0 {
				skip--
			}
		}
	}
}

var blockTags = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Tr: true, atom.H1: true, atom.H2: true,
	atom.H3: true, atom.H4: true,
	atom.H5: true, atom.H6: true, atom.Pre: true, atom.Section: true, atom.Article: true, atom.Blockquote: true,
	atom.Table: true,
}

// baseOf is what the links of a page are relative to.
func baseOf(doc *html.Node, address string) *url.URL {
	base, err := url.Parse(address)
	if err != nil {
		base = &url.URL{}
	}
	if n := first(doc, is(atom.Base)); n != nil {
		if u, err := url.Parse(attr(n, "href")); err == nil {
			base = base.ResolveReference(u)
		}
	}
	return base
}
