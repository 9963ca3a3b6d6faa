package main

import (
	"encoding/xml"
	"io"
	"net/url"
	"slices"
	"strings"
)

// maxEntries is how many entries of a feed are read, the first ones.
const maxEntries = 100

// feed is a news feed: RSS 0.9x, 1.0 and 2.0 (rssboard.org), or Atom (RFC 4287).
type feed struct {
	title, about, date string
	entries            []entry
}

// entry is one piece of news.
type entry struct {
	title, link, date string
	// html is the longest text that the entry gives of itself.
	html string
}

// isFeed tells whether XML is a feed, by its first element.
func isFeed(text string) bool {
	d := feedDecoder(clip(text, 4096))
	for {
		switch token, err := d.Token(); t := token.(type) {
		case xml.StartElement:
			return t.Name.Local == "rss" || t.Name.Local == "RDF" || t.Name.Local == "feed"
		default:
			if err != nil {
				return false
			}
		}
	}
}

func feedDecoder(text string) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, nil, xml.HTMLEntity
	// The text was decoded already, whatever its declaration says.
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return d
}

// readFeed reads what it can: a feed that ends early has the entries before.
func readFeed(text string) feed {
	var f feed
	d := feedDecoder(text)
	for len(f.entries) <= maxEntries {
		token, err := d.Token()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "item", "entry":
			f.entries = append(f.entries, readEntry(d))
		case "image", "textInput", "author", "generator":
			_ = d.Skip() // what cannot be skipped ends the next token too
		case "title":
			f.title = longer(f.title, plain(inner(d)))
		case "description", "subtitle", "tagline":
			f.about = longer(f.about, inner(d))
		case "pubDate", "lastBuildDate", "updated", "date":
			f.date = longer(f.date, readDate(inner(d)))
		}
	}
	return f
}

func readEntry(d *xml.Decoder) entry {
	var e entry
	for {
		token, err := d.Token()
		if err != nil {
			return e
		}
		switch t := token.(type) {
		case xml.EndElement:
			return e
		case xml.StartElement:
			e.take(d, t)
		}
	}
}

func (e *entry) take(d *xml.Decoder, t xml.StartElement) {
	switch t.Name.Local {
	case "title":
		e.title = longer(e.title, plain(inner(d)))
	case "link":
		href, rel := attribute(t, "href"), attribute(t, "rel")
		text := inner(d)
		if href == "" {
			href = strings.TrimSpace(text)
		}
		if e.link == "" || rel == "alternate" {
			e.link = href
		}
	case "pubDate", "published", "updated", "date":
		e.date = longer(e.date, readDate(inner(d)))
	case "description", "summary", "content", "encoded":
		if text := inner(d); len(text) > len(e.html) {
			e.html = text
		}
	default:
		_ = d.Skip() // as above
	}
}

// longer keeps the first that is not empty.
func longer(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// inner returns what stands in an element, to its end: text as it is, and
// elements, which Atom allows as XHTML, as the tags they are.
func inner(d *xml.Decoder) string {
	var b strings.Builder
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			b.WriteString("<" + t.Name.Local)
			if href := attribute(t, "href"); href != "" {
				b.WriteString(` href="` + strings.ReplaceAll(href, `"`, "%22") + `"`)
			}
			b.WriteString(">")
		case xml.EndElement:
			if depth--; depth < 0 {
				return b.String()
			}
			b.WriteString("</" + t.Name.Local + ">")
		case xml.CharData:
			b.Write(t)
		}
	}
}

// fromFeed makes the page's text of a feed: each entry under a heading with its
// address, its date and its text. ok is false where it says nothing; then the
// page is as it was.
func (p *page) fromFeed(source string) (ok bool) {
	f := readFeed(source)
	if f.title == "" && !slices.ContainsFunc(f.entries, func(e entry) bool { return e != entry{} }) {
		return false
	}
	p.Title, p.Date = oneLine(f.title, 200), f.date
	base, err := url.Parse(p.URL)
	if err != nil {
		base = &url.URL{}
	}
	var b strings.Builder
	b.WriteString("# " + oneLine(f.title, 200) + "\n\n" + p.fragment(f.about, base) + "\n")
	for i, e := range f.entries {
		if i == maxEntries {
			b.WriteString("\n(There are more entries; only the first are shown.)\n")
			break
		}
		b.WriteString("\n## " + oneLine(longer(e.title, "Untitled"), 300) + "\n\n")
		if u, err := base.Parse(strings.TrimSpace(e.link)); err == nil && e.link != "" &&
			(u.Scheme == "http" || u.Scheme == "https") {
			b.WriteString(u.String() + "\n")
		}
		if day, _, dated := strings.Cut(e.date, "T"); dated {
			b.WriteString(day + "\n")
		}
		b.WriteString("\n" + p.fragment(e.html, base) + "\n")
	}
	p.Text = tidy(b.String())
	return true
}

// fragment makes Markdown of a piece of HTML.
func (p *page) fragment(source string, base *url.URL) string {
	if !strings.ContainsAny(source, "<&") {
		return source
	}
	doc, err := parse(source)
	if err != nil {
		return plain(source)
	}
	declutter(doc)
	return p.render(doc, base)
}
