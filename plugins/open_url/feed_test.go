package main

import (
	"strings"
	"testing"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

func openedAs(t *testing.T, contentType, body string) page {
	t.Helper()
	p, err := read("https://site.example/feed", pdk.HTTPResult{Response: pdk.HTTPResponse{
		Status: 200, Headers: map[string]string{"content-type": contentType}, FinalURL: "https://site.example/feed",
		Body: []byte(body),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAFeedIsReadAsItsEntries(t *testing.T) {
	want := []string{"# Harbour news", "## The light & the tower", "https://site.example/news/1", "2026-02-03",
		"It burns **again**, says [the keeper](https://site.example/keeper).",
		"## Second", "https://other.example/2", "Plain words."}
	for name, c := range map[string]struct{ contentType, body string }{
		"RSS 2.0": {"application/rss+xml", `<?xml version="1.0" encoding="utf-8"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>Harbour news</title><link>https://site.example/</link><description>All of it</description><image><title>Logo</title></image><lastBuildDate>Tue, 03 Feb 2026 10:00:00 GMT</lastBuildDate>
<item><title>The light &amp; the tower</title><link>/news/1</link><pubDate>Tue, 03 Feb 2026 10:00:00 GMT</pubDate><description>Short.</description>
<content:encoded><![CDATA[<p>It burns <b>again</b>, says <a href="/keeper">the keeper</a>.<script>alert(1)</script><img src="https://spy.example/x.gif"></p>]]></content:encoded></item>
<item><title>Second</title><link>https://other.example/2</link><description>Plain words.</description></item></channel></rss>`},
		"Atom": {"application/atom+xml; charset=utf-8",
			`<feed xmlns="http://www.w3.org/2005/Atom"><title>Harbour news</title><subtitle>All of it</subtitle><updated>2026-02-03T10:00:00Z</updated><author><name>x</name></author>
<entry><title type="html">The light &amp;amp; the tower</title><link rel="self" href="https://site.example/self"/><link rel="alternate" href="/news/1"/><updated>2026-02-03T10:00:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>It burns <strong>again</strong>, says <a href="/keeper">the keeper</a>.</p></div></content></entry>
<entry><title>Second</title><link href="https://other.example/2"/><summary>Plain words.</summary></entry></feed>`},
		"RSS 1.0 as text": {"text/xml", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Harbour news</title></channel>
<item><title>The light &#38; the tower</title><link>https://site.example/news/1</link><dc:date>2026-02-03</dc:date><description>&lt;p>It burns &lt;b>again&lt;/b>, says &lt;a href="/keeper">the keeper&lt;/a>.&lt;/p></description></item>
<item><title>Second</title><link>https://other.example/2</link><description>Plain words.</description></item></rdf:RDF>`},
	} {
		p := openedAs(t, c.contentType, c.body)
		rest := p.Text
		for _, piece := range want {
			_, after, found := strings.Cut(rest, piece)
			if !found {
				t.Errorf("%s: %q is missing or out of order in\n%s", name, piece, p.Text)
				break
			}
			rest = after
		}
		if p.Title != "Harbour news" || strings.Contains(p.Text, "alert") || strings.Contains(p.Text, "spy.example") ||
			strings.Contains(p.Text, "Logo") {
			t.Errorf("%s: %q\n%s", name, p.Title, p.Text)
		}
	}
}

func TestOtherXMLStaysAsItIs(t *testing.T) {
	body := `<?xml version="1.0"?><config><title>x</title></config>`
	if p := openedAs(t, "application/xml", body); p.Text != body {
		t.Errorf("%s", p.Text)
	}
}

func TestABrokenFeedHasItsEntriesSoFar(t *testing.T) {
	p := openedAs(t, "application/rss+xml", `<rss><channel><title>T</title><item><title>One</title><link>javascript:alert(1)</link></item><item><title>Two &nbsp; & more`)
	if !strings.Contains(p.Text, "## One") || strings.Contains(p.Text, "javascript") {
		t.Errorf("%s", p.Text)
	}
	many := "<rss><channel><title>T</title>" + strings.Repeat("<item><title>E</title></item>", 1000)
	if p = openedAs(t, "application/rss+xml", many); strings.Count(p.Text, "## E") != maxEntries ||
		!strings.Contains(p.Text, "There are more entries") {
		t.Errorf("%d entries", strings.Count(p.Text, "## E"))
	}
}

func FuzzFeed(f *testing.F) {
	f.Add(`<rss><channel><title>T</title><item><title>One</title><description><![CDATA[<p>x]]></description></item></channel></rss>`)
	f.Add(`<feed><entry><content type="xhtml"><div><a href='"'>x`)
	f.Add(strings.Repeat("<feed><entry><content>", 100))
	f.Fuzz(func(t *testing.T, source string) {
		p := page{URL: "https://site.example/feed"}
		p.fromFeed(source)
		if strings.Contains(p.Text, "](javascript:") {
			t.Errorf("%s", p.Text)
		}
	})
}
